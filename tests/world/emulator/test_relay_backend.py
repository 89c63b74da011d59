"""The relay as a back end: what whoever measures is given."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from mixedsched.errors import MixedschedError
from mixedsched.model.profile import RandomLoss
from mixedsched.world.emulator.backend import Backend
from mixedsched.world.emulator.relay.backend import relay_backend
from tests.world.emulator.relaying import LOOPBACK, introduced, needs_ipv6, profile, udp

PACKETS = 40
LOSSY = profile(loss=RandomLoss(0.3))


async def carried(backend: Backend, seed: int, packet_log: Path | None = None) -> dict[str, Any]:
    """Send packets to the client over a fresh link; returns its counters."""
    with udp() as server, udp() as client:
        async with backend.link(server.getsockname(), seed, packet_log) as link:
            address = await asyncio.to_thread(introduced, client, link.address, server)
            for _ in range(PACKETS):
                server.sendto(b"x", address)
            while await asyncio.to_thread(client.recv, 10) != b"end":
                server.sendto(b"end", address)
    return dict(link.counters)


def test_server_and_client_run_as_any_program() -> None:
    async def facts() -> list[Any]:
        async with relay_backend(LOSSY) as backend:
            return [backend.name, backend.server_host, backend.server_prefix, backend.client_prefix, backend.notes]

    assert asyncio.run(facts()) == ["relay", LOOPBACK, (), (), ()]


def test_each_link_is_fresh_and_its_losses_are_the_seeds(tmp_path: Path) -> None:
    async def fates(backend: Backend, seed: int, name: str) -> list[str]:
        counters = await carried(backend, seed, tmp_path / name)
        assert {"down", "up", "punctuality"} <= counters.keys()
        lines = (tmp_path / name / "down.jsonl").read_text().splitlines()
        return [json.loads(line)["fate"] for line in lines][:PACKETS]

    async def three() -> tuple[list[str], list[str], list[str]]:
        async with relay_backend(LOSSY) as backend:
            return await fates(backend, 1, "a"), await fates(backend, 1, "b"), await fates(backend, 2, "c")

    first, again, other = asyncio.run(three())
    assert first == again
    assert first != other


@pytest.mark.parametrize(("server", "here"), [("192.0.2.1", "127.0.0.1"), ("2001:db8::1", "::1"), ("::1", "::1")])
def test_a_server_elsewhere_is_found_on_the_loopback_interface_too(server: str, here: str) -> None:
    if ":" in server:
        needs_ipv6()

    async def found() -> str:
        async with relay_backend(LOSSY) as backend, backend.link((server, 443), 1) as link:
            return link.address[0]

    assert asyncio.run(found()) == here


def test_a_link_that_cannot_be_made_says_why(tmp_path: Path) -> None:
    (tmp_path / "file").touch()

    async def fail() -> None:
        async with relay_backend(LOSSY) as backend:
            await carried(backend, 1, tmp_path / "file" / "log")

    with pytest.raises(MixedschedError, match="the packet log cannot be written"):
        asyncio.run(fail())
