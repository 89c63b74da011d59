"""Options of `edge` about its origin."""

from pathlib import Path
from typing import Any

import typer

from mixedsched.core.h3.forwarding import host_of, is_target
from mixedsched.errors import UsageError
from mixedsched.world.edge.settings import OriginLimits
from mixedsched.world.server.settings import parse_limit_s


def origin_option(help_text: str, **arguments: Any) -> Any:
    return typer.Option(help=help_text, rich_help_panel="Origin", **arguments)


def check_origin(spool: Path | None, origin_host: str | None) -> None:
    """Raises UsageError for a folder that is not there, or what is not a host."""
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
