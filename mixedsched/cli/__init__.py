"""The command line: one file per command, every one of them a function that the app finds by its module."""

from __future__ import annotations

import sys

import typer

from mixedsched.cli import compare, doctor, lists, report, serve
from mixedsched.cli._output import say_error
from mixedsched.errors import MixedschedError

__all__ = ["app", "main"]

app = typer.Typer(
    name="mixedsched",
    help="HTTP/3 prioritization lab: which order of bytes gives people the best page?",
    epilog="Example: mixedsched compare agency --schemes sequential,mixed --link 4g --blocks 8",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
)
for command in (compare, doctor, lists, report, serve):
    command.register(app)


def main() -> None:
    """Run the command line; leaves with the exit code that errors.ExitCode describes."""
    try:
        app()
    except MixedschedError as error:
        say_error(error)
        sys.exit(error.exit_code)
