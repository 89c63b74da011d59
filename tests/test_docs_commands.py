"""Command lines in the documentation name options that their commands have."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import chain
from typing import Any

from typer.main import get_command

from mixedsched.cli import COMMANDS, app
from tests.command import HOME

PAGES = ("*.md", "docs/**/*.md", "docs/*.yml", "results/**/*.md", "vm/*/*.md", "examples/*/*")
_COMMAND_LINE = re.compile(r"\bmixedsched ([a-z][^`|\n]*)")
_OPTION = re.compile(r"--[a-z][a-z0-9-]*")
_QUOTED = re.compile(r"\"[^\"\n]*\"|'[^'\n]*'")
_REST = re.compile(r"  #| -- ")  # a remark, or the command that `lab run` runs


def options_by_command() -> dict[tuple[str, ...], set[str]]:
    """All options, by the words of a command, such as ("study", "run")."""
    group: Any = get_command(app)
    context = group.make_context("mixedsched", ["compare"])
    found = {}
    for name in COMMANDS:
        command = group.get_command(context, name)
        inner = {(name, word): item for word, item in getattr(command, "commands", {}).items()}
        for words, item in ({(name,): command} | inner).items():
            found[words] = {"--help"}.union(*(option.opts + option.secondary_opts for option in item.params))
    return found


def command_lines() -> Iterator[tuple[str, list[str]]]:
    """The page, and the words behind `mixedsched`."""
    for path in chain.from_iterable(HOME.glob(pattern) for pattern in PAGES):
        text = path.read_text(encoding="utf-8").replace("\\\n", " ")
        for match in _COMMAND_LINE.finditer(text):
            yield path.name, _REST.split(_QUOTED.sub("", match.group(1)))[0].split()


def test_each_option_of_a_command_line_exists() -> None:
    options, missing, seen = options_by_command(), [], 0
    for page, words in command_lines():
        command = tuple(words[:2]) if tuple(words[:2]) in options else tuple(words[:1])
        if command in options:
            seen += 1
            asked = [match.group() for word in words if (match := _OPTION.match(word))]
            missing += [(page, " ".join(command), option) for option in asked if option not in options[command]]
    assert missing == []
    assert seen > 150, "most pages have some"
