"""A lab that stays up: a process, `python -m mixedsched.world.emulator.keeper`, that holds a back end until it is told to end.

It reads one line of JSON, {"backend": "netns", "profile": facts, "name": "4g", "seed": 1}, sets the link up, writes what there
is to standing.json in the registry, answers with it, and waits for SIGTERM, or for the end of what it holds, which it then
records in ended.json. Unlike other children it outlives the program that started it, in a session of its own.
"""

import asyncio
import contextlib
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter

from mixedsched.errors import MixedschedError, UsageError
from mixedsched.model.profile import Profile
from mixedsched.world.emulator.backend import open_backend
from mixedsched.world.emulator.kernel.namespaces import existing_namespaces, sweep
from mixedsched.world.emulator.kernel.registry import (
    ProcessMark,
    own_mark,
    read_ownerships,
    registry_folder,
    registry_lock,
)
from mixedsched.world.emulator.kernel.testbed import TestbedBackend
from mixedsched.world.system.json_lines import raise_error_in, say, say_error
from mixedsched.world.system.loops import first_of

_STOP_LIMIT_S = 15.0


@dataclass(frozen=True, slots=True)
class StandingLab:
    """A lab that is up. The prefixes are words before a command that is to run where the server or the client is."""

    keeper: ProcessMark
    backend: str
    link: str
    seed: int
    server_host: str
    server_prefix: tuple[str, ...]
    client_prefix: tuple[str, ...]
    notes: tuple[str, ...]

    @property
    def is_up(self) -> bool:
        return self.keeper.is_alive

    def stop(self) -> None:
        """Ask the keeper to take it down, and wait; kill it if it does not. A sweep then removes the rest.

        Raises MixedschedError if even then it does not end, which is the kernel's doing.
        """
        for number in (signal.SIGTERM, signal.SIGKILL):
            if self.is_up:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(self.keeper.pid, number)
            deadline_s = time.monotonic() + _STOP_LIMIT_S
            while self.is_up and time.monotonic() < deadline_s:
                time.sleep(0.02)
        if self.is_up:
            raise MixedschedError(
                "the lab cannot be taken down",
                why=f"its keeper, process {self.keeper.pid}, was killed and has not ended: it waits within the kernel",
                fix="run `mixedsched lab down` again when it has ended",
            )
        forget_dead_lab()


@dataclass(frozen=True, slots=True)
class EndedLab:
    """A lab that has ended by itself."""

    backend: str
    link: str
    why: str


_STANDING = TypeAdapter(StandingLab)
_ENDED = TypeAdapter(EndedLab)


def start_keeper(backend: str, profile: Profile, seed: int) -> StandingLab:
    """Set up a lab that stays up. Raises MixedschedError if it cannot be."""
    settings = {"backend": backend, "profile": profile.facts(), "name": profile.name, "seed": seed}
    command = [sys.executable, "-m", "mixedsched.world.emulator.keeper"]
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, start_new_session=True)
    try:
        assert process.stdin is not None
        assert process.stdout is not None
        with process.stdin, process.stdout:
            process.stdin.write(json.dumps(settings).encode() + b"\n")
            process.stdin.flush()
            answer = process.stdout.read()  # to its end: the keeper lets go of its output once the lab is up
    except BaseException:
        process.terminate()
        process.wait()
        raise
    if not answer.strip():
        raise MixedschedError("the lab did not come up", why="the process that keeps it has stopped; see above")
    message = json.loads(answer)
    raise_error_in(message)
    return _STANDING.validate_python(message["standing"])


def take_down() -> list[str]:
    """Take down the lab that is up, and what killed ones left; returns the names of the namespaces that went."""
    standing = standing_lab()
    before = existing_namespaces()
    if standing is not None:
        standing.stop()
    forget_dead_lab()
    _ended_file().unlink(missing_ok=True)
    sweep()
    after = set(existing_namespaces())
    return [name for name in before if name not in after]


