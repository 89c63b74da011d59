"""`doctor`: checks that the whole chain works here, or that people reach HTTP/3 somewhere, and says how to mend it."""

import datetime as dt
from collections.abc import Iterable
from pathlib import Path
from typing import Annotated

import typer

from mixedsched.cli._console import err, out, shown
from mixedsched.cli._interrupts import end_in_order
from mixedsched.cli._options import BrowserOption
from mixedsched.cli._output import Json, say_json
from mixedsched.cli._sites import open_site
from mixedsched.errors import ExitCode, UsageError
from mixedsched.lab.doctor import Check, examine, examine_edge
from mixedsched.sites.opening import recipes
from mixedsched.world.browser.kinds import Browser

SITE = "davies-meenan"  # generated, so that the doctor needs no package of others


Edge = Annotated[
    str | None,
    typer.Option(
        "--edge", metavar="URL", help="Check instead that browsers discover and reach HTTP/3 at this address."
    ),
]
Trusted = Annotated[
    Path | None,
    typer.Option(
        "--cert",
        metavar="FILE",
        exists=True,
        dir_okay=False,
        help="With --edge: certificates (PEM) to trust instead of the system's.",
    ),
]


def register(app: typer.Typer) -> None:
    app.command(epilog="Examples: mixedsched doctor --json\n\nmixedsched doctor --edge https://example.org/")(doctor)


def doctor(
    edge: Edge = None, trusted: Trusted = None, browser: BrowserOption = Browser.CHROMIUM, as_json: Json = False
) -> None:
    """Check that pages can be measured here: ports, timers, networks, browser, and a page load with its punctuality.

    With --edge: that an address resolves, answers over TCP, announces HTTP/3, and answers over it with a trusted certificate.
    """
    end_in_order()
    if edge is not None:
        _tell(examine_edge(edge, trusted, dt.datetime.now(dt.UTC)), as_json)
        return
    if trusted is not None:
        raise UsageError("--cert is for --edge", fix="add --edge, or leave it out")
    _tell(examine(lambda: open_site(SITE), [recipe.name for recipe in recipes()], browser), as_json)


def _tell(proofs: Iterable[Check], as_json: bool) -> None:
    """Shows each check as it is made; exits with a code other than 0 where one failed that is needed."""
    checks: list[Check] = []
    for check in proofs:
        checks.append(check)
        if not as_json:
            _print(check)
    failed = [check for check in checks if not check.ok and not check.is_optional]
    is_missing = any(check.is_missing_part for check in failed)
    if as_json:
        say_json({"ok": not failed, "checks": [check.to_dict() for check in checks]}, indent=2)
    elif failed:
        err.print(f"[bold red]{'some parts are missing' if is_missing else 'not everything works'}[/]")
    else:
        err.print("everything is in place")
    if failed:
        raise typer.Exit(ExitCode.MISSING_PART if is_missing else ExitCode.FAILED)


def _print(check: Check) -> None:
    bad = "[yellow]no  [/]" if check.is_optional else "[bold red]FAIL[/]"
    mark = "[bold green]ok  [/]" if check.ok else bad
    out.print(f"{mark} {check.name:22} {shown(check.detail)}", soft_wrap=True)
    if not check.ok and check.fix:
        out.print(f"     {'':22} fix: {shown(check.fix)}", soft_wrap=True)
    for advice in check.advice:
        out.print(f"     {'':22} better: {shown(advice)}", soft_wrap=True)
