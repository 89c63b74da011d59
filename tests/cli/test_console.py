"""What commands say to people: names from files, pages and other machines do nothing to the terminal."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from mixedsched.cli import _console

HOSTILE = "a\x1b]0;owned\x07 [bold red]b[/] \r\x9b2J :heart:\\"
SHOWN = r"a\x1b]0;owned\x07 [bold red]b[/] \x0d\x9b2J :heart:" + "\\"


def said(say: Callable[[], None]) -> str:
    with _console.out.capture() as results, _console.err.capture() as remarks:
        say()
    return results.get() + remarks.get()


@pytest.mark.parametrize(
    "say",
    [
        _console.say_remark,
        _console.say_step,
        lambda text: _console.say_written("picture", Path(text)),
        lambda text: _console.say_report(Path(text)),
        lambda text: _console.say_stopped(Path(text)),
        lambda text: _console.out.print(f"[bold]{_console.shown(text)}[/]", soft_wrap=True),
    ],
)
def test_control_characters_markup_and_emoji_are_shown_and_do_nothing(say: Callable[[str], None]) -> None:
    text = said(lambda: say(HOSTILE))
    assert SHOWN in text
    assert not {"\x1b", "\x07", "\r", "\x9b"} & set(text)


def test_a_remark_may_have_several_lines() -> None:
    assert said(lambda: _console.say_remark("one\ntwo")) == "one\ntwo\n"
