"""The command line: one file per command, imported when it is asked for, so that `serve` need not wait for statistics."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Mapping
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from mixedsched import __version__
from mixedsched.errors import MixedschedError

__all__ = ["app", "main"]

# Command -> module of this package. A module has `register(app)`, which adds its commands.
_MODULES: Mapping[str, str] = {
    "compare": "compare",
    "audit": "audit",
    "tune": "tune",
    "calibrate": "calibrate",
    "serve": "serve",
    "simulate": "simulate",
    "lab": "lab",
    "report": "report",
    "record": "record",
    "import": "import_har",
    "synth": "synth",
    "generate": "generate",
    "netlog": "netlog",
    "setup": "setup",
    "doctor": "doctor",
    "schemes": "lists",
    "mappings": "lists",
    "networks": "networks",
    "sites": "sites",
}


class _LazyCommands(TyperGroup):
    """A group whose commands are imported by name."""

    def list_commands(self, ctx: Any) -> list[str]:  # noqa: ARG002 - the same list whatever the context
        return list(_MODULES)

    def get_command(self, ctx: Any, cmd_name: str) -> Any:  # noqa: ARG002
        if cmd_name not in _MODULES:
            return None
        commands = typer.Typer()
        importlib.import_module(f"{__name__}.{_MODULES[cmd_name]}").register(commands)
        return typer.main.get_group(commands).commands[cmd_name]


app = typer.Typer(
    name="mixedsched",
    cls=_LazyCommands,
    help="HTTP/3 prioritization lab: which order of bytes gives people the best page?",
    epilog="Example: mixedsched compare agency --schemes sequential,mixed --link 4g --blocks 8",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
)


def _say_version(is_wanted: bool) -> None:
    if is_wanted:
        typer.echo(f"mixedsched {__version__}")
        raise typer.Exit


@app.callback()
def _options(
    _version: Annotated[
        bool, typer.Option("--version", callback=_say_version, is_eager=True, help="Say the version, and leave.")
    ] = False,
) -> None:
    """All other options belong to commands."""


def main() -> None:
    """Run the command line; leaves with the exit code that errors.ExitCode describes."""
    try:
        app()
    except MixedschedError as error:
        from mixedsched.cli._console import say_error  # here, because few commands end like this

        say_error(error)
        sys.exit(error.exit_code)
