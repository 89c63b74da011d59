"""How a watched load is put together: the NetLog's traffic, the requests of both tellings, flags, bodies."""

from __future__ import annotations

import base64
import gzip
import json
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any, Self

import brotli
import pytest
import zstandard
from hypothesis import given
from hypothesis import strategies as st

from mixedsched.errors import InputError
from mixedsched.model.request import ChromiumPriority, Kind
from mixedsched.world.browser._observed._assemble import urls_of_visible_text
from mixedsched.world.browser._observed._report import ReportedFace, ReportedFont, ReportedRequest
from mixedsched.world.browser._observed._request import Clock, match, problem_of_body, request_of
from mixedsched.world.browser.netlog import LoggedRequest, read_traffic

A, B = "https://a.test/", "https://a.test/b"
_NAMES = (
    "REQUEST_ALIVE",
    "URL_REQUEST_START_JOB",
    "HTTP_TRANSACTION_QUIC_SEND_REQUEST_HEADERS",
    "HTTP_TRANSACTION_READ_RESPONSE_HEADERS",
    "URL_REQUEST_JOB_BYTES_READ",
    "URL_REQUEST_JOB_FILTERED_BYTES_READ",
)


class Log:
    """A NetLog in Chromium's own form, request by request."""

    def __init__(self) -> None:
        self.events: list[dict[str, Any]] = []
        self._time = 100

    def event(self, name: str, source: int, phase: int = 0, **params: Any) -> Self:
        self._time += 1
        at = {"type": _NAMES.index(name), "time": str(self._time), "source": {"id": source, "type": 1}}
        self.events.append({**at, "phase": phase, "params": params})
        return self

    def start(self, source: int, url: str, method: str = "GET", initiator: str = "https://a.test") -> Self:
        return self.event("URL_REQUEST_START_JOB", source, 1, url=url, method=method, initiator=initiator)

    def send(self, source: int, *lines: str) -> Self:
        return self.event(
            "HTTP_TRANSACTION_QUIC_SEND_REQUEST_HEADERS", source, headers=lines, quic_stream_id=4 * source
        )

    def answer(self, source: int, *lines: str) -> Self:
        return self.event("HTTP_TRANSACTION_READ_RESPONSE_HEADERS", source, headers=["HTTP/1.1 200", *lines])

    def sent_bytes(self, source: int, data: bytes) -> Self:
        return self.event("URL_REQUEST_JOB_BYTES_READ", source, **_bytes(data))

    def plain_bytes(self, source: int, data: bytes) -> Self:
        return self.event("URL_REQUEST_JOB_FILTERED_BYTES_READ", source, **_bytes(data))

    def read(self, directory: Path, bodies_dir: Path | None = None) -> tuple[LoggedRequest, ...]:
        constants = {"logEventTypes": {name: number for number, name in enumerate(_NAMES)}}
        file = directory / "net.json"
        file.write_text(json.dumps({"constants": constants, "events": self.events}))
        return read_traffic(file, bodies_dir)


def _bytes(data: bytes) -> dict[str, Any]:
    return {"byte_count": len(data), "bytes": base64.b64encode(data).decode()}


def told(url: str = A, method: str = "GET", **changes: Any) -> ReportedRequest:
    """An answered request; everything can be changed."""
    facts = {
        "index": 0,
        "url": url,
        "method": method,
        "type": "Script",
        "priority": "High",
        "final_priority": "High",
        "is_preload": False,
        "has_body": False,
        "request_headers": {},
        "initiator": {"type": "parser"},
        "document_url": A,
        "frame_id": "F",
        "redirected_from": None,
        "asked_tick_ms": 100.0,
        "asked_wall_ms": 0.0,
        "decoded_bytes": 3,
        "status": 200,
        "mime": "text/javascript",
        "protocol": "h3",
        "response_headers": {},
        "from_cache": False,
        "sent_tick_ms": None,
        "first_byte_tick_ms": 101.0,
        "complete_tick_ms": 102.0,
        "is_finished": True,
        "failure": None,
    }
    return ReportedRequest.model_validate({**facts, **changes})


