"""Options of commands that load the page of a running application."""

from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import typer

from mixedsched.errors import UsageError
from mixedsched.sites.application import LiveOptions

_option = partial(typer.Option, rich_help_panel="A live page")

LiveOption = Annotated[
    bool,
    _option(
        "--live",
        help="SITE is the address of an application that runs on this machine: every arm is an edge before it, and nothing is "
        "recorded.",
    ),
]
LiveRulesOption = Annotated[
    Path | None,
    _option(
        help="Priorities by path, such as `tune` ships as headers.txt. One scheme is compared without and with them; "
        "of several, all get them.",
        metavar="FILE",
    ),
]
LiveCaOption = Annotated[Path | None, _option(help="Trust this authority about an https application.", metavar="FILE")]
LiveInsecureOption = Annotated[bool, _option("--origin-insecure", help="Trust any https application.")]


def live_options(
    live: bool, rules: Path | None, ca: Path | None, *, insecure: bool, brings: bool
) -> LiveOptions | None:
    """What was asked for; None without --live. brings: whether --fresh or --fetch were given. Raises UsageError."""
    given = {"--rules": rules is not None, "--origin-ca": ca is not None, "--origin-insecure": insecure}
    if not live:
        if useless := [name for name, is_given in given.items() if is_given]:
            raise UsageError(f"{', '.join(useless)} goes with --live only", fix="add --live, or leave it out")
        return None
    if brings:
        raise UsageError(
            "--fresh and --fetch are not possible with --live", why="a live page is not kept", fix="leave them out"
        )
    return LiveOptions(rules, ca, not insecure)


def live_words(facts: Mapping[str, Any]) -> list[str]:
    """The options that say so, of an experiment's facts."""
    words = ["--live"] if facts else []
    for key, option in (("rules", "--rules"), ("origin_ca", "--origin-ca")):
        words += [option, str(facts[key])] if key in facts else []
    return words + (["--origin-insecure"] if facts.get("origin_insecure") else [])
