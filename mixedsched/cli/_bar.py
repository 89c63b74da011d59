"""The bar of progress that counts: what is under way, how many are done, the time left."""

from __future__ import annotations

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

from mixedsched.units import format_duration


def counted_bar(console: Console) -> Progress:
    """A bar whose tasks have the field `left`, a text; drawn on terminals only, and gone at its end."""
    return Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("{task.fields[left]}"),
        console=console,
        transient=True,
        disable=not console.is_terminal,
    )


def time_left(spent_s: float, done: int, left: int) -> str:
    """In words, if the rest goes on as it went so far; "" where nothing is done yet, or nothing left."""
    return f"{format_duration(spent_s / done * left)} left" if done and left else ""
