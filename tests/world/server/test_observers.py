"""What is told of connections while they live: stretches of packets, files of traces, lines that may be dropped."""

from __future__ import annotations

import asyncio
import errno
import io
import json
import threading
from dataclasses import asdict
from pathlib import Path

import pytest
from aioquic.quic.configuration import QuicConfiguration
from pydantic import TypeAdapter

from mixedsched.cli._text_log import TextLog, explain_text
from mixedsched.core.h3.events import SessionEvents
from mixedsched.core.schedulers import SCHEMES
from mixedsched.errors import UsageError
from mixedsched.model.priority import Priority
from mixedsched.model.request import ChromiumPriority, Kind, Request
from mixedsched.model.scheme import configure
from mixedsched.world import catalog
from mixedsched.world.server._first_packets import NewClient
from mixedsched.world.server._observers import MAX_INTERVALS_PER_TICK, ConnectionObservers
from mixedsched.world.server.log import LineWriter
from mixedsched.world.server.qlog_files import QlogFile, prepare_folder
from mixedsched.world.server.running import ServerFacts
from mixedsched.world.server.schedule import MAX_RUNS, ScheduleInterval, ScheduleRecorder, StreamProgress
from mixedsched.world.server.settings import LogSettings
from tests.core.h3.traces import read_trace
from tests.patience import until

EPS = configure("eps", SCHEMES, catalog.load_mapping)
CLIENT = NewClient("127.0.0.1", b"12345678", None)


def request(stream_id: int, path: str = "/x", body_bytes: int = 1000) -> Request:
    return Request(
        stream_id=stream_id,
        path=path,
        kind=Kind.IMAGE,
        signal=Priority(2),
        signalled=True,
        chromium_priority=ChromiumPriority.MEDIUM,
        mime="image/png",
        body_bytes=body_bytes,
    )


def recorder() -> ScheduleRecorder:
    made = ScheduleRecorder(7, 10.0, lambda: None)
    for stream_id in (0, 4, 8):
        made.placed(10.0, stream_id, request(stream_id, f"/{stream_id}"), "u=2")
    return made


def taken(made: ScheduleRecorder) -> ScheduleInterval:
    interval = made.take()
    assert interval is not None
    return interval


class TestStretch:
    def test_packets_are_told_run_by_run(self) -> None:
        made = recorder()
        for packet, stream_id in enumerate((0, 0, 4, 0)):
            made.scheduled(10.1 + packet / 100, stream_id, 400, 0, packet)
        interval = taken(made)
        assert interval.runs == ((0, 2), (4, 1), (0, 1))
        assert (interval.connection, interval.from_ms, interval.to_ms) == (7, 100.0, 130.0)

    def test_two_frames_of_a_stream_in_a_packet_count_once(self) -> None:
        made = recorder()
        for stream_id in (0, 4, 0):
            made.scheduled(10.1, stream_id, 100, 0, packet=1)
        assert taken(made).runs == ((0, 1), (4, 1))

    def test_progress_counts_each_byte_once(self) -> None:
        made = recorder()
        made.scheduled(10.1, 4, 600, 0, 1)
        made.scheduled(10.2, 4, 600, 600, 2)
        assert taken(made).streams == (StreamProgress(4, "/4", "u=2", "u=2", 600, 1000),)

    def test_a_stretch_begins_where_the_last_one_ended(self) -> None:
        made = recorder()
        made.scheduled(10.1, 0, 100, 0, 1)
        made.take()
        assert made.take() is None
        made.scheduled(10.3, 8, 100, 0, 2)
        interval = taken(made)
        assert (interval.runs, interval.from_ms) == (((8, 1),), 300.0)

    def test_a_response_is_forgotten_once_it_is_over_and_told_of(self) -> None:
        made = recorder()
        made.scheduled(10.1, 0, 100, 0, 1)
        made.closed(10.1, 0)
        assert taken(made).streams[0].path == "/0"
        made.placed(10.2, 0, request(0, "/new"), "u=2")
        made.scheduled(10.2, 0, 100, 0, 2)
        assert taken(made).streams[0].path == "/new"

    def test_it_is_bounded_and_says_what_it_leaves_out(self) -> None:
        made = recorder()
        for packet in range(MAX_RUNS + 10):
            made.scheduled(10.1, 4 * (packet % 2), 100, 0, packet)
        interval = taken(made)
        assert (len(interval.runs), interval.packets_left_out) == (MAX_RUNS, 10)

    def test_a_placement_that_changes_is_told(self) -> None:
        made = recorder()
        made.placed(10.1, 4, request(4), "u=0")
        made.scheduled(10.1, 4, 100, 0, 1)
        assert taken(made).streams[0].placement == "u=0"

    def test_it_survives_json(self) -> None:
        made = recorder()
        made.scheduled(10.1, 0, 100, 0, 1)
        interval = taken(made)
        assert TypeAdapter(ScheduleInterval).validate_json(json.dumps(asdict(interval))) == interval


