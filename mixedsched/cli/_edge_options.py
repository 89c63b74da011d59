"""Options of `edge` by their panel, and which of them go together."""

from pathlib import Path
from typing import Any

import typer

from mixedsched.errors import UsageError


def origin_option(help_text: str, **arguments: Any) -> Any:
    return typer.Option(help=help_text, rich_help_panel="Origin", **arguments)


def network_option(help_text: str, *names: str, **arguments: Any) -> Any:
    return typer.Option(*names, help=help_text, rich_help_panel="Network", **arguments)


def limit_option(help_text: str, **arguments: Any) -> Any:
    return typer.Option(help=help_text, rich_help_panel="Limits", **arguments)


def log_option(help_text: str, **arguments: Any) -> Any:
    return typer.Option(help=help_text, rich_help_panel="Logs", **arguments)


def check_together(workers: int, spool: Path | None, health_path: str | None, *, across_connections: bool) -> None:
    """Raises UsageError for what does not go together, or is not there."""
    if workers > 1 and across_connections:
        raise UsageError(
            "--across-connections is not possible with several --workers",
            why="each of them knows of its own connections only",
            fix="leave out one of the two",
        )
    if spool is not None and not spool.is_dir():
        raise UsageError(f"there is no folder {spool}", fix="make it, or name another with --spool")
    if health_path is not None and not (
        health_path.startswith("/") and health_path.isascii() and health_path.isprintable()
    ):
        raise UsageError(f"'{health_path}' is no path", fix="give --health-path like /health")
