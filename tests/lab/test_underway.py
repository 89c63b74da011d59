"""What a command keeps in its folder about itself, and who may stop it."""

from __future__ import annotations

import errno
import json
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mixedsched.errors import MixedschedError, UsageError
from mixedsched.lab import underway
from mixedsched.lab.going_on import go_on
from mixedsched.lab.results import owned
from mixedsched.lab.underway import UNDERWAY_NAME, Underway, WorkEnd, has_seal, is_at_work, read_underway, stop

# Owns a folder, says so, and works until it is stopped.
WORK = """
import sys, time
from pathlib import Path
sys.argv = ["mixedsched", "compare", "shop"]
from mixedsched.cli._interrupts import end_in_order
from mixedsched.cli._progress import Progress
from mixedsched.lab.results import owned
end_in_order()
with owned(Path({folder!r})), Progress("loading", 10, unit="loads") as progress:
    progress.advance()
    print("at work", flush=True)
    time.sleep(60)
"""


@contextmanager
def at_work(folder: Path) -> Iterator[subprocess.Popen[str]]:
    words = [sys.executable, "-c", WORK.format(folder=str(folder))]
    with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as process:
        assert process.stdout is not None
        try:
            assert process.stdout.readline() == "at work\n"
            yield process
        finally:
            with suppress(ProcessLookupError):
                process.kill()


def known(folder: Path) -> Underway:
    record = read_underway(folder)
    assert record is not None
    return record


def write(folder: Path, record: Underway) -> None:
    facts = {name: getattr(record, name) for name in Underway.__slots__}
    (folder / UNDERWAY_NAME).write_text(json.dumps({"format": "mixedsched.underway/1", **facts}))


def test_what_is_told_can_be_read_at_once(tmp_path: Path) -> None:
    with owned(tmp_path):
        for done in range(100):
            underway.tell("playing", done, 100, "loads", 2.5)
            record = known(tmp_path)
            assert (record.done, record.share, record.what, record.unit) == (done, done / 100, "playing", "loads")
        assert is_at_work(tmp_path, record)
        assert record.left_at_s(record.told_s + 1) == 1.5
    assert known(tmp_path).ended is WorkEnd.DONE
    assert not is_at_work(tmp_path, known(tmp_path))


@pytest.mark.parametrize(
    ("error", "ended", "why"),
    [
        (KeyboardInterrupt(), WorkEnd.STOPPED, ""),
        (UsageError("no such page", fix="name one"), WorkEnd.FAILED, "no such page (name one)"),
        (ZeroDivisionError("by zero"), WorkEnd.FAILED, "ZeroDivisionError('by zero')"),
    ],
)
def test_the_record_says_how_it_ended(error: BaseException, ended: WorkEnd, why: str, tmp_path: Path) -> None:
    with suppress(BaseException), owned(tmp_path):
        raise error
    assert (known(tmp_path).ended, known(tmp_path).why) == (ended, why)


def test_work_within_work_is_a_part_of_it(tmp_path: Path) -> None:
    with owned(tmp_path / "all"), owned(tmp_path / "all/part"):
        underway.tell("a part", 1, 2, "", None)
    assert known(tmp_path / "all").what == "a part"
    assert read_underway(tmp_path / "all/part") is None


def test_a_folder_that_goes_away_disturbs_nobody(tmp_path: Path) -> None:
    with owned(tmp_path / "runs"):
        shutil.rmtree(tmp_path / "runs")
        underway.tell("still at work", 1, 2, "", None)
    assert read_underway(tmp_path / "runs") is None


@pytest.mark.slow
def test_a_command_is_stopped_as_by_ctrl_c(tmp_path: Path) -> None:
    with at_work(tmp_path) as process:
        record = known(tmp_path)
        assert record.command == ("compare", "shop")
        assert (record.done, record.total) == (1, 10)
        assert is_at_work(tmp_path, record)
        stop(tmp_path)
        process.wait(30)
    assert known(tmp_path).ended is WorkEnd.STOPPED