def lab_status() -> dict[str, Any]:
    """As JSON: the lab that is "up", or the last one if it has "ended" by itself; namespaces "in_use" by living owners, and
    "leftovers" of others."""
    standing, ended = standing_lab(), ended_lab()
    living = [ownership for ownership in read_ownerships() if ownership.owner.is_alive]
    owned = {name for item in living for name in item.namespaces}
    return {
        "up": None if standing is None else asdict(standing),
        "ended": None if ended is None else asdict(ended),
        "in_use": [
            {"pid": item.owner.pid, "about": item.about, "namespaces": list(item.namespaces)} for item in living
        ],
        "leftovers": [name for name in existing_namespaces() if name not in owned],
    }


def standing_lab() -> StandingLab | None:
    """The lab that is up; None if there is none."""
    try:
        lab = _STANDING.validate_json(_record_file().read_bytes())
    except (OSError, ValueError):
        return None
    return lab if lab.is_up else None


def ended_lab() -> EndedLab | None:
    """The last lab if it has ended by itself; None once another one is up, or all is taken down."""
    try:
        return _ENDED.validate_json(_ended_file().read_bytes())
    except (OSError, ValueError):
        return None


def forget_dead_lab() -> None:
    """Remove the record of a lab whose keeper was killed."""
    with registry_lock():
        if standing_lab() is None:
            _record_file().unlink(missing_ok=True)


def refuse_second_lab() -> None:
    """Raises UsageError if a lab is up."""
    standing = standing_lab()
    if standing is not None:
        raise UsageError(
            f"a lab is up already: {standing.backend} with {standing.link}",
            fix="take it down with: mixedsched lab down",
        )


@contextlib.contextmanager
def _recorded(lab: StandingLab) -> Iterator[None]:
    """Record that it is up, whole or not at all, until the end of the `with`. Raises UsageError if another one came first."""
    with registry_lock():
        refuse_second_lab()
        _write(_record_file(), lab)
        _ended_file().unlink(missing_ok=True)
    try:
        yield
    finally:
        with registry_lock():
            if standing_lab() == lab:
                _record_file().unlink(missing_ok=True)


def _write(file: Path, lab: StandingLab | EndedLab) -> None:
    """Write it whole or not at all."""
    new = file.with_suffix(".new")
    new.write_text(json.dumps(asdict(lab)), encoding="utf-8")
    new.replace(file)


def _record_file() -> Path:
    return registry_folder() / "standing.json"


def _ended_file() -> Path:
    return registry_folder() / "ended.json"


async def keep(settings: dict[str, Any]) -> None:
    """Hold the back end, netns or vm, until SIGTERM, or until it has ended."""
    told = asyncio.Event()
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, told.set)
    profile, seed = Profile.from_facts(settings["name"], settings["profile"]), int(settings["seed"])
    async with open_backend(settings["backend"], profile) as backend, backend.link((backend.server_host, 0), seed):
        lab = StandingLab(
            keeper=own_mark(),
            backend=backend.name,
            link=profile.name,
            seed=seed,
            server_host=backend.server_host,
            server_prefix=backend.server_prefix,
            client_prefix=backend.client_prefix,
            notes=backend.notes,
        )
        with _recorded(lab):
            say({"standing": asdict(lab)})
            _let_go_of_terminal()
            assert isinstance(backend, TestbedBackend)
            was_told, why = await first_of(told.wait(), backend.ended())
            if not was_told:
                _write(_ended_file(), EndedLab(backend.name, profile.name, str(why)))


def _let_go_of_terminal() -> None:
    """Close standard input and output: a program that waits for the end of our output must not wait for our end."""
    with Path(os.devnull).open("r+b") as nothing:
        for descriptor in (0, 1, 2):
            os.dup2(nothing.fileno(), descriptor)


def main() -> int:
    """Entry point of the process; returns its exit code."""
    try:
        asyncio.run(keep(json.loads(sys.stdin.readline())))
    except MixedschedError as error:
        return say_error(error)
    return 0


if __name__ == "__main__":
    sys.exit(main())
