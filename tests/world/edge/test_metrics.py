"""The counters of an edge: what they say of packets, and how those of several workers become one."""

from __future__ import annotations

import asyncio
import os
import signal
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from mixedsched.world.edge._metrics import Sample, as_text, serve_metrics
from mixedsched.world.edge._sum import WorkerCounters, parse_text, socket_of, summed
from mixedsched.world.edge.settings import EdgeLogs
from tests.world.edge.commanding import FACTS, edge_command
from tests.world.edge.edging import Edging, Origin, answering, client_of, origin_running, plain, playing, run

REQUESTS = "mixedsched_edge_requests_total"
SENT = "mixedsched_edge_sent_bytes_total"
UP, RTT, CONNECTIONS = (f"mixedsched_edge_{name}" for name in ("origin_up", "rtt_seconds", "connections"))


async def looked_up(url: str | None) -> dict[str, float]:
    assert url is not None
    text = await asyncio.to_thread(lambda: urllib.request.urlopen(url, timeout=20).read().decode())
    return {name + labels: value for name, _, labels, value in parse_text(text)}


def test_lost_packets_bytes_sent_again_and_late_bytes_are_told_also_of_connections_that_are_gone() -> None:
    async def test(edge: Edging) -> None:
        async with edge.another_client() as client:
            await client.ask("GET", "/")
        said = await looked_up(edge.facts.metrics)
        for name in ("lost_packets", "repeated_bytes", "late_bytes"):
            assert said[f"mixedsched_edge_{name}_total"] >= 0

    playing(lambda origin: answering(origin, plain()), test, log=EdgeLogs(metrics_port=0))


def test_in_order_of_urgency_no_byte_is_late() -> None:
    async def test(edge: Edging) -> None:
        first = edge.client.begin("GET", "/a", [("priority", "u=5")])
        await edge.client.got[first].until(lambda: len(edge.client.got[first].body) > 0)
        await asyncio.gather(edge.ask("GET", "/b", [("priority", "u=0")]), edge.client.got[first].whole())
        assert (await looked_up(edge.facts.metrics))["mixedsched_edge_late_bytes_total"] == 0

    body = plain(bytes(3_000_000))
    playing(lambda origin: answering(origin, body), test, log=EdgeLogs(metrics_port=0))


# Several workers


def test_what_is_written_can_be_read_again() -> None:
    samples: list[Sample] = [(REQUESTS, "counter", '{status="200"}', 3), (RTT, "gauge", "", 0.25)]
    assert list(parse_text(as_text(iter(samples)))) == samples


@pytest.mark.parametrize("text", ["rubbish", "a_total 1", "# TYPE a_total counter\na_total x"])
def test_what_is_no_exposition_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"is no sample|could not convert"):
        list(parse_text(text))


def test_counters_are_added_the_origin_is_up_if_all_say_so_and_round_trips_weigh_by_connections() -> None:
    one: list[Sample] = [
        (REQUESTS, "counter", '{status="200"}', 3),
        (UP, "gauge", "", 1),
        (CONNECTIONS, "gauge", "", 3),
        (RTT, "gauge", "", 0.1),
    ]
    two: list[Sample] = [
        (REQUESTS, "counter", '{status="200"}', 4),
        (REQUESTS, "counter", '{status="404"}', 1),
        (UP, "gauge", "", 0),
        (CONNECTIONS, "gauge", "", 1),
        (RTT, "gauge", "", 0.5),
    ]
    total = {name + labels: value for name, _, labels, value in summed([one, two])}
    assert total == {
        f'{REQUESTS}{{status="200"}}': 7,
        f'{REQUESTS}{{status="404"}}': 1,
        UP: 0,
        CONNECTIONS: 4,
        RTT: pytest.approx(0.2),
    }
    names = [name for name, _, _, _ in summed([one, two])]
    assert names == sorted(names, key=names.index)  # each name in one place, as the format demands


def test_a_worker_that_is_gone_keeps_its_counters_and_loses_its_gauges(tmp_path: Path) -> None:
    async def play() -> None:
        async def said(number: int) -> Iterator[Sample]:
            return iter([(SENT, "counter", "", 10 + number), (CONNECTIONS, "gauge", "", 1)])

        servers = [
            await serve_metrics(socket_of(tmp_path, 0), lambda: said(0)),
            await serve_metrics(socket_of(tmp_path, 1), lambda: said(1)),
        ]
        counters = WorkerCounters(tmp_path, 2)
        before = {name: value for name, _, _, value in await counters.samples()}
        servers[1].close()
        after = {name: value for name, _, _, value in await counters.samples()}
        servers[0].close()
        assert before == {SENT: 21, CONNECTIONS: 2, "mixedsched_edge_workers": 2}
        assert after == {SENT: 21, CONNECTIONS: 1, "mixedsched_edge_workers": 1}

    run(play)


@pytest.mark.slow
def test_one_port_tells_of_all_workers_even_while_one_stands_still() -> None:
    origin = Origin()

    async def play() -> None:
        async with origin_running(origin, answering(origin, plain())):
            options = ["--origin", origin.url, "--host", "x.test", "--workers", "2", "--metrics-port", "0"]
            with edge_command(*options) as (process, first):
                facts = FACTS.validate_python(first)
                for _ in range(8):  # the kernel gives each to one of the workers
                    async with client_of(facts) as client:
                        assert (await client.ask("GET", "/")).status == 200
                said = await looked_up(facts.metrics)
                assert said[f'{REQUESTS}{{status="200"}}'] == 8
                assert said["mixedsched_edge_workers"] == 2
                worker = next(
                    child for child in psutil.Process(process.pid).children() if "edge" in child.cmdline()[-1]
                )
                os.kill(worker.pid, signal.SIGSTOP)
                stopped = await looked_up(facts.metrics)
                os.kill(worker.pid, signal.SIGCONT)
                assert stopped[f'{REQUESTS}{{status="200"}}'] == 8
                assert stopped["mixedsched_edge_workers"] == 1

    run(play)
