"""Options of `edge` by their panel, and which of them go together."""

from pathlib import Path
from typing import Any

import typer

from mixedsched.core.h3.forwarding import host_of, is_target
from mixedsched.errors import UsageError
from mixedsched.world.edge.settings import OriginLimits
from mixedsched.world.server.settings import parse_limit_s


def origin_option(help_text: str, **arguments: Any) -> Any:
    return typer.Option(help=help_text, rich_help_panel="Origin", **arguments)


def network_option(help_text: str, *names: str, **arguments: Any) -> Any:
    return typer.Option(*names, help=help_text, rich_help_panel="Network", **arguments)


def limit_option(help_text: str, **arguments: Any) -> Any:
    return typer.Option(help=help_text, rich_help_panel="Limits", **arguments)


def log_option(help_text: str, **arguments: Any) -> Any:
    return typer.Option(help=help_text, rich_help_panel="Logs", **arguments)


def check_together(workers: int, spool: Path | None, origin_host: str | None, *, across_connections: bool) -> None:
    """Raises UsageError for what does not go together, is not there, or is no host."""
    if workers > 1 and across_connections:
        raise UsageError(
            "--across-connections is not possible with several --workers",
            why="each process knows only its own connections",
            fix="leave out one of the two",
        )
    if spool is not None and not spool.is_dir():
        raise UsageError(f"there is no folder {spool}", fix="make it, or name another with --spool")
    if origin_host is not None and host_of(origin_host) is None:
        fix = "give --origin-host like shop.example or shop.example:8080, in other alphabets its form with xn--"
        raise UsageError(f"'{origin_host}' is not a host", fix=fix)


def origin_limits(connections: int, connect: str, answer: str, silence: str, health_path: str | None) -> OriginLimits:
    """connect, answer, silence: the values of --connect-timeout and so on. Raises UsageError."""
    if health_path is not None and not is_target(health_path):
        fix = "give --health-path like /health, with %20 for a space and the like"
        raise UsageError(f"'{health_path}' is not a path", fix=fix)
    return OriginLimits(
        connections,
        parse_limit_s(connect, "--connect-timeout"),
        parse_limit_s(answer, "--answer-timeout"),
        parse_limit_s(silence, "--silence-timeout"),
        health_path=health_path,
    )
