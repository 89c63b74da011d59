"""Health checks of the origin, and an origin that speaks HTTP/2 without TLS."""

from __future__ import annotations

import asyncio
import urllib.request
from collections.abc import Callable
from unittest.mock import MagicMock

import pytest

from mixedsched.errors import UsageError
from mixedsched.world.edge._health import HealthCheck
from mixedsched.world.edge._origin import OriginFault
from mixedsched.world.edge.settings import EdgeLogs, OriginAddress, OriginLimits
from tests.patience import until
from tests.world.edge.edging import Edging, Origin, Script, plain, playing, run

CHECKED = OriginLimits(health_path="/health", health_s=0.05)
METRICS = EdgeLogs(metrics_port=0)


def with_health(answer: Callable[[], bytes]) -> Callable[[Origin], Script]:
    """An origin whose /health answers as told; everything else is well."""

    def made(origin: Origin) -> Script:
        async def script(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            while True:
                head = await origin.read(reader)
                writer.write(answer() if head.startswith("GET /health") else plain())

        return script

    return made


async def until_status(edge: Edging, status: int) -> None:
    async with asyncio.timeout(30):
        while (await edge.ask("GET", "/")).status != status:
            await asyncio.sleep(0.02)


async def metrics(edge: Edging) -> dict[str, str]:
    text = await asyncio.to_thread(lambda: urllib.request.urlopen(edge.facts.metrics or "").read().decode())
    return dict(line.rsplit(" ", 1) for line in text.splitlines() if not line.startswith("#"))


def test_while_checks_fail_requests_get_503_at_once_and_when_they_pass_again_the_origin() -> None:
    state = {"is_well": True}
    answer = lambda: plain(status="200 OK" if state["is_well"] else "500 Oops")  # noqa: E731

    async def test(edge: Edging) -> None:
        await until_status(edge, 200)
        state["is_well"] = False
        await until_status(edge, 503)
        seen = await metrics(edge)
        assert seen["mixedsched_edge_origin_up"] == "0"
        assert int(seen['mixedsched_edge_health_checks_total{result="failed"}']) >= 1
        asked = len([head for head in edge.origin.heads if head.startswith("GET / ")])
        assert (await edge.ask("GET", "/")).status == 503
        assert len([head for head in edge.origin.heads if head.startswith("GET / ")]) == asked
        state["is_well"] = True
        await until_status(edge, 200)
        seen = await metrics(edge)
        assert seen["mixedsched_edge_origin_up"] == "1"
        assert int(seen['mixedsched_edge_health_checks_total{result="passed"}']) >= 1

    playing(with_health(answer), test, limits=CHECKED, log=METRICS)


@pytest.mark.parametrize(("fault", "is_sick"), [(None, False), (OriginFault(502, "no connection"), True)])
def test_a_check_that_finds_no_connection_tells_nothing_of_an_origin_that_answers_over_others(
    fault: OriginFault | None, is_sick: bool
) -> None:
    async def test() -> None:
        pool = MagicMock(fault=fault, sick=None)
        pool.check.side_effect = lambda waiter: waiter.failed(OriginFault(502, "no connection"))
        check = HealthCheck(pool, "/health", "x.test", every_s=5.0)
        await asyncio.sleep(0)
        assert pool.check.called
        assert (pool.sick is not None, check.failures) == (is_sick, is_sick)
        check.stop()

    run(test)


@pytest.mark.parametrize("status", ["204 No Content", "301 Moved", "404 Not Found"])
def test_any_answer_below_500_is_well(status: str) -> None:
    async def test(edge: Edging) -> None:
        await until(lambda: sum(head.startswith("GET /health") for head in edge.origin.heads) >= 3)
        assert (await edge.ask("GET", "/")).status == 200

    playing(with_health(lambda: plain(b"", status=status)), test, limits=CHECKED)


def test_an_origin_that_closes_idle_connections_is_well() -> None:
    def script(origin: Origin) -> Script:
        async def play(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            await origin.read(reader)
            writer.write(plain())
            await origin.read(reader)
            writer.transport.abort()

        return play

    async def test(edge: Edging) -> None:
        await until(lambda: edge.origin.connections >= 4)
        seen = await metrics(edge)
        assert int(seen['mixedsched_edge_health_checks_total{result="passed"}']) >= 3
        assert seen['mixedsched_edge_health_checks_total{result="failed"}'] == "0"

    playing(script, test, limits=CHECKED, log=METRICS)


def test_the_check_names_the_host_that_is_served() -> None:
    async def test(edge: Edging) -> None:
        await until(lambda: edge.origin.heads)
        assert "host: x.test" in edge.origin.heads[0].lower()

    playing(with_health(plain), test, limits=CHECKED)


def test_an_origin_of_http2_without_tls_is_one_of_its_own() -> None:
    address = OriginAddress.parse("h2c://127.0.0.1:8080")
    assert (address.is_h2c, address.is_tls, address.host, address.port) == (True, False, "127.0.0.1", 8080)
    assert not OriginAddress.parse("http://127.0.0.1:8080").is_h2c
    with pytest.raises(UsageError):
        OriginAddress.parse("h2c://")
