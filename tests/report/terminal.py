"""What people see in a terminal."""

from __future__ import annotations

from rich.console import Console, RenderableType


def printed(what: RenderableType, width: int) -> str:
    console = Console(width=width, force_terminal=False)
    with console.capture() as captured:
        console.print(what)
    return captured.get()
