"""`sites check`: whether a site is fit to be measured."""

from collections.abc import Sequence
from typing import Annotated, Any

import typer
from rich.text import Text

from mixedsched.cli._console import out
from mixedsched.cli._fidelity import load_in_chromium, say_fidelity
from mixedsched.cli._options import Screen
from mixedsched.cli._output import Json, say_json
from mixedsched.cli._sites import open_site
from mixedsched.errors import ExitCode, SiteError
from mixedsched.report.svg import shortened
from mixedsched.sites.analysis.check import Severity, SiteFinding, check_site
from mixedsched.sites.analysis.connections import expected_connections
from mixedsched.sites.opening import folder_of
from mixedsched.sites.site import Origins, Site, built_problems
from mixedsched.units import counted, format_bytes, printable

_STYLES = {Severity.ERROR: "bold red", Severity.WARNING: "yellow"}
_MOST_SHOWN = 20  # findings of a check
_LONGEST_ADDRESS = 140  # characters


def check(
    site: Annotated[str, typer.Argument(help="A site.", metavar="SITE")],
    everything: Annotated[
        bool, typer.Option("--all", help="Show every finding, however many there are of a kind.")
    ] = False,
    browser: Annotated[
        bool,
        typer.Option(
            "--browser", help="Load it in Chromium too, and list where it behaves differently from the manifest."
        ),
    ] = False,
    form_factor: Annotated[Screen, typer.Option(help="Device that --browser loads it as.")] = Screen.MOBILE,
    as_json: Json = False,
) -> None:
    """Check a site: its files and sizes, its graph, encodings, types, references, licence and hosts.

    Exit code 3 if there are errors, 5 if Chromium does not do what the manifest lists: fewer than 95 % of the resources
    with their kind and priority, an order that correlates by less than 0.9, or a size that is off. Warnings are for you to
    judge.
    """
    folder = folder_of(site)
    found = [_refusal(error) for error in built_problems(folder)] if folder is not None else []
    opened = None
    if not found:
        try:
            opened = open_site(site, Origins.KEEP)
            found = check_site(opened)
        except SiteError as error:
            if folder is None:
                raise  # there is no such site
            found = [_refusal(error)]
    is_sound = not any(finding.level is Severity.ERROR for finding in found)
    if not as_json:
        _print(site, opened, found, None if everything else _MOST_SHOWN)
    # What `serve` serves: hosts are merged where the site wants that.
    fidelity = load_in_chromium(open_site(site), form_factor) if browser and is_sound else None
    if as_json:
        loaded = {"browser": fidelity.to_dict() if fidelity is not None else None} if browser else {}
        say_json({**_facts(site, opened, found), **loaded}, indent=2)
    elif fidelity is not None:
        say_fidelity(fidelity)
    if not is_sound:
        raise typer.Exit(ExitCode.BAD_INPUT)
    if fidelity is not None and not fidelity.is_good:
        raise typer.Exit(ExitCode.INVALID_RUNS)


def _refusal(error: SiteError) -> SiteFinding:
    return SiteFinding(Severity.ERROR, "files", "", str(error))


def _facts(name: str, site: Site | None, found: Sequence[SiteFinding]) -> dict[str, Any]:
    counts = {level.value: sum(finding.level is level for finding in found) for level in Severity}
    facts = {"site": name, "errors": counts["error"], "warnings": counts["warning"]}
    if site is not None:
        facts |= {
            "name": site.name,
            "hosts": list(site.hosts),
            "files": len(site.files) + len(site.variants),
            "resources": len(site.page.resources),
            "body_bytes": sum(item.body_bytes for item in site.page.resources),
            "licence": site.licence,
            "replay": site.replay,
            "connections": expected_connections(site).count,
            "connections_explanation": expected_connections(site).explanation,
        }
    return {**facts, "findings": [finding.to_dict() for finding in found]}


def _print(name: str, site: Site | None, found: Sequence[SiteFinding], most: int | None) -> None:
    out.print(Text(printable(site.name if site is not None else name), style="bold cyan"))
    if site is not None:
        size_bytes = sum(item.body_bytes for item in site.page.resources)
        files = len(site.files) + len(site.variants)
        resources = counted(len(site.page.resources), "resource")
        out.print(f"    {resources}, {format_bytes(size_bytes)}; addresses that are answered: {files}")
        _line("hosts", ", ".join(site.hosts))
        _line("connections", str(expected_connections(site)))
        _line("licence", site.licence or "none named")
    shown: dict[tuple[Severity, str], int] = {}
    for finding in found:
        sort = finding.level, finding.check
        shown[sort] = shown.get(sort, 0) + 1
        if most is None or shown[sort] <= most:
            where = f"{printable(shortened(finding.where, _LONGEST_ADDRESS))}: " if finding.where else ""
            words = Text.assemble(
                (f"{finding.level.value}: ", _STYLES[finding.level]), f"{where}{printable(finding.what)}"
            )
            out.print(words, soft_wrap=True)
    for (level, of_check), count in shown.items():
        if most is not None and count > most:
            out.print(Text(f"{level.value}: and {count - most} more about {of_check} (--all)", style="dim"))
    errors = sum(finding.level is Severity.ERROR for finding in found)
    out.print(f"{counted(errors, 'error')}, {counted(len(found) - errors, 'warning')}")


def _line(label: str, text: str) -> None:
    out.print(Text.assemble((f"    {label}: ", "dim"), printable(text)), soft_wrap=True)
