"""The timer of a connection, which is put off again and again."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import pytest

from mixedsched.world.server._connections import TICK_S, LazyTimer

NOW_S = 100.0


class Loop:
    """Stands for the event loop, whose clock counts in milliseconds; notes for how long it is asked to wait."""

    def __init__(self) -> None:
        self.delays_s: list[float] = []

    def call_later(self, delay_s: float, call: Callable[[], None]) -> Any:
        self.delays_s.append(delay_s)
        self.call = call
        return self

    def cancel(self) -> None:
        pass


@pytest.fixture
def loop(monkeypatch: pytest.MonkeyPatch) -> Loop:
    found = Loop()
    monkeypatch.setattr("asyncio.get_running_loop", lambda: found)
    monkeypatch.setattr(time, "monotonic", lambda: NOW_S)
    return found


@pytest.mark.parametrize(
    ("due_s", "delay_s"),
    [(NOW_S - 1, 0.0), (NOW_S, 0.0), (NOW_S + 0.0004, TICK_S), (NOW_S + 0.5, 0.5)],
    ids=["over", "now", "less than a tick ahead", "later"],
)
def test_what_is_still_to_come_takes_at_least_a_tick(loop: Loop, due_s: float, delay_s: float) -> None:
    """Less would be no wait: the loop would call, and be asked again, dozens of times until it is due."""
    LazyTimer(lambda _: None).arm(due_s)
    assert loop.delays_s == [pytest.approx(delay_s)]


def test_a_timer_that_is_put_off_is_not_set_anew_until_it_fires(loop: Loop) -> None:
    called: list[float] = []
    timer = LazyTimer(called.append)
    timer.arm(NOW_S + 0.1)
    timer.arm(NOW_S + 0.2)
    assert loop.delays_s == [pytest.approx(0.1)]
    loop.call()  # at NOW_S: too early
    assert loop.delays_s == [pytest.approx(0.1), pytest.approx(0.2)]
    assert called == []


def test_a_call_comes_with_the_time_that_was_asked_for_though_the_clock_is_a_little_behind(loop: Loop) -> None:
    called: list[float] = []
    LazyTimer(called.append).arm(NOW_S + 0.0004)
    loop.call()
    assert called == [NOW_S + 0.0004]
