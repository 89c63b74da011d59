"""A dask scheduler sets machines to work on a study; what has been done, the database alone knows."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import pytest

from benchmarks._postgres import Postgres, binaries
from mixedsched.errors import ExitCode, MissingPartError, UsageError
from mixedsched.lab.results import DATABASE_NAME
from mixedsched.lab.study import cluster, session, worker
from mixedsched.lab.study.definition import Study
from mixedsched.lab.study.session import find_study, run_study
from mixedsched.world.store import StudyStore
from tests.command import HOME, MIXEDSCHED
from tests.lab.study.small import quick_study, small_study
from tests.patience import wait_until

pytest.importorskip("distributed")
SERVING = ["-m", "distributed.cli.dask_scheduler", "--host", "127.0.0.1", "--port", "0", "--no-dashboard"]
BLOCKS = 5
Start = Callable[..., subprocess.Popen[bytes]]


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Start]:
    """Starts processes in groups of their own, which are gone in the end."""
    started: list[subprocess.Popen[bytes]] = []

    def begin(*command: str) -> subprocess.Popen[bytes]:
        with (tmp_path / "log").open("ab") as log:
            process = subprocess.Popen(command, stdout=log, stderr=log, cwd=HOME, start_new_session=True)
        started.append(process)
        return process

    yield begin
    for process in started:
        kill(process)


@pytest.fixture
def scheduler(tmp_path: Path, start: Start) -> str:
    """Its address."""
    file = tmp_path / "scheduler.json"
    start(sys.executable, *SERVING, "--scheduler-file", str(file))
    assert wait_until(file.is_file, 60)
    address: str = json.loads(file.read_text())["address"]
    return address


def kill(process: subprocess.Popen[bytes]) -> None:
    """With all that it has started."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()


def loads_in(url: str) -> list[Any]:
    """The loads that count, without who has made them."""
    with StudyStore(url) as store:
        found = list(store.loads(find_study(store).id))
    last = {(load.place_id, load.block): load.attempt for load in found}
    counting = [load for load in found if load.attempt == last[load.place_id, load.block]]
    return sorted(
        (load.place_id, load.block, load.arm, load.seed, load.status, sorted(load.values.items())) for load in counting
    )


def machines_in(url: str) -> set[str]:
    with StudyStore(url) as store:
        return {load.machine for study in store.studies() for load in store.loads(study.id)}


@pytest.fixture
def study(tmp_path: Path) -> Study:
    return small_study(tmp_path, blocks=BLOCKS)


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory: pytest.TempPathFactory) -> list[Any]:
    """The loads of that study where one process makes them all and nothing is killed."""
    folder = tmp_path_factory.mktemp("undisturbed")
    run_study(small_study(folder, blocks=BLOCKS), folder=folder / "out", jobs=1)
    return loads_in(f"sqlite:///{folder}/out/{DATABASE_NAME}")


@pytest.mark.slow
def test_a_machine_that_is_killed_loses_no_block_and_changes_no_load(
    study: Study, tmp_path: Path, scheduler: str, start: Start, undisturbed: list[Any]
) -> None:
    url = f"sqlite:///{tmp_path}/team.sqlite"

    def join(machine: str) -> subprocess.Popen[bytes]:
        words = [
            "worker",
            "--store",
            url,
            "--scheduler",
            scheduler,
            "--machine",
            machine,
            "--jobs",
            "1",
            "--lease",
            "2s",
        ]
        return start(*map(str, MIXEDSCHED), *words)

    class KillsTheFirst:
        """Sees how far the study is, and kills a machine once it has stored loads."""

        has_killed = False

        def left(self, *_: object) -> None:
            if not self.has_killed and "first" in machines_in(url):
                kill(first)
                join("second")
                self.has_killed = True

        def loading(self, *_: object) -> None: ...

        def loaded(self, *_: object) -> None: ...

    first, observer = join("first"), KillsTheFirst()
    run_study(study, folder=tmp_path / "team", store=url, scheduler=scheduler, observer=observer)
    assert observer.has_killed
    assert machines_in(url) == {"first", "second"}
    assert loads_in(url) == undisturbed


class _Client:
    """Of a scheduler with one machine, which keeps what it is asked for."""

    status = "running"

    def __init__(self) -> None:
        self.asked: list[tuple[object, ...]] = []

    def scheduler_info(self, **_: object) -> dict[str, Any]:
        return {"workers": {"tcp://machine": {}}}

    def submit(self, *words: object, **_: object) -> Any:
        self.asked.append(words)
        return Mock(done=lambda: True)