class TestExplanation:
    def interval(self, *runs: tuple[int, int], path: str = "/a.css") -> ScheduleInterval:
        ids = sorted({stream_id for stream_id, _ in runs})
        streams = tuple(StreamProgress(stream_id, path, "u=2", "u=2", 500, 2000) for stream_id in ids)
        return ScheduleInterval(3, 0.0, 12_400.0, runs, streams)

    def test_it_is_a_strip_with_its_legend(self) -> None:
        text = explain_text(self.interval((0, 2), (4, 1), (0, 1))).plain
        assert text == "#3   12.40 s  AABA  A /a.css u=2 25 %  B /a.css u=2 25 %"

    def test_letters_are_those_of_the_connections_requests_in_order(self) -> None:
        assert "s  CCC  C " in explain_text(self.interval((8, 3))).plain
        assert "s  AA  A " in explain_text(self.interval((52 * 4, 2))).plain, "the 53rd begins anew"

    def test_long_strips_are_thinned_and_long_legends_cut(self) -> None:
        text = explain_text(self.interval(*((stream_id, 50) for stream_id in range(0, 40, 4)))).plain
        assert len(text.split("  ")[2]) == 48
        assert text.endswith("  and 4 more")

    def test_paths_cannot_write_to_the_terminal(self) -> None:
        text = explain_text(self.interval((0, 1), path="/\x1b[2J\x9bm\n")).plain
        assert "/\\x1b[2J\\x9bm\\x0a u=2" in text
        assert text.isprintable()

    def test_the_worker_is_named_where_there_are_several(self) -> None:
        assert explain_text(self.interval((0, 1)), worker=1).plain.startswith("[1] #3 ")


class TestQlogFile:
    def test_records_are_in_the_file_after_a_flush(self, tmp_path: Path) -> None:
        file = QlogFile(tmp_path / "x.sqlog")
        file.write(b"one")
        assert not (tmp_path / "x.sqlog").exists()
        file.flush()
        file.write(b"two")
        file.flush()
        assert (tmp_path / "x.sqlog").read_bytes() == b"onetwo"

    def test_many_are_written_without_asking_and_nothing_is_kept(self, tmp_path: Path) -> None:
        file = QlogFile(tmp_path / "x.sqlog")
        for _ in range(200):
            file.write(bytes(1000))
        assert (tmp_path / "x.sqlog").stat().st_size > 100_000

    def test_an_older_trace_of_the_name_is_replaced(self, tmp_path: Path) -> None:
        (tmp_path / "x.sqlog").write_bytes(b"old")
        file = QlogFile(tmp_path / "x.sqlog")
        file.write(b"new")
        file.flush()
        assert (tmp_path / "x.sqlog").read_bytes() == b"new"

    def test_a_file_that_cannot_be_written_is_given_up_with_a_word(
        self, tmp_path: Path, caplog: pytest.LogCaptureFixture
    ) -> None:
        file = QlogFile(tmp_path / "gone" / "x.sqlog")
        for _ in range(3):
            file.write(b"record")
            file.flush()
        assert len(caplog.records) == 1
        assert "ends early" in caplog.text

    def test_a_folder_is_made_where_there_is_none(self, tmp_path: Path) -> None:
        prepare_folder(tmp_path / "a" / "b")
        assert list((tmp_path / "a" / "b").iterdir()) == []

    def test_what_is_no_folder_is_refused(self, tmp_path: Path) -> None:
        (tmp_path / "file").write_text("")
        with pytest.raises(UsageError, match="cannot write traces"):
            prepare_folder(tmp_path / "file")


