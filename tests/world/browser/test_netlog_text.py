"""The text of a NetLog: any layout, cut off anywhere, broken, or huge."""

from __future__ import annotations

import contextlib
import io
import json
import tracemalloc
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mixedsched.errors import InputError
from mixedsched.world.browser.netlog import NetLog, read_netlog
from mixedsched.world.browser.netlog._text import LogText, NotALogError
from tests.world.browser.netlog_script import HEADER, NUMBERS, Script, read


def small_log() -> Script:
    script = Script().session().request(0, "/").packet(0, (0, 0, 1000)).packet(2, (0, 2000, 500), (4, 0, 70))
    return script.request(4, "/ü.css", "priority: u=0").packet(3, (0, 1000, 1000)).close()


def parts(text: str) -> tuple[list[tuple[str, Any]], bool]:
    log = LogText(io.StringIO(text))
    return list(log.parts()), log.truncated


@pytest.mark.parametrize("indent", [None, 0, 2])
def test_layout_does_not_matter(tmp_path: Path, indent: int | None) -> None:
    made = small_log()
    assert read(tmp_path, json.dumps(made.document(), indent=indent)) == made.read(tmp_path)


def test_constants_may_come_last(tmp_path: Path) -> None:
    made = small_log()
    assert read(tmp_path, json.dumps(dict(reversed(made.document().items())))) == made.read(tmp_path)


def test_a_byte_order_mark_and_a_comma_too_many_are_forgiven(tmp_path: Path) -> None:
    made = small_log()
    whole = made.read(tmp_path)
    assert read(tmp_path, "\ufeff" + made.text()) == whole
    assert read(tmp_path, made.text().replace('}],\n"polledData"', '},\n],\n"polledData"')) == whole


@pytest.mark.parametrize("as_chromium", [True, False])
def test_a_log_cut_off_anywhere_is_refused_or_read_without_claiming_more(tmp_path: Path, as_chromium: bool) -> None:
    """A killed browser leaves off at any byte."""
    made = small_log()
    data = (made.text() if as_chromium else json.dumps(made.document(), indent=0, ensure_ascii=False)).encode()
    file = tmp_path / "cut.json"
    file.write_bytes(data)
    whole = read_netlog(file)
    assert not whole.truncated
    assert whole.hol_bytes == 500
    begun = data.index(b'"events"')
    for end in range(len(data.rstrip())):
        file.write_bytes(data[:end])
        try:
            log = read_netlog(file)
        except InputError:
            assert end <= begun, "once the constants are there, it is a log"
        else:
            assert log.truncated
            assert_claims_no_more(log, whole)


def assert_claims_no_more(log: NetLog, whole: NetLog) -> None:
    assert (log.hol_bytes or 0) <= (whole.hol_bytes or 0)
    assert (log.packets_seen or 0) <= (whole.packets_seen or 0)
    assert (log.packets_lost or 0) <= 1, "a packet that has not come yet may look lost, no more"
    assert list(log.arrivals) == [
        replace(frame, blocked_bytes=mine.blocked_bytes)
        for frame, mine in zip(whole.arrivals, log.arrivals, strict=False)
    ]
    assert [item.stream_id for item in log.requests] == [item.stream_id for item in whole.requests][: len(log.requests)]
    for mine, full in zip(log.streams, whole.streams, strict=False):
        assert (mine.stream_id, mine.first_byte_ms) == (
            full.stream_id,
            full.first_byte_ms,
        ) or mine.first_byte_ms is None
        assert mine.received_bytes <= full.received_bytes


def test_a_log_that_ends_after_its_events_is_cut_off_but_complete(tmp_path: Path) -> None:
    text = small_log().text()
    log = read(tmp_path, text[: text.rindex('"polledData"')])
    assert log.truncated
    assert log.arrivals == read(tmp_path, text).arrivals


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ('"phase": 1', '"phase": 1 1'),
        ('"phase": 1', "phase: 1"),
        ('"events": [', '"events": [{]},'),
        ('"events": ', '"events" '),
    ],
)
def test_what_stops_being_json_in_its_middle_is_refused_with_the_place(tmp_path: Path, old: str, new: str) -> None:
    text = small_log().text()
    assert old in text
    with pytest.raises(InputError, match=r"net\.json is not a NetLog: it is not JSON from character \d+ on"):
        read(tmp_path, text.replace(old, new, 1))