class TestTraffic:
    def test_a_body_is_kept_as_it_was_sent_and_counted_as_it_was_read(self, tmp_path: Path) -> None:
        log = Log().start(1, A).send(1).answer(1, "content-encoding: gzip")
        log.sent_bytes(1, b"pack").plain_bytes(1, b"unpacked").sent_bytes(1, b"ed").plain_bytes(1, b"!")
        [request] = log.read(tmp_path, tmp_path)
        assert request.body is not None
        assert request.body.read_bytes() == b"packed"
        assert (request.sent_bytes, request.decoded_bytes, request.is_coded) == (6, 9, True)

    def test_without_a_coding_the_bytes_that_were_read_are_those_that_were_sent(self, tmp_path: Path) -> None:
        [request] = Log().start(1, A).send(1).answer(1).plain_bytes(1, b"a\0b").read(tmp_path, tmp_path)
        assert request.body is not None
        assert (request.body.read_bytes(), request.sent_bytes) == (b"a\0b", 3)

    def test_a_log_without_bytes_still_counts_them(self, tmp_path: Path) -> None:
        log = Log().start(1, A).send(1).answer(1).event("URL_REQUEST_JOB_FILTERED_BYTES_READ", 1, byte_count=7)
        [request] = log.read(tmp_path, tmp_path)
        assert (request.sent_bytes, request.body) == (7, None)

    def test_files_have_numbers_for_names_whatever_the_url_is(self, tmp_path: Path) -> None:
        bodies = tmp_path / "bodies"
        bodies.mkdir()
        log = Log().start(1, "https://a.test/../../etc/x").send(1).answer(1).plain_bytes(1, b"x")
        log.start(2, "https://a.test/%00").send(2).answer(2).plain_bytes(2, b"y").read(tmp_path, bodies)
        assert sorted(path.name for path in bodies.iterdir()) == ["00001.body", "00002.body"]

    def test_a_redirect_and_where_it_leads_are_two_requests_of_one_source(self, tmp_path: Path) -> None:
        first, second = Log().start(1, A).send(1).start(1, B).send(1).answer(1, "X-A: 1").read(tmp_path)
        assert [(item.url, item.place) for item in (first, second)] == [(A, 0), (B, 1)]
        assert second.response_headers == (("x-a", "1"),)

    def test_asking_the_cache_alone_is_no_request(self, tmp_path: Path) -> None:
        log = Log().start(1, A).event("URL_REQUEST_START_JOB", 1, 2, net_error=-400).start(2, A).send(2)
        [request] = log.read(tmp_path)
        assert request.stream_id == 8

    def test_a_look_into_the_cache_is_not_taken_for_a_request_that_is_just_like_it(self, tmp_path: Path) -> None:
        log = Log().start(1, A)
        log.events.append({**log.events[0], "source": {"id": 2, "type": 1}})  # in the same millisecond
        log.event("URL_REQUEST_START_JOB", 2, 2, net_error=-400)
        [request] = log.send(1).read(tmp_path)
        assert request.place == 0

    @pytest.mark.parametrize(
        "text",
        [
            "<html>",
            '{"constants": {"logEventTypes": {"REQUEST_ALIVE": "x"}}}',
            '{"constants": {"logEventTypes": {"REQUEST_ALIVE": [1]}}}',
            '{"constants": {"logEventTypes": {"REQUEST_ALIVE": 1}}, "events": [{"type": 1, "time": "nan", "source": {"id": 1}}',
        ],
    )
    def test_what_is_no_log_is_refused(self, tmp_path: Path, text: str) -> None:
        file = tmp_path / "net.json"
        file.write_text(text)
        with pytest.raises(InputError, match="not a NetLog"):
            read_traffic(file)


