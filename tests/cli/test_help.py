"""`mixedsched --help`: all commands, by what people use them for, without importing any of them."""

from __future__ import annotations

import subprocess
import sys

import pytest
from rich.text import Text
from typer.main import get_command
from typer.testing import CliRunner

from mixedsched.cli import COMMANDS, app


def test_help_lists_every_command_with_its_summary_below_its_purpose() -> None:
    printed = CliRunner().invoke(app, ["--help"], env={"COLUMNS": "100"}).stdout
    for name, listed in COMMANDS.items():
        assert f"─ {listed.panel} ─" in printed
        assert f"│ {name} " in printed
        assert listed.summary in printed


def test_a_summary_fits_a_terminal_of_80_columns() -> None:
    assert max(len(listed.summary) for listed in COMMANDS.values()) <= 64


def test_every_listed_command_exists() -> None:
    for name in COMMANDS:
        ended = CliRunner().invoke(app, [name, "--help"])
        assert ended.exit_code == 0, name


@pytest.mark.parametrize("name", COMMANDS)
def test_no_word_of_a_help_text_is_taken_for_markup(name: str) -> None:
    group = get_command(app)
    command = group.get_command(group.make_context("mixedsched", [name]), name)  # type: ignore[attr-defined]
    for item in (command, *getattr(command, "commands", {}).values()):
        for text in (item.help, item.epilog, *(getattr(option, "help", None) for option in item.params)):
            assert text is None or Text.from_markup(text).plain == text


def test_help_imports_no_command() -> None:
    script = (
        "import sys\n"
        "from mixedsched.cli import app\n"
        "app(['--help'], standalone_mode=False)\n"
        "sys.exit(' '.join(sorted(name for name in sys.modules if name.startswith('mixedsched.cli.'))))\n"
    )
    ended = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    assert ended.stderr.strip() == "mixedsched.cli._stdout"
