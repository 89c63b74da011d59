"""Our small file server on quiche, and what a file server on a library must bear from its clients and its system."""

from __future__ import annotations

import asyncio
import socket
import struct
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import psutil
import pytest
from aioquic.quic.configuration import QuicConfiguration
from aioquic.quic.connection import QuicConnection

from mixedsched.world.server.site import ServedSite
from mixedsched.world.servers import RunningProgram, running_program
from tests.patience import wait_until
from tests.world.server.client import Answer, fetch
from tests.world.servers.sites import HOST, installed, plain_site, site_of

DELAYED = 40


def answers_after(act: Callable[[RunningProgram], None], site: ServedSite, *paths: str) -> list[Answer]:
    """What @quiche answers when something was done to it."""

    async def ask() -> list[Answer]:
        async with running_program("@quiche", installed("quiche"), site, "127.0.0.1") as running:
            act(running)
            return await asyncio.to_thread(fetch, running.address[1], *(("GET", path) for path in paths))

    return asyncio.run(ask())


@pytest.mark.parametrize("name", ["quiche", "quic-go"])
def test_a_request_that_ends_with_trailers_is_answered_like_any_other(tmp_path: Path, name: str) -> None:
    async def ask() -> list[Answer]:
        async with running_program(f"@{name}", installed(name), plain_site(tmp_path), "127.0.0.1") as running:
            request = ("GET", "/a%20b.js", {"trailers": [(b"x-checksum", b"1")]})
            return await asyncio.to_thread(fetch, running.address[1], request)

    (answer,) = asyncio.run(ask())
    assert (answer.status, answer.body) == (200, b"let a")


def test_answers_that_take_time_all_come(tmp_path: Path) -> None:
    entry = plain_site(tmp_path).entries[HOST]["/a%20b.js"]
    site = site_of({f"/{place}": replace(entry, delay_ms=place * 1.3) for place in range(DELAYED)})
    found = answers_after(lambda _: None, site, *site.entries[HOST])
    assert [answer.body for answer in found] == [b"let a"] * DELAYED


def test_a_server_that_is_stopped_and_continued_goes_on(tmp_path: Path) -> None:
    def pause(running: RunningProgram) -> None:
        process = psutil.Process(running.pid)
        process.suspend()
        assert wait_until(lambda: process.status() == psutil.STATUS_STOPPED)
        process.resume()

    assert answers_after(pause, plain_site(tmp_path), "/a%20b.js")[0].body == b"let a"


def test_a_client_that_cannot_be_answered_does_not_end_the_server(tmp_path: Path) -> None:
    client = QuicConnection(configuration=QuicConfiguration(is_client=True, alpn_protocols=["h3"], server_name=HOST))

    def ask_from_port_0(running: RunningProgram) -> None:
        client.connect(running.address, now=time.monotonic())
        (data, _), *_ = client.datagrams_to_send(now=time.monotonic())
        try:
            raw = socket.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_UDP)
        except PermissionError:
            pytest.skip("only root may send from port 0")
        with raw:
            raw.sendto(struct.pack("!4H", 0, running.address[1], 8 + len(data), 0) + data, ("127.0.0.1", 0))

    assert answers_after(ask_from_port_0, plain_site(tmp_path), "/a%20b.js")[0].body == b"let a"