class TestMatching:
    def test_the_order_is_that_of_the_wire(self, tmp_path: Path) -> None:
        logged = Log().start(1, A).start(2, B).send(2).send(1).read(tmp_path)
        matches, _ = match([told(A, index=0), told(B, index=1)], logged)
        assert [item.reported.url for item in matches if item.reported] == [B, A]

    def test_the_same_url_again_takes_the_next_entry(self, tmp_path: Path) -> None:
        logged = Log().start(1, A).send(1).start(2, A).send(2).read(tmp_path)
        matches, _ = match([told(index=0), told(index=1)], logged)
        assert [(item.reported.index, item.logged.stream_id) for item in matches if item.reported and item.logged] == [
            (0, 4),
            (1, 8),
        ]

    def test_what_scrolling_led_to_comes_last_also_if_only_the_log_knows_it(self, tmp_path: Path) -> None:
        logged = Log().start(1, A).start(2, B).send(2).start(3, f"{A}late").send(3).send(1).read(tmp_path)
        scrolled = told(B, index=1, after_scroll=True, asked_tick_ms=logged[1].started_ms)
        cached = told(index=2, from_cache=True, after_scroll=True)
        matches, from_cache = match([told(index=0), scrolled, cached], logged)
        assert [(item.logged.url, item.after_scroll) for item in matches if item.logged] == [
            (A, False),
            (B, True),
            (f"{A}late", True),
        ]
        assert from_cache == 0

    def test_a_preflight_is_told_from_its_request_by_the_method(self, tmp_path: Path) -> None:
        logged = Log().start(1, A, "OPTIONS").send(1).start(2, A, "PUT").send(2).read(tmp_path)
        matches, _ = match([told(method="PUT", index=0), told(method="OPTIONS", index=1)], logged)
        assert [item.reported.method for item in matches if item.reported] == ["OPTIONS", "PUT"]

    def test_what_a_cache_answered_is_counted_and_left_out(self, tmp_path: Path) -> None:
        logged = Log().start(1, A).send(1).read(tmp_path)
        matches, cached = match([told(index=0), told(index=1, from_cache=True)], logged)
        assert (len(matches), cached) == (1, 1)

    def test_what_only_the_log_knows_is_there_if_a_page_asked(self, tmp_path: Path) -> None:
        logged = Log().start(1, A).send(1).start(2, B, initiator="not an origin").send(2).read(tmp_path)
        matches, _ = match([], logged)
        assert [item.logged.url for item in matches if item.logged] == [A]

    def test_what_begins_after_the_watching_is_no_part_of_the_load(self, tmp_path: Path) -> None:
        logged = Log().start(1, A).send(1).start(2, B).send(2).start(3, A).send(3).read(tmp_path)
        matches, _ = match([told()], logged, watched_until_ms=logged[1].started_ms - 1)
        assert [item.logged for item in matches] == [logged[0]]

    @given(order=st.permutations(range(6)), lost=st.sets(st.integers(0, 5)))
    def test_no_request_of_devtools_is_lost(self, order: list[int], lost: set[int]) -> None:
        entries = [LoggedRequest(f"{A}{number % 3}", "GET", A, False, "LOW", number) for number in range(6)]
        for place, number in enumerate(order):
            entries[number].place, entries[number].sent_ms = place, 100 + place
        logged = [entry for number, entry in enumerate(entries) if number not in lost]
        requests = [told(f"{A}{number % 3}", index=number) for number in range(6)]
        matches, _ = match(requests, logged)
        assert sorted(item.reported.index for item in matches if item.reported) == list(range(6))
        assert sum(item.logged is not None for item in matches) == len(logged)