def test_work_that_was_stopped_can_be_asked_for_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """An event that is set stays set in a scheduler: also for the next round of blocks, and the next `study run`."""
    events_set: list[str] = []
    monkeypatch.setattr("distributed.Event", lambda name, client: Mock(set=lambda: events_set.append(name)))
    client = _Client()
    for _ in range(2):
        machines = cluster.Cluster(client, ["-m", "worker", "sqlite:///team", "study"], print)
        machines.look()
        assert events_set.count(str(client.asked[-1][-1])) == 0
        machines.stop()
        assert events_set[-1] == client.asked[-1][-1]


def test_a_scheduler_that_does_not_answer_is_named(
    study: Study, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cluster, "CONNECT_S", 0.5)
    url = f"sqlite:///{tmp_path}/team.sqlite"
    with pytest.raises(MissingPartError, match=r"tcp://127\.0\.0\.1:1 does not answer") as caught:
        run_study(study, folder=tmp_path / "out", store=url, scheduler="tcp://127.0.0.1:1")
    assert caught.value.exit_code == ExitCode.MISSING_PART
    assert "dask scheduler" in caught.value.fix


def test_a_worker_that_lacks_a_page_ends_when_the_rest_is_done(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    study = quick_study(tmp_path)
    with monkeypatch.context() as patched:
        patched.setattr(session, "_carry_out", lambda *_: None)
        run_study(study, folder=tmp_path / "out")
    (tmp_path / "pages" / "one.json").unlink()
    url = f"sqlite:///{tmp_path / 'out' / DATABASE_NAME}"
    told: list[str] = []
    worker.run_worker(worker.WorkerOptions(url, waits=False, jobs=1), told.append)
    assert [line for line in told if "left to others" in line] == told[:1]
    with StudyStore(url) as store:
        assert sum(item.open for item in store.counts(1)) == 2, "the page's over both links"


def test_a_worker_of_another_version_is_refused_with_both(
    study: Study, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    url = f"sqlite:///{tmp_path}/team.sqlite"
    monkeypatch.setattr(session, "_carry_out", lambda *_: None)  # it is only begun
    run_study(study, folder=tmp_path / "out", store=url)
    ours = worker.own_versions(session.code_of(study))
    monkeypatch.setattr(worker, "own_versions", lambda _: {**ours, "aioquic": "9.9"})
    with pytest.raises(UsageError, match="cannot take part in 'small'") as caught:
        worker.run_worker(worker.WorkerOptions(url, study.name, waits=False), print)
    assert f"aioquic {ours['aioquic']} there, 9.9 here" in caught.value.why
    assert loads_in(url) == []


@pytest.mark.slow
def test_a_database_that_dies_and_comes_back_has_lost_nothing(
    study: Study, tmp_path: Path, undisturbed: list[Any]
) -> None:
    programs = binaries()
    if programs is None:
        pytest.skip("PostgreSQL is not installed")

    class KillsTheDatabase:
        count = 0

        def left(self, *_: object) -> None: ...

        def loading(self, *_: object) -> None: ...

        def loaded(self, *_: object) -> None:
            self.count += 1
            if self.count % 40 == 0:
                server.kill()
                server.start()

    said: list[str] = []
    with Postgres(programs) as server:
        url = server.new_database("mortal")
        run_study(study, folder=tmp_path / "team", store=url, observer=KillsTheDatabase(), jobs=1, say=said.append)
        found = loads_in(url)
    assert found == undisturbed
    assert any("the database does not answer" in line for line in said)


def test_what_a_child_complains_of_at_length_does_not_hold_it_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("distributed.get_client", lambda: None)
    monkeypatch.setattr("distributed.get_worker", lambda: Mock(words_of_machine=[]))
    deadline_s = time.monotonic() + 30

    class Stop:
        def wait(self, **_: object) -> bool:
            time.sleep(0.05)
            return time.monotonic() > deadline_s

    monkeypatch.setattr("distributed.Event", lambda *_, **__: Stop())
    complains = "import sys; sys.stderr.write('warning\\n' * 100_000); sys.exit('no room')"
    assert cluster.work_in_child(["-c", complains], "stop") == "no room"
    assert time.monotonic() < deadline_s


@pytest.mark.slow
def test_a_child_whose_work_is_done_ends_without_a_complaint(tmp_path: Path) -> None:
    """Its standard input is still open, and a thread of its waits there."""
    url = f"sqlite:///{tmp_path}/team.sqlite"
    study = quick_study(tmp_path)
    run_study(study, folder=tmp_path / "team", store=url, jobs=1)
    words = [sys.executable, *cluster.worker_words(url, study.name), "here", "60", "1", ""]
    with subprocess.Popen(words, stdin=subprocess.PIPE, stderr=subprocess.PIPE, cwd=HOME) as child:
        assert child.stderr is not None
        assert child.stderr.read() == b""
        assert child.wait(60) == ExitCode.DONE
