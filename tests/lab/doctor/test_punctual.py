"""What the doctor says of this machine's punctuality, and of what would give more."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest

from mixedsched.lab import timers
from mixedsched.lab.doctor import _browser
from mixedsched.lab.doctor._browser import advice, prove_page_load, punctuality_check
from mixedsched.lab.doctor._check import checked
from mixedsched.lab.doctor._parts import prove_relay
from mixedsched.lab.model import Run, RunStatus
from mixedsched.model.profile import Profile
from mixedsched.world.browser.kinds import Browser
from mixedsched.world.emulator.backend import Address, LinkInUse
from mixedsched.world.system.precedence import Courtesy, Precedence, Promptness
from tests.world.emulator.relaying import udp

LATE = "late_link: packets were held up for 90 ms of the 900 ms before the largest paint"


@pytest.fixture(autouse=True)
def machine(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two processors, no container, a user called ada."""
    monkeypatch.setattr(_browser, "_CONTAINER_MARKS", ())
    monkeypatch.setattr(_browser, "processors", lambda: 2)
    monkeypatch.setattr(_browser.getpass, "getuser", lambda: "ada")


def run(reason: str = "") -> Run:
    return Run(
        1,
        1,
        "eps",
        0,
        RunStatus.INVALID if reason else RunStatus.OK,
        reason,
        page_load={"metrics": {"lcp_ms": 900.0}},
        relay={"punctuality": {"delivered": 3000, "late": 12, "stalls_us": [[100_000, 104_000], [890_000, 950_000]]}},
        waited_ms={"server": 7.0, "worker": None},
    )


def test_it_tells_what_was_held_up_and_what_made_it_so_punctual() -> None:
    check = punctuality_check(run(), Precedence(Promptness.SHORT_SLICES, Courtesy.NICE, awake=2))
    assert check.ok
    assert "held up for 14 of the 900 ms before the largest paint; 12 of 3000 left over 1 ms late" in check.detail
    assert "server waited 7 ms" in check.detail
    assert "worker" not in check.detail  # of which nobody tells
    assert "short slices; the browser has a lower priority (nice); 2 processors are kept awake" in check.detail


def test_a_load_that_this_machine_spoiled_fails_it() -> None:
    assert not punctuality_check(run(LATE), Precedence(Promptness.ORDINARY, Courtesy.IDLE, awake=0)).ok


def test_a_load_that_failed_otherwise_says_nothing_of_the_machine() -> None:
    assert punctuality_check(run("unfinished: 1 request"), Precedence(Promptness.ORDINARY, Courtesy.IDLE, 0)).ok


@pytest.mark.parametrize("network", [Promptness.REAL_TIME, Promptness.KERNEL])
def test_who_has_the_best_is_advised_nothing(network: Promptness) -> None:
    assert advice(network) == ()


def test_an_ordinary_user_is_told_the_one_line_that_gives_real_time_priority_first() -> None:
    first, second = advice(Promptness.SHORT_SLICES)
    assert first.startswith(
        "`echo 'ada - rtprio 1' | sudo tee /etc/security/limits.d/mixedsched.conf`, and a new login"
    )
    assert second.startswith("`sudo setcap cap_sys_nice+ep /")


def test_in_a_container_its_own_option_comes_first(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(_browser, "_CONTAINER_MARKS", (tmp_path,))
    assert "--ulimit rtprio=1" in advice(Promptness.ORDINARY)[0]


def test_one_processor_is_said_to_be_too_few(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_browser, "processors", lambda: 1)
    assert "second processor" in advice(Promptness.REAL_TIME)[0]


@pytest.mark.parametrize(("passes", "says"), [(False, "passes too little on"), (True, "stopped before its time")])
def test_a_relay_that_passes_nothing_on_or_has_stopped_is_told(
    monkeypatch: pytest.MonkeyPatch, passes: bool, says: str
) -> None:
    class Deaf:
        @asynccontextmanager
        async def link(self, server: Address, _seed: int) -> AsyncIterator[LinkInUse]:
            with udp() as nowhere:
                yield LinkInUse(server if passes else nowhere.getsockname())

    @asynccontextmanager
    async def deaf(_: Profile) -> AsyncIterator[Deaf]:
        yield Deaf()

    monkeypatch.setattr(timers, "relay_backend", deaf)
    monkeypatch.setattr(timers, "_PROBES", 2)
    monkeypatch.setattr(timers, "_ARRIVAL_LIMIT_S", 5.0 if passes else 0.01)
    check = checked("relay timers", lambda: asyncio.run(prove_relay()))
    assert not check.ok
    assert says in check.detail


def test_a_user_without_a_name_is_told_by_number(monkeypatch: pytest.MonkeyPatch) -> None:
    def unknown() -> str:
        raise KeyError("uid not found")

    monkeypatch.setattr(_browser.getpass, "getuser", unknown)
    monkeypatch.setattr(_browser.os, "getuid", lambda: 4711)
    assert "'4711 - rtprio 1'" in advice(Promptness.ORDINARY)[0]


def test_a_proof_that_takes_too_long_says_so() -> None:
    def never() -> str:
        raise TimeoutError

    check = checked("relay timers", never)
    assert (check.ok, check.detail) == (False, "it took too long")
    assert "end what else is running" in check.fix


def test_it_tells_how_many_metrics_the_load_had(monkeypatch: pytest.MonkeyPatch) -> None:
    page_load = {"metrics": {"lcp_ms": 900.0, "cls": 0.0}, "sandboxed": True, "requests": []}

    async def loaded(_site: object, _browser: Browser) -> tuple[Run, Precedence]:
        return replace(run(), page_load=page_load), Precedence(Promptness.KERNEL, Courtesy.NICE, awake=0)

    monkeypatch.setattr(_browser, "_load", loaded)
    check = next(prove_page_load(lambda: SimpleNamespace(name="agency"), Browser.CHROMIUM))  # type: ignore[arg-type,return-value]
    assert "agency with 2 metrics, LCP 900 ms" in check.detail
