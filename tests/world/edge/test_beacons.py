"""The beacon at the edge: documents of any origin get the script, and its reports are not the origin's business."""

from __future__ import annotations

import asyncio
import gzip
import logging
from pathlib import Path

import pytest

from mixedsched.core.learning.beacon import BEACON_PATH, QUERY_MOST, SCRIPT
from mixedsched.world.edge.settings import EdgeInput, EdgeSettings
from mixedsched.world.server.running import MemorySettings
from mixedsched.world.server.settings import ServerSettings
from mixedsched.world.store import open_memory
from tests.world.edge.edging import ROOM, Edging, Fields, Origin, Script, answering, edging, plain, run

PAGE = b"<!doctype html><title>x</title><p>page"
HTML = "content-type: text/html; charset=utf-8"
NAVIGATION: Fields = [("sec-fetch-dest", "document"), ("accept-encoding", "gzip, br")]
WITH_SCRIPT = PAGE + SCRIPT.encode()


def given(file: Path, *, beacons: bool = True) -> EdgeInput:
    memory = MemorySettings(file, every_visit=True, beacons=beacons)
    return EdgeInput(EdgeSettings(""), scheme="adaptive", settings=ServerSettings(limits=ROOM), memory=memory)


def chunked(body: bytes, *fields: str) -> bytes:
    head = "\r\n".join(["HTTP/1.1 200 OK", "transfer-encoding: chunked", *fields, "", ""]).encode()
    return head + b"".join(b"1\r\n%c\r\n" % byte for byte in body) + b"0\r\n\r\n"


@pytest.mark.parametrize(
    "answer", [plain(PAGE, HTML, 'etag: "a"'), chunked(PAGE, HTML, 'etag: "a"')], ids=["sized", "chunked"]
)
def test_a_document_has_the_script_behind_it_whether_or_not_its_length_is_told(tmp_path: Path, answer: bytes) -> None:
    async def test() -> None:
        async with edging(lambda origin: answering(origin, answer), given=given(tmp_path / "m")) as edge:
            coded = await edge.ask("GET", "/", NAVIGATION)
            assert gzip.decompress(bytes(coded.body)) == WITH_SCRIPT
            assert coded["content-encoding"] == ["gzip"]
            assert coded["content-length"] == []
            assert coded["etag"] == ['W/"a"']
            bare = await edge.ask("GET", "/", NAVIGATION[:1])
            assert bytes(bare.body) == WITH_SCRIPT
            assert bare["content-length"] == ([str(len(WITH_SCRIPT))] if b"content-length" in answer else [])
            assert all("accept-encoding: identity" in item.lower() for item in edge.origin.heads)

    run(test)


def test_what_is_no_document_to_show_passes_as_it_is(tmp_path: Path) -> None:
    async def test() -> None:
        async with edging(lambda origin: answering(origin, plain(PAGE, HTML)), given=given(tmp_path / "m")) as edge:
            for method, fields in (
                ("GET", [("sec-fetch-dest", "iframe")]),
                ("GET", [("sec-fetch-dest", "empty")]),
                ("GET", [*NAVIGATION, ("range", "bytes=0-99")]),
                ("POST", NAVIGATION),
            ):
                got = await edge.ask(method, "/", fields, b"" if method == "POST" else None)
                assert bytes(got.body) == PAGE
                assert got["content-length"] == [str(len(PAGE))]
            assert "accept-encoding: identity" not in "".join(edge.origin.heads)

    run(test)


@pytest.mark.parametrize(
    "answer",
    [
        plain(b"\x1f\x8b", HTML, "content-encoding: gzip"),
        plain(PAGE, "content-type: application/json"),
        plain(PAGE, HTML, status="404 Not Found"),
        plain(PAGE, HTML, "cache-control: no-transform"),
    ],
    ids=["coded all the same", "no html", "an error", "not to be changed"],
)
def test_documents_that_cannot_take_it_pass_as_they_are(tmp_path: Path, answer: bytes) -> None:
    async def test() -> None:
        async with edging(lambda origin: answering(origin, answer), given=given(tmp_path / "m")) as edge:
            got = await edge.ask("GET", "/", NAVIGATION)
            assert answer.endswith(b"\r\n\r\n" + bytes(got.body))

    run(test)