@given(st.text(max_size=200) | st.text(alphabet='{}[]",:01tnf\\ e', max_size=60))
def test_any_text_is_read_or_refused(text: str) -> None:
    with contextlib.suppress(NotALogError):
        parts(text)


_json = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=12,
)


@given(
    events=st.lists(_json, max_size=6),
    rest=st.dictionaries(st.text().filter(lambda name: name != "events"), _json, max_size=3),
)
def test_the_parts_are_those_of_the_json(events: list[Any], rest: dict[str, Any]) -> None:
    for indent in (None, 1):
        found, truncated = parts(json.dumps({"events": events, **rest}, indent=indent))
        assert not truncated
        assert [value for name, value in found if name == "events"] == events
        assert {name: value for name, value in found if name != "events"} == rest


@given(events=st.lists(_json.filter(lambda value: not isinstance(value, int | float)), max_size=4), data=st.data())
def test_cut_off_json_gives_a_beginning_of_its_parts(events: list[Any], data: st.DataObject) -> None:
    text = json.dumps({"events": events, "end": {}})
    end = data.draw(st.integers(1, len(text) - 1))
    found, truncated = parts(text[:end])
    assert truncated
    assert found == [*(("events", event) for event in events), ("end", {})][: len(found)]


@pytest.mark.parametrize(
    "event",
    [
        {"type": []},
        {"type": NUMBERS[HEADER]},
        {"type": NUMBERS[HEADER], "time": "nan", "source": {"id": 1}, "params": {}},
        {"type": NUMBERS[HEADER], "time": "1e300", "source": {"id": 1}, "params": {}},
        {"type": NUMBERS[HEADER], "time": "1", "source": {"id": True}, "params": {}},
        {"type": NUMBERS[HEADER], "time": "1", "source": {"id": 1}, "params": {"packet_number": -1}},
        {"type": NUMBERS[HEADER], "time": "1", "source": {"id": 1}, "params": {"packet_number": 1 << 62}},
        {"type": NUMBERS[HEADER], "time": "1", "source": {"id": 1}, "params": {"packet_number": 1.5}},
        {"type": NUMBERS[HEADER], "time": "1", "source": {"id": 1}, "params": {"packet_number": "seven"}},
        {"type": NUMBERS[HEADER], "time": "1", "source": {"id": 1}, "params": {"packet_number": float("inf")}},
        {"type": NUMBERS[HEADER], "time": "1", "source": {"id": 1}, "params": ["packet_number"]},
        7,
        None,
    ],
)
def test_events_that_are_not_chromiums_are_refused(tmp_path: Path, event: Any) -> None:
    made = small_log().document()
    made["events"].append(event)
    with pytest.raises(InputError, match="an event is not as expected"):
        read(tmp_path, json.dumps(made))


@pytest.mark.parametrize("types", [[], "QUIC", {"QUIC_SESSION": "x"}, {"QUIC_SESSION": [1]}])
def test_constants_that_are_not_chromiums_are_refused(tmp_path: Path, types: Any) -> None:
    with pytest.raises(InputError, match="is not a NetLog"):
        read(tmp_path, json.dumps({"constants": {"logEventTypes": types}, "events": []}))


@pytest.mark.parametrize("rubbish", ["x", r"\\"])
def test_a_text_without_an_end_costs_memory_for_itself_only(rubbish: str) -> None:
    text = '{"constants": "' + rubbish * 2_000_000
    tracemalloc.start()
    assert parts(text) == ([], True)
    peak_bytes = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak_bytes < 10 * len(text)


def test_memory_does_not_grow_with_what_is_not_kept(tmp_path: Path) -> None:
    script = Script().session().packet(0, (0, 0, 10))
    event = json.dumps(Script().event("URL_REQUEST_START_JOB", 1, url="x" * 500).events[0])
    text = script.text()
    file = tmp_path / "long.json"
    with file.open("w") as log:
        head, tail = text.split('],\n"polledData"')
        log.write(head)
        for _ in range(30_000):
            log.write(",\n" + event)
        log.write('],\n"polledData"' + tail)
    assert file.stat().st_size > 15_000_000
    tracemalloc.start()
    assert read_netlog(file).packets_seen == 1
    peak_bytes = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak_bytes < 5_000_000
