"""`doctor`: proves that the whole chain can run here, and says how to mend what cannot."""

import typer
from rich.markup import escape

from mixedsched.cli._console import err, out
from mixedsched.cli._output import Json, say_json
from mixedsched.cli._sites import open_site
from mixedsched.errors import ExitCode
from mixedsched.lab.doctor import Check, examine
from mixedsched.sites.opening import recipes

SITE = "davies-meenan"  # generated, so that the doctor needs no package of others


def register(app: typer.Typer) -> None:
    app.command(epilog="Example: mixedsched doctor --json")(doctor)


def doctor(as_json: Json = False) -> None:
    """Prove that pages can be measured here: ports, timers, networks, browser, and a page load with its punctuality."""
    checks: list[Check] = []
    for check in examine(lambda: open_site(SITE), [recipe.name for recipe in recipes()]):
        checks.append(check)
        if not as_json:
            _print(check)
    ok = all(check.ok or check.is_optional for check in checks)
    if as_json:
        say_json({"ok": ok, "checks": [check.to_dict() for check in checks]}, indent=2)
    else:
        err.print("everything is in place" if ok else "[bold red]some parts are missing[/]")
    if not ok:
        missing = any(check.is_missing_part for check in checks if not check.ok and not check.is_optional)
        raise typer.Exit(ExitCode.MISSING_PART if missing else ExitCode.FAILED)


def _print(check: Check) -> None:
    bad = "[yellow]no  [/]" if check.is_optional else "[bold red]FAIL[/]"
    mark = "[bold green]ok  [/]" if check.ok else bad
    out.print(f"{mark} {check.name:22} {escape(check.detail)}", soft_wrap=True)
    if not check.ok and check.fix:
        out.print(f"     {'':22} fix: {escape(check.fix)}", soft_wrap=True)
    for advice in check.advice:
        out.print(f"     {'':22} better: {escape(advice)}", soft_wrap=True)
