"""`tune --server`: for the server that one has."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from mixedsched.advice.changes.own_server import KeptServer, own_server
from mixedsched.advice.tuner.job import BROWSER, PIPE, TABLES
from mixedsched.errors import UsageError
from mixedsched.sites.pages import INDEX_NAME, MANIFEST_NAME

ServerOption = Annotated[
    str | None,
    typer.Option(
        "--server",
        help="Your web server, which stays as it is: nginx, caddy, h2o, apache, litespeed, cloudflare or other. Only what "
        "takes effect there is searched, proposed and proved: lines of HTML, headers where they are merged, settings.",
        metavar="NAME",
    ),
]


def tuned_server(
    name: str | None, schemes: str | None, space: str, rung: str | None, sites: Sequence[str]
) -> KeptServer | None:
    """The server, and what is on this machine of it; None where none is named.

    Raises UsageError for an unknown one, and for what contradicts it.
    """
    if name is None:
        return None
    found = own_server(name)
    if schemes is not None:
        raise UsageError(
            f"--server {name} and --schemes contradict each other",
            why=f"{found.title} has its own order, simulated as {found.model}: there is no scheme to choose",
            fix="leave one of them out",
        )
    if space != TABLES:
        raise UsageError(
            f"--space {space} is not for --server",
            why="it learns an order for our own server",
            fix="leave one of them out",
        )
    if rung == PIPE:
        raise UsageError(
            "--server cannot be simulated on rung pipe",
            why="it has neither the browser's late updates nor acknowledgements",
            fix="choose --rung stack, or browser",
        )
    if len(sites) > 1 or is_of_pages(sites[0]):
        raise UsageError(
            "--server is for one page",
            why="over several, tune finds the best scheme, and your server has its own",
            fix="name one site",
        )
    return found if rung in {None, BROWSER} else replace(found, on=found.model, version="", version_words="")


def is_of_pages(site: str) -> bool:
    """Whether it is a folder of pages or sites, and not one of these."""
    folder = Path(site)
    return folder.is_dir() and not any((folder / name).is_file() for name in (INDEX_NAME, MANIFEST_NAME))
