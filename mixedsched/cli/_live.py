"""Options of commands that load the page of a running application."""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.text import Text

from mixedsched.cli._console import out, say_remark
from mixedsched.errors import UsageError
from mixedsched.lab.live import live_view_of
from mixedsched.lab.plan import refuse_not_live
from mixedsched.lab.results import DATABASE_NAME
from mixedsched.report.compare import live_lines
from mixedsched.sites.application import LiveOptions, open_watched
from mixedsched.sites.elsewhere import is_address
from mixedsched.sites.site import Origins, Site
from mixedsched.units import printable
from mixedsched.world.emulator.backend import RELAY

_option = partial(typer.Option, rich_help_panel="A live page")

LiveOption = Annotated[
    bool,
    _option(
        "--live",
        help="SITE is the address of an application that runs on this machine; each arm is measured through an edge in front "
        "of it.",
    ),
]
LiveRulesOption = Annotated[
    Path | None,
    _option(
        help="Priorities by path, such as the headers.txt that `tune` ships. A single scheme is compared without and with "
        "them; several schemes all use them.",
        metavar="FILE",
    ),
]
LiveCaOption = Annotated[
    Path | None, _option(help="Certificate authority to trust for an https application.", metavar="FILE")
]
LiveInsecureOption = Annotated[bool, _option("--origin-insecure", help="Trust any https application.")]


def live_options(
    live: bool, rules: Path | None, ca: Path | None, *, insecure: bool, fresh: bool = False, fetch: bool = False
) -> LiveOptions | None:
    """What was asked for; None without --live. fresh, fetch: whether these were given, which do not fit. Raises UsageError."""
    given = {"--rules": rules is not None, "--origin-ca": ca is not None, "--origin-insecure": insecure}
    if not live:
        if useless := [name for name, is_given in given.items() if is_given]:
            raise UsageError(f"{', '.join(useless)} goes with --live only", fix="add --live, or leave it out")
        return None
    for name, is_given in (("--fresh", fresh), ("--fetch", fetch)):
        if is_given:
            raise UsageError(
                f"{name} is not possible with --live", why="a live page is not recorded", fix="leave it out"
            )
    return LiveOptions(rules, ca, not insecure)


def require_live(sites: Sequence[str]) -> None:
    """Raises UsageError unless it is one address."""
    if len(sites) != 1 or not is_address(sites[0]):
        raise UsageError(
            "--live is for one page of an application", fix="give its address, such as http://localhost:3000"
        )


def open_live(options: LiveOptions, *, fresh: bool) -> Callable[[str, Origins | None], Site]:
    """Opens a live page with what was seen of it, for commands that also simulate; as `open_site`."""

    def opened(name: str, origins: Origins | None) -> Site:
        refuse_not_live(name, RELAY, origins)
        return open_watched(name, options, say_remark, fresh=fresh)

    return opened


def live_facts(site: Site | None, folder: Path) -> dict[str, Any]:
    """What the stored loads of a live page did not repeat, for JSON; nothing for other sites."""
    if site is None or site.application is None or not (folder / DATABASE_NAME).is_file():
        return {}
    return {"live": {**site.application.facts(site.url), **live_view_of(folder, site.url).to_dict()}}


def live_words_of(site: Site | None, folder: Path) -> list[str]:
    """The same as sentences."""
    return live_lines(live_view_of(folder, site.url)) if site is not None and live_facts(site, folder) else []


def say_live(site: Site | None, folder: Path) -> None:
    for line in live_words_of(site, folder):
        out.print(Text(printable(line)), soft_wrap=True)


def live_words(facts: Mapping[str, Any]) -> list[str]:
    """The options that say so, of an experiment's facts."""
    words = ["--live"] if facts else []
    for key, option in (("rules", "--rules"), ("origin_ca", "--origin-ca")):
        words += [option, str(facts[key])] if key in facts else []
    return words + (["--origin-insecure"] if facts.get("origin_insecure") else [])