class TestConnectionObservers:
    def test_what_is_not_wanted_costs_nothing(self) -> None:
        async def opened() -> tuple[bool, bool]:
            configuration = QuicConfiguration(is_client=False)
            events = SessionEvents(lambda _: None, lambda _: None, lambda _: None)
            watch = ConnectionObservers(LogSettings(), EPS, lambda _: None)
            made = watch.open(1, CLIENT, 0.0, configuration, events)
            return made[0] is configuration, made[1] is events

        assert asyncio.run(opened()) == (True, True)

    def test_a_busy_servers_connections_take_turns_and_none_is_forgotten(self) -> None:
        connections = MAX_INTERVALS_PER_TICK + 5

        async def told() -> list[int]:
            stretches: list[ScheduleInterval] = []
            watch = ConnectionObservers(LogSettings(schedule=True), EPS, stretches.append)
            for number in range(connections):
                _, events, _ = watch.open(
                    number,
                    CLIENT,
                    0.0,
                    QuicConfiguration(is_client=False),
                    SessionEvents(lambda _: None, lambda _: None, lambda _: None),
                )
                (observer,) = events.decisions
                observer.placed(0.0, 0, request(0), "u=2")
                observer.scheduled(0.0, 0, 100, 0, 1)
            await until(lambda: len(stretches) >= connections)
            watch.stop()
            return [interval.connection for interval in stretches]

        assert asyncio.run(told()) == list(range(connections))

    def test_a_connection_that_goes_leaves_a_whole_trace(self, tmp_path: Path) -> None:
        async def run() -> None:
            watch = ConnectionObservers(LogSettings(qlog_folder=tmp_path), EPS, lambda _: None)
            _, events, _ = watch.open(
                12,
                NewClient("127.0.0.1", bytes.fromhex("0011223344556677"), None),
                0.0,
                QuicConfiguration(is_client=False),
                SessionEvents(lambda _: None, lambda _: None, lambda _: None),
            )
            events.decisions[0].scheduled(0.0, 0, 100, 0, 1)
            watch.close(12)
            watch.stop()

        asyncio.run(run())
        (path,) = tmp_path.iterdir()
        assert path.name == "000012-0011223344556677.sqlog"
        header, events = read_trace(path.read_bytes())
        assert header["title"] == "connection 12, eps"
        assert [event["data"]["bytes"] for event in events] == [100]


class _Stuck(io.StringIO):
    """A reader that reads nothing until it is let go."""

    def __init__(self) -> None:
        super().__init__()
        self.may_go = threading.Event()
        self.has_begun = threading.Event()

    def write(self, text: str) -> int:
        self.has_begun.set()
        self.may_go.wait(20)
        return super().write(text)


def test_minor_lines_are_dropped_while_nobody_reads_and_others_are_not(capsys: pytest.CaptureFixture[str]) -> None:
    file = _Stuck()
    made: list[int] = []

    def line(number: int) -> str:
        made.append(number)
        return f"minor {number}"

    with LineWriter(file) as writer:
        writer.write("first")
        file.has_begun.wait(20)
        for number in range(LineWriter.MAX_MINOR_WAITING + 50):
            writer.write_minor(lambda number=number: line(number))
        writer.write("last")
        file.may_go.set()
    assert writer.dropped == 50
    assert len(made) == LineWriter.MAX_MINOR_WAITING, "lines that are dropped are not made"
    assert file.getvalue().splitlines()[-1] == "last"
    assert "50 lines were dropped" in capsys.readouterr().err


def test_what_waits_for_a_reader_is_bounded_however_long_the_lines_are(monkeypatch: pytest.MonkeyPatch) -> None:
    """Clients choose the paths that are logged."""
    monkeypatch.setattr(LineWriter, "MAX_WAITING_CHARACTERS", 1000)
    file = _Stuck()
    with LineWriter(file) as writer:
        writer.write("first")
        file.has_begun.wait(20)
        for _ in range(20):
            writer.write(100 * "x")
        assert writer.dropped == 9
        file.may_go.set()
    assert len(file.getvalue().splitlines()) == 12


def test_a_log_that_cannot_be_written_any_more_is_given_up(capsys: pytest.CaptureFixture[str]) -> None:
    class Full(io.StringIO):
        def write(self, text: str) -> int:
            raise OSError(errno.ENOSPC, "No space left on device")

    with LineWriter(Full()) as writer:
        for _ in range(3):
            writer.write("x")
    assert capsys.readouterr().err == "the log ends here: No space left on device\n"


@pytest.mark.parametrize("path", ["/", f"/{'long/' * 40}"])
def test_an_address_in_brackets_is_told_as_it_is_on_one_line(path: str, capsys: pytest.CaptureFixture[str]) -> None:
    facts = ServerFacts(
        listening="[fd00::1]:4433", spki_sha256="x", site="shop", url=f"https://[fd00::1]:4433{path}", hosts=("shop.test",),
        connections=1, across_connections=False, scheme="eps", mapping=None, workers=1, gso=False,
        receive_buffer_bytes=10_000_000, send_buffer_bytes=10_000_000,
    )  # fmt: skip
    TextLog(None).listening(facts)
    assert "on UDP [fd00::1]:4433" in (told := capsys.readouterr().out)
    assert f"open https://[fd00::1]:4433{path} in Chromium" in told
