"""What commands say to people: names from files, pages and other machines do nothing to the terminal."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from rich.console import Console

from mixedsched.cli import _console

HOSTILE = "a\x1b]0;owned\x07 [bold red]b[/] \r\x9b2J"
SHOWN = r"a\x1b]0;owned\x07 [bold red]b[/] \x0d\x9b2J"


@pytest.mark.parametrize(
    "say",
    [
        _console.say_remark,
        _console.say_step,
        lambda text: _console.say_written("picture", Path(text)),
        lambda text: _console.say_report(Path(text)),
        lambda text: _console.say_stopped(Path(text)),
    ],
)
def test_control_characters_and_markup_are_shown_and_do_nothing(
    say: Callable[[str], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    console = Console(force_terminal=True, color_system=None, width=200, record=True, highlight=False)
    monkeypatch.setattr(_console, "err", console)
    monkeypatch.setattr(_console, "out", console)
    with console.capture() as captured:
        say(HOSTILE)
    assert SHOWN in captured.get()
    assert not {"\x1b", "\x07", "\r", "\x9b"} & set(captured.get())


def test_a_remark_may_have_several_lines(monkeypatch: pytest.MonkeyPatch) -> None:
    console = Console(width=200, highlight=False)
    monkeypatch.setattr(_console, "err", console)
    with console.capture() as captured:
        _console.say_remark("one\ntwo")
    assert captured.get() == "one\ntwo\n"