@pytest.mark.slow
def test_a_killed_command_is_not_at_work(tmp_path: Path) -> None:
    with at_work(tmp_path) as process:
        process.kill()
        process.wait(30)
        assert known(tmp_path).ended is WorkEnd.NOT_YET
        assert not is_at_work(tmp_path, known(tmp_path))
        with pytest.raises(MixedschedError, match="nothing was stopped"):
            stop(tmp_path)


@pytest.mark.slow
def test_no_other_process_is_ever_stopped(tmp_path: Path) -> None:
    """Neither one that does not own the folder, nor one that has the number of a former one."""
    with at_work(tmp_path / "one") as process:
        (tmp_path / "other").mkdir()
        (tmp_path / "other/lock").touch()
        record = known(tmp_path / "one")
        seal = underway._seal(record.command, record.cwd, tmp_path / "other")
        write(tmp_path / "other", replace(record, seal=seal))
        with pytest.raises(MixedschedError, match="nothing was stopped"):
            stop(tmp_path / "other")
        write(tmp_path / "one", replace(record, born=record.born + "1"))
        with pytest.raises(MixedschedError, match="nothing was stopped"):
            stop(tmp_path / "one")
        with pytest.raises(subprocess.TimeoutExpired):
            process.wait(0.3)


@pytest.mark.slow
def test_a_command_that_came_with_somebodys_files_is_not_given(tmp_path: Path) -> None:
    with at_work(tmp_path / "mine") as process:
        process.send_signal(signal.SIGINT)
        process.wait(30)
    record = known(tmp_path / "mine")
    assert has_seal(tmp_path / "mine", record)
    assert not has_seal(tmp_path / "mine", replace(record, command=("compare", "evil")))
    assert not has_seal(tmp_path / "mine", replace(record, cwd="/elsewhere"))
    shutil.copytree(tmp_path / "mine", tmp_path / "copy")
    assert not has_seal(tmp_path / "copy", known(tmp_path / "copy"))
    with pytest.raises(MixedschedError, match="cannot be given again"):
        go_on(tmp_path / "copy")


@pytest.mark.slow
def test_a_command_that_is_at_work_is_not_given_again(tmp_path: Path) -> None:
    with at_work(tmp_path), pytest.raises(MixedschedError, match="at work already"):
        go_on(tmp_path)


@pytest.mark.slow
def test_a_command_is_given_again_where_it_was_given_and_says_why_it_fails(tmp_path: Path) -> None:
    with at_work(tmp_path / "mine") as process:
        process.send_signal(signal.SIGINT)
        process.wait(30)
    again = go_on(tmp_path / "mine")
    assert again.wait(60) != 0, "there is no site of that name"
    assert "shop" in (tmp_path / "mine/again.log").read_text()
    assert known(tmp_path / "mine").cwd == os.fspath(Path.cwd())


@given(
    st.binary(max_size=200)
    | st.dictionaries(
        st.sampled_from(["format", "command", "pid", "ended", "total", "cwd"]),
        st.none() | st.integers() | st.text(max_size=5) | st.just("mixedsched.underway/1") | st.lists(st.integers()),
    ).map(lambda facts: json.dumps(facts).encode())
)
def test_a_damaged_record_says_nothing(tmp_path_factory: pytest.TempPathFactory, data: bytes) -> None:
    folder = tmp_path_factory.mktemp("damaged")
    (folder / UNDERWAY_NAME).write_bytes(data)
    assert read_underway(folder) is None


def test_a_long_command_of_foreign_letters_is_left_out_like_any_other_that_is_too_long(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(underway, "_given", ("compare", "語" * 2000))
    with owned(tmp_path):
        record = known(tmp_path)
        assert record.command == ()
        assert is_at_work(tmp_path, record)


def test_a_folder_that_cannot_be_locked_is_not_said_to_be_in_use(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def no_locks(*_: object) -> None:
        raise OSError(errno.ENOLCK, os.strerror(errno.ENOLCK))

    monkeypatch.setattr("fcntl.flock", no_locks)
    with pytest.raises(MixedschedError, match="cannot lock") as refused, owned(tmp_path):
        pass
    assert refused.value.why == os.strerror(errno.ENOLCK)
