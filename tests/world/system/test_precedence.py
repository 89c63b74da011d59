"""Who runs first on the measuring machine: relay and server before the browser, all of them in one scheduling group."""

from __future__ import annotations

import os
import platform
import subprocess
import sys

import pytest

from mixedsched.world.system import precedence
from mixedsched.world.system.precedence import (
    NICENESS,
    Courtesy,
    Promptness,
    browser_courtesy,
    kernel_release,
    words_before,
)

_TELL = (
    "import os; print(os.getpgid(0) == os.getpid(), os.getsid(0), os.nice(0), "
    "getattr(os, 'sched_getscheduler', lambda _: 0)(0))"
)


def told_by(courtesy: Courtesy) -> tuple[bool, int, int, int]:
    """Of a command behind these words: whether it leads a process group, its session, its niceness, its policy."""
    done = subprocess.run(
        [*words_before(courtesy), sys.executable, "-c", _TELL], capture_output=True, text=True, check=True
    )
    leads, session, niceness, policy = done.stdout.split()
    return leads == "True", int(session), int(niceness), int(policy)


@pytest.mark.parametrize("courtesy", list(Courtesy))
def test_a_program_apart_has_a_process_group_of_its_own_in_our_session(courtesy: Courtesy) -> None:
    leads, session, _, _ = told_by(courtesy)
    assert leads
    assert session == os.getsid(0)


def test_without_courtesy_nothing_else_changes() -> None:
    assert told_by(Courtesy.NONE)[2:] == (os.nice(0), getattr(os, "sched_getscheduler", lambda _: 0)(0))


def test_niceness_is_absolute_so_that_what_gives_way_can_start_others_that_do() -> None:
    twice = [*words_before(Courtesy.NICE), *words_before(Courtesy.NICE), sys.executable, "-c", _TELL]
    done = subprocess.run(twice, capture_output=True, text=True, check=True)
    assert int(done.stdout.split()[2]) == max(NICENESS, os.nice(0))


def test_who_gives_way_cannot_take_it_back_not_even_as_root() -> None:
    retake = "import os\ntry: os.nice(-5)\nexcept PermissionError: print('refused')"
    command = [*words_before(Courtesy.NICE), sys.executable, "-c", retake]
    assert subprocess.run(command, capture_output=True, text=True, check=True).stdout == "refused\n"


@pytest.mark.skipif(not hasattr(os, "SCHED_IDLE"), reason="this system has no SCHED_IDLE")
def test_idle_courtesy_is_the_policy_that_gives_way_to_all_others() -> None:
    assert told_by(Courtesy.IDLE)[3] == os.SCHED_IDLE


@pytest.mark.parametrize(
    ("network", "release", "expected"),
    [
        (Promptness.SHORT_SLICES, (6, 12), Courtesy.NICE),
        (Promptness.ORDINARY, (6, 1), Courtesy.NICE),
        (Promptness.ORDINARY, (6, 6), Courtesy.IDLE),
        (Promptness.ORDINARY, (6, 11), Courtesy.IDLE),
        (Promptness.REAL_TIME, (6, 8), Courtesy.NICE),
        (Promptness.KERNEL, (6, 18), Courtesy.NICE),
        (Promptness.ORDINARY, None, Courtesy.NICE),
    ],
)
def test_the_browser_is_idle_only_where_a_kernel_lets_nice_programs_finish_their_slice(
    network: Promptness, release: tuple[int, int] | None, expected: Courtesy
) -> None:
    assert browser_courtesy(network, release) is expected


@pytest.mark.parametrize(
    ("text", "expected"), [("6.12.41+deb13-amd64", (6, 12)), ("5.15-custom", (5, 15)), ("strange", None)]
)
def test_the_kernels_release_is_read_from_its_name(
    text: str, expected: tuple[int, int] | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(platform, "release", lambda: text)
    monkeypatch.setattr(precedence.sys, "platform", "linux")
    assert kernel_release() == expected
