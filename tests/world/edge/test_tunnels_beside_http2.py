"""WebSockets of an origin that speaks HTTP/2: each has its own connection of HTTP/1.1, beside that of all others."""

from __future__ import annotations

import asyncio

from mixedsched.world.edge._pool import OriginPool
from mixedsched.world.edge.settings import OriginAddress, OriginLimits
from tests.world.edge.edging import LIMIT_S, Edging, Origin, origin_running, run
from tests.world.edge.pooling import Asking, silent
from tests.world.edge.test_http2 import answering_each, play_h2c


def test_tunnels_count_as_requests_at_the_origin_and_one_that_is_given_up_opens_nothing() -> None:
    async def test() -> None:
        async with origin_running(Origin(), silent) as origin, asyncio.timeout(LIMIT_S):
            address = OriginAddress.parse(origin.url.replace("http:", "h2c:"))
            pool = OriginPool(address, OriginLimits(connections=2))
            shared, given_up, wanted = Asking(), Asking("websocket"), Asking("websocket")
            pool.ask(shared)
            await shared.is_begun.wait()
            pool.ask(given_up)
            pool.ask(wanted)
            assert pool.waiting == 1
            pool.leave(given_up)
            await wanted.is_begun.wait()
            assert given_up.stream is None
            pool.close()

    run(test)


def test_a_tunnel_that_finds_no_connection_does_not_take_those_over_http2_with_it() -> None:
    async def test(edge: Edging) -> None:
        assert (await edge.ask("GET", "/")).body == b"connection 1"
        edge.origin.take_no_more()
        refused = edge.client.begin("CONNECT", "/ws", ends=False, protocol="websocket")
        assert (await edge.client.got[refused].whole()).status == 502
        assert (await edge.ask("GET", "/")).body == b"connection 1"

    play_h2c(answering_each, test)
