"""Reads qlog traces as strictly as RFC 7464 and qvis demand."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any


def read_trace(data: bytes) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """The trace's own record, and its events."""
    first, *records = data.split(b"\x1e")
    assert first == b"", "a sequence begins with a separator"
    assert all(record.endswith(b"\n") and record.count(b"\n") == 1 for record in records)
    header, *events = [json.loads(record, parse_constant=_refuse) for record in records]
    return header, events


def read_file(path: Path) -> list[dict[str, Any]]:
    return read_trace(path.read_bytes())[1]


def named(events: list[dict[str, Any]], name: str) -> list[dict[str, Any]]:
    """The data of the events of that name."""
    return [event["data"] for event in events if event["name"] == name]


def scheduled_bytes(events: list[dict[str, Any]]) -> Counter[int]:
    """What the scheduler chose of each stream, in bytes."""
    total: Counter[int] = Counter()
    for run in named(events, "mixedsched:stream_scheduled"):
        total[run["stream_id"]] += run["bytes"]
    return total


def packed_bytes(events: list[dict[str, Any]]) -> Counter[int]:
    """The bytes of each request stream in the packets sent."""
    total: Counter[int] = Counter()
    for packet in named(events, "transport:packet_sent"):
        for frame in packet["frames"]:
            if frame["frame_type"] == "stream" and frame["stream_id"] % 4 == 0:
                total[frame["stream_id"]] += frame["length"]
    return total


def _refuse(constant: str) -> None:
    raise AssertionError(f"{constant} is no JSON")
