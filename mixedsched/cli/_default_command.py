"""A group of commands whose first word may also be something else: then one of the commands takes it."""

from pathlib import Path
from typing import Any

from typer.core import TyperGroup

from mixedsched.cli._console import say_remark

DEFAULT = "list"


class WithDefault(TyperGroup):
    """`group WORD` is `group list WORD` unless WORD is one of the commands.

    A command never hides a folder silently: if there is one of that name, a note says so, and how to name the folder.
    """

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        if args and args[0] in self.commands:
            _tell_of_folder(args[0])
        elif args != ["--help"]:
            args = [DEFAULT, *args]
        return super().parse_args(ctx, args)


def _tell_of_folder(word: str) -> None:
    if Path(word).is_dir():
        say_remark(f"note: '{word}' is the command here; the folder is ./{word}")