class TestRequests:
    def test_the_priority_field_is_read_as_it_was_sent(self, tmp_path: Path) -> None:
        logged = Log().start(1, A).send(1, ":path: /", "priority: u=1, i", "Sec-Fetch-Dest: font").read(tmp_path)
        [item], _ = match([told()], logged)
        request = request_of(item, Clock(100.0), keeps=False)
        assert (request.urgency, request.incremental) == (1, True)
        assert (request.kind, request.destination) == (Kind.FONT, "font")

    def test_without_a_field_http3_has_the_defaults_and_http1_nothing(self, tmp_path: Path) -> None:
        logged = Log().start(1, A).send(1).start(2, B).send(2).read(tmp_path)
        matches, _ = match([told(A), told(B, index=1, protocol="http/1.1")], logged)
        first, second = (request_of(item, Clock(100.0), keeps=False) for item in matches)
        assert (first.urgency, first.incremental) == (3, False)
        assert (second.urgency, second.incremental) == (None, None)

    def test_the_priority_is_the_one_with_which_it_left(self, tmp_path: Path) -> None:
        log = Log().start(1, A).event("REQUEST_ALIVE", 1, 1, priority="MEDIUM").send(1)
        [item], _ = match([told(priority="Low")], log.read(tmp_path))
        assert request_of(item, Clock(100.0), keeps=False).priority is ChromiumPriority.HIGH

    @pytest.mark.parametrize(
        ("changes", "word"),
        [
            ({"failure": "net::ERR_FAILED"}, "ERR_FAILED"),
            ({"is_finished": False}, "had not ended"),
            ({"is_finished": False, "status": 0}, "not answered"),
            ({"mime": "text/event-stream"}, "stream of events"),
            ({}, "does not know it"),
        ],
    )
    def test_a_missing_body_has_a_reason(self, changes: dict[str, Any], word: str) -> None:
        [item], _ = match([told(**changes)], [])
        assert word in str(request_of(item, Clock(100.0), keeps=True).problem)

    @pytest.mark.parametrize("status", [204, 302, 304])
    def test_an_answer_that_has_no_body_needs_none(self, status: int) -> None:
        [item], _ = match([told(status=status)], [])
        assert request_of(item, Clock(100.0), keeps=True).problem is None


def _raw_deflate(data: bytes) -> bytes:
    compressor = zlib.compressobj(wbits=-zlib.MAX_WBITS)
    return compressor.compress(data) + compressor.flush()


class TestBodies:
    @pytest.mark.parametrize(
        ("coding", "encode"),
        [
            ("gzip", gzip.compress),
            ("deflate", zlib.compress),
            ("deflate", _raw_deflate),
            ("br", brotli.compress),
            ("zstd", zstandard.compress),
        ],
    )
    def test_a_body_in_its_coding_has_no_problem(
        self, tmp_path: Path, coding: str, encode: Callable[[bytes], bytes]
    ) -> None:
        body = tmp_path / "body"
        body.write_bytes(encode(b"some text " * 1000))
        assert problem_of_body(body, coding, 10_000) is None
        assert "browser saw 9" in str(problem_of_body(body, coding, 9))

    def test_a_body_in_another_coding_has_one(self, tmp_path: Path) -> None:
        body = tmp_path / "body"
        body.write_bytes(b"plain text")
        assert all(
            "not in the coding" in str(problem_of_body(body, coding, 10)) for coding in ("gzip", "deflate", "zstd")
        )
        assert "not known" in str(problem_of_body(body, "dcb", 10))


def test_text_is_drawn_with_the_loaded_faces_that_come_nearest() -> None:
    def face(weight: str, style: str = "normal") -> ReportedFace:
        return ReportedFace(family='"Ours"', weight=weight, style=style, url=f"{weight} {style}")

    faces = [face("normal"), face("bold"), face("normal", "italic")]

    def drawn_with(weight: str, style: str = "normal", families: str = "Ours, serif") -> set[str]:
        return urls_of_visible_text([ReportedFont(families=families, weight=weight, style=style)], faces)

    assert drawn_with("400") == {"normal normal"}
    assert drawn_with("600") == {"bold normal"}
    assert drawn_with("700", "italic") == {"normal italic"}
    assert drawn_with("400", families="Theirs") == set()
    assert urls_of_visible_text([ReportedFont(families="Ours", weight="850", style="normal")], [face("100 900")]) == {
        "100 900 normal"
    }
