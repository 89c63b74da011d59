"""Learning at the edge: visits to an origin's pages teach their orders, whether or not answers tell their lengths."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from mixedsched.cli._memory import memory_settings
from mixedsched.core.learning.state import PageState
from mixedsched.errors import UsageError
from mixedsched.model.request import Kind
from mixedsched.world.edge.settings import EdgeInput, EdgeSettings
from mixedsched.world.server.running import MemorySettings
from mixedsched.world.server.settings import ServerSettings
from mixedsched.world.store import open_memory
from tests.world.edge.edging import ROOM, Edging, Origin, Script, edging, run

PAGE = [("/", "document", "text/html"), ("/site.css", "style", "text/css"), ("/hero.jpg", "image", "image/jpeg")]
SIZES = {"/": 3000, "/site.css": 9000, "/hero.jpg": 40_000}


def site(origin: Origin, *, is_sized: bool) -> Script:
    async def play(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while head := await origin.read(reader):
            path = head.split(" ")[1]
            body, mime = b"x" * SIZES[path], next(item[2] for item in PAGE if item[0] == path)
            length = f"content-length: {len(body)}" if is_sized else "transfer-encoding: chunked"
            writer.write(f"HTTP/1.1 200 OK\r\ncontent-type: {mime}\r\n{length}\r\n\r\n".encode())
            writer.write(body if is_sized else b"%x\r\n%s\r\n0\r\n\r\n" % (len(body), body))

    return play


async def visited(edge: Edging) -> None:
    """A page load by a client of its own."""
    async with edge.another_client() as client:
        for path, destination, _ in PAGE:
            got = await client.ask("GET", path, [("sec-fetch-dest", destination), ("referer", "https://x.test/")])
            assert len(got.body) == SIZES[path]


def remembered(file: Path) -> PageState | None:
    with open_memory(file) as store:
        return store.page("/")


@pytest.mark.parametrize("is_sized", [True, False])
def test_what_visitors_asked_for_and_its_sizes_are_remembered(tmp_path: Path, is_sized: bool) -> None:
    file = tmp_path / "memory.sqlite"

    async def test() -> None:
        given = EdgeInput(
            EdgeSettings(""),
            scheme="adaptive",
            settings=ServerSettings(limits=ROOM),
            memory=MemorySettings(file, every_visit=True),
        )
        async with edging(lambda origin: site(origin, is_sized=is_sized), given=given) as edge:
            for _ in range(2):
                await visited(edge)

    run(test)
    state = remembered(file)
    assert state is not None
    assert state.memory.visits == 2
    sizes = {role.kind: role.size_bytes for role in state.memory.roles.values()}
    heads = 0 if is_sized else 100  # what was sent counts, with the response's head
    for kind, size in ((Kind.DOCUMENT, 3000), (Kind.STYLESHEET, 9000), (Kind.IMAGE, 40_000)):
        assert size <= sizes[kind] <= size + heads


def test_pages_of_several_hosts_have_no_memory_together(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="several --host"):
        memory_settings("adaptive", tmp_path / "memory.sqlite", hosts=2)


def test_beacons_are_asked_for_as_a_parameter_of_the_scheme_too(tmp_path: Path) -> None:
    file = tmp_path / "memory.sqlite"
    by_parameter, by_option = (
        memory_settings("adaptive:beacons=yes", file),
        memory_settings("adaptive", file, beacons=True),
    )
    assert by_parameter == by_option
    assert by_option is not None
    assert by_option.beacons
    with pytest.raises(UsageError, match="of no use without --memory"):
        memory_settings("adaptive:beacons=yes", None)