def test_a_page_whose_policy_forbids_it_is_left_alone_and_that_is_said_once(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    answer = plain(PAGE, HTML, "content-security-policy: default-src 'self'")

    async def test() -> None:
        async with edging(lambda origin: answering(origin, answer), given=given(tmp_path / "m")) as edge:
            with caplog.at_level(logging.WARNING):
                for _ in range(2):
                    assert bytes((await edge.ask("GET", "/a?b", NAVIGATION)).body) == PAGE
            # It is known now, and has its coding back.
            assert ["identity" in item for item in edge.origin.heads] == [True, False]

    run(test)
    assert [item for item in caplog.messages if "no beacon" in item] == [
        "'/a' has no beacon: default-src of the page forbids its script or its report"
    ]


def test_reports_are_answered_here_within_their_bounds(tmp_path: Path) -> None:
    async def test() -> None:
        async with edging(lambda origin: answering(origin, plain()), given=given(tmp_path / "m")) as edge:
            assert (await edge.ask("POST", f"{BEACON_PATH}?p=/", body=b"")).status == 204
            assert (await edge.ask("POST", BEACON_PATH, body=b"{}")).status == 204
            assert (await edge.ask("GET", BEACON_PATH)).status == 405
            assert (await edge.ask("POST", f"{BEACON_PATH}?{'x' * (QUERY_MOST + 1)}", body=b"")).status == 413
            assert (await edge.ask("POST", BEACON_PATH, [("content-length", "5000")], b"x" * 5000)).status == 413
            assert edge.origin.heads == []

    run(test)


def test_without_beacons_the_path_is_the_origins(tmp_path: Path) -> None:
    async def test() -> None:
        async with edging(
            lambda origin: answering(origin, plain(PAGE, HTML)), given=given(tmp_path / "m", beacons=False)
        ) as edge:
            assert bytes((await edge.ask("GET", BEACON_PATH, NAVIGATION)).body) == PAGE

    run(test)


def test_what_browsers_report_is_remembered_and_what_others_make_up_is_not(tmp_path: Path) -> None:
    file = tmp_path / "memory.sqlite"

    def site(origin: Origin) -> Script:
        async def play(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            while head := await origin.read(reader):
                is_page = head.split(" ")[1] == "/"
                writer.write(plain(PAGE, HTML) if is_page else plain(b"x" * 5000, "content-type: image/jpeg"))

        return play

    async def visit(edge: Edging, *reports: str) -> None:
        async with edge.another_client() as client:
            await client.ask("GET", "/", NAVIGATION)
            await client.ask("GET", "/a.jpg", [("sec-fetch-dest", "image")])
            for query in reports:
                await client.ask("POST", f"{BEACON_PATH}?{query}", body=b"")

    async def test() -> None:
        async with edging(site, given=given(file)) as edge:
            await visit(edge, "p=%2F&t=4000&f=2000&l=3000&c=0.1&e=https%3A%2F%2Fx.test%2Fa.jpg")
            await visit(edge, *(f"p=%2F{number}&t=4000&f=1&l=59000&c=0&e=" for number in range(50)))
            await visit(edge, "p=%2F&t=4000&f=nan&l=1e99&c=0&e=", "garbage")

    run(test)
    with open_memory(file) as store:
        state = store.page("/")
        assert list(store.versions()) == ["/"]
    assert state is not None
    assert state.memory.visits == 3
    assert (state.told.visits, state.told.fcp_ms, state.told.lcp_ms) == (1, 2000, 3000)
    assert [role.path for role in state.memory.roles.values() if role.largest] == ["/a.jpg"]
