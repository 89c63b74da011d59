"""The pipe in the plainest way, one packet and one microsecond-exact event at a time, to compare the real one with."""

from __future__ import annotations

from typing import Any

from mixedsched.core.sim.pipe import PipeOptions
from mixedsched.core.sim.requests import request_for
from mixedsched.model.page import Page
from mixedsched.model.scheme import ConfiguredScheme


def play_naively(page: Page, scheme: ConfiguredScheme, options: PipeOptions) -> dict[str, Any]:
    scheduler = scheme.create_scheduler()
    found = {
        index: round(item.delay_ms * 1000) for index, item in enumerate(page.resources) if item.found_when == "start"
    }
    requested: dict[int, int] = {}
    first: dict[int, int] = {}
    complete: dict[int, int] = {}
    streams: list[int] = []
    unchosen: dict[int, int] = {}
    delivered: dict[int, int] = {}
    buffer: list[tuple[int, int]] = []
    order: list[int] = []
    places = {item.id: index for index, item in enumerate(page.resources)}
    slot_from_us, tick, now_us = 0, 0, 0
    on_the_wire: tuple[int, int] | None = None

    def discover(at_us: int) -> None:
        for index, item in enumerate(page.resources):
            if index in found or item.found_by is None:
                continue
            parent = places[item.found_by]
            body = delivered.get(parent, 0) - page.resources[parent].header_bytes
            known = {
                "requested": parent in requested,
                "bytes": parent in first and (body >= item.found_at_bytes or parent in complete),
                "complete": parent in complete,
            }[item.found_when]
            if known and (item.found_when != "bytes" or parent in first):
                found[index] = at_us + round(item.delay_ms * 1000)

    def admit(at_us: int) -> None:
        nonlocal slot_from_us
        while True:
            waiting = sorted((due, index) for index, due in found.items() if index not in requested)
            if not waiting or max(waiting[0][0], slot_from_us) > at_us:
                return
            index = waiting[0][1]
            requested[index] = at_us
            slot_from_us = at_us + options.request_slot_us
            item = page.resources[index]
            stream_id = 4 * len(streams)
            streams.append(index)
            total = item.header_bytes + item.body_bytes
            if not total:
                first[index] = complete[index] = at_us
            discover(at_us)
            if total:
                unchosen[stream_id] = total
                scheduler.open(stream_id, scheme.place(request_for(page, item, stream_id)))

    def choose() -> None:
        stream_id = scheduler.pick()
        assert stream_id is not None
        size = min(options.packet_bytes, unchosen[stream_id])
        scheduler.sent(stream_id, size)
        unchosen[stream_id] -= size
        buffer.append((stream_id, size))
        order.append(streams[stream_id // 4])
        if not unchosen[stream_id]:
            del unchosen[stream_id]
            scheduler.close(stream_id)

    def fill() -> None:
        while unchosen and sum(size for _, size in buffer) < options.send_buffer_bytes:
            choose()

    while len(complete) < len(page.resources):
        if on_the_wire is not None and now_us == tick * options.pace_us:
            stream_id, size = on_the_wire
            on_the_wire = None
            index = streams[stream_id // 4]
            item = page.resources[index]
            delivered[index] = delivered.get(index, 0) + size
            first.setdefault(index, now_us)
            if delivered[index] == item.header_bytes + item.body_bytes:
                complete[index] = now_us
            discover(now_us)
        admit(now_us)
        fill()
        if now_us == tick * options.pace_us:
            if not buffer and unchosen:
                choose()
            if buffer:
                on_the_wire = buffer.pop(0)
            tick += 1
            fill()
        events = [max(due, slot_from_us) for index, due in found.items() if index not in requested]
        now_us = min([*(at for at in events if at > now_us), tick * options.pace_us])
    runs: list[list[Any]] = []
    for index in order:
        if runs and runs[-1][0] == page.resources[index].id:
            runs[-1][1] += 1
        else:
            runs.append([page.resources[index].id, 1])
    return {
        "order": [tuple(run) for run in runs],
        "times": [
            (page.resources[index].id, requested[index] / 1000, first[index] / 1000, complete[index] / 1000)
            for index in streams
        ],
    }
