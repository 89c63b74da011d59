"""The keeper of a lab that stays up."""

from __future__ import annotations

import asyncio
import signal
import subprocess
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, cast

import pytest

from mixedsched.errors import MixedschedError
from mixedsched.model.profile import Direction, Profile
from mixedsched.world.emulator import keeper
from mixedsched.world.emulator.kernel import registry, testbed
from mixedsched.world.emulator.kernel.privilege import Privilege
from mixedsched.world.emulator.kernel.registry import mark_of
from mixedsched.world.system.children import Child

DEAD = {"error": {"what": "the router VM has stopped", "why": "out of memory", "fix": "", "exit_code": 1}}
READY = {"namespaces": {"server": "s", "client": "c"}, "server_host": "198.18.0.1", "notes": []}


class Owner:
    """The process that owns a testbed: what it answers, in order, to each question; None for silence; then it ends."""

    def __init__(self, *checks: dict[str, Any] | None) -> None:
        self._checks = list(checks)
        self._lines: list[dict[str, Any]] = []
        self.has_ended = False

    def take_lines(self) -> list[dict[str, Any]]:
        lines, self._lines = self._lines, []
        return lines

    def tell(self, order: dict[str, Any]) -> None:
        if order["op"] != "check":
            self._lines.append({order["op"]: {}})
        elif self._checks:
            answer = self._checks.pop(0)
            self._lines += [] if answer is None else [answer]
        else:
            self.has_ended = True

    async def next_line(self, _: float) -> dict[str, Any] | None:
        await asyncio.sleep(0)
        return self._lines.pop(0) if self._lines else None


def backend_of(owner: Owner) -> testbed.TestbedBackend:
    return testbed.TestbedBackend("vm", Privilege.ROOT, cast("Child", owner), READY)


@pytest.mark.parametrize(
    ("checks", "why"),
    [
        ([{"check": {}}, DEAD], "the router VM has stopped: out of memory"),
        ([None, {"counters": {}}, DEAD], "the router VM has stopped: out of memory"),  # slow, and a late answer
        ([{"check": {}}], "the process that owns the namespaces has stopped"),
    ],
)
def test_a_network_has_ended_when_its_owner_says_so_or_is_gone(checks: list[dict[str, Any] | None], why: str) -> None:
    assert str(asyncio.run(backend_of(Owner(*checks)).ended())) == why


def test_an_owner_that_cannot_check_says_so() -> None:
    class Dead:
        def check(self) -> None:
            raise MixedschedError("the router VM has stopped")

    with pytest.raises(MixedschedError, match="has stopped"):
        testbed._answer({"op": "check"}, cast("testbed.Testbed", Dead()))


@pytest.mark.parametrize("is_told", [False, True])
def test_a_lab_that_ends_by_itself_leaves_word_of_why(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, is_told: bool
) -> None:
    owner = Owner(*[{"check": {}}] * 10, DEAD)

    @asynccontextmanager
    async def opened(_name: str, _profile: Profile) -> AsyncIterator[testbed.TestbedBackend]:
        yield backend_of(owner)

    def up(_: object) -> None:
        assert keeper.lab_status()["up"] is not None
        assert keeper.ended_lab() is None  # that of the lab before is forgotten
        if is_told:
            signal.raise_signal(signal.SIGTERM)

    monkeypatch.setattr(keeper, "open_backend", opened)
    monkeypatch.setattr(keeper, "registry_folder", lambda: tmp_path)
    monkeypatch.setattr(registry, "registry_folder", lambda: tmp_path)
    monkeypatch.setattr(keeper, "_let_go_of_terminal", lambda: None)
    monkeypatch.setattr(keeper, "say", up)
    keeper._write(keeper._ended_file(), keeper.EndedLab("netns", "fiber", "of another lab"))
    profile = Profile("shop", "", "", down=Direction(), up=Direction())
    asyncio.run(keeper.keep({"backend": "vm", "name": "shop", "profile": profile.facts(), "seed": 1}))
    assert keeper.lab_status()["up"] is None
    why = "the router VM has stopped: out of memory"
    assert keeper.ended_lab() == (None if is_told else keeper.EndedLab("vm", "shop", why))


def test_that_a_lab_does_not_go_down_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    """A process that waits within the kernel does not end when it is killed."""
    monkeypatch.setattr(keeper, "_STOP_LIMIT_S", 0.05)
    with subprocess.Popen(["sleep", "60"]) as process:
        mark = mark_of(process.pid)
        assert mark is not None
        lab = keeper.StandingLab(mark, "netns", "fiber", 1, "198.18.0.1", (), (), ())
        with monkeypatch.context() as patch:
            patch.setattr(keeper.os, "kill", lambda _pid, _number: None)
            with pytest.raises(MixedschedError, match="cannot be taken down") as caught:
                lab.stop()
        process.terminate()
    assert f"process {process.pid}" in caught.value.why
