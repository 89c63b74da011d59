"""`synth`: makes a site from a page description, and checks that Chromium does what the description says."""

from dataclasses import asdict
from typing import Annotated, Any

import typer

from mixedsched.cli._console import out, shown
from mixedsched.cli._fidelity import load_in_chromium, say_fidelity, say_rows
from mixedsched.cli._options import Screen
from mixedsched.cli._output import Json, say_json
from mixedsched.cli._progress import Progress
from mixedsched.cli._record_output import Name, Out, Replace, recording_folder
from mixedsched.errors import ExitCode, UsageError
from mixedsched.lab.fidelity import Fidelity
from mixedsched.model.page import Page
from mixedsched.sites.opening import load_site
from mixedsched.sites.pages import read_pages
from mixedsched.sites.recorded.writing import check_target
from mixedsched.sites.site import site_name_of
from mixedsched.sites.synth import Synthesis, synthesise
from mixedsched.units import counted, format_bytes, printable


def register(app: typer.Typer) -> None:
    app.command(epilog="Example: mixedsched synth shop.json --check")(synth)


def synth(
    page: Annotated[
        str,
        typer.Argument(help="A page description (mixedsched.page/1), a site, or - for standard input.", metavar="PAGE"),
    ],
    name: Name = None,
    out_folder: Out = None,
    check: Annotated[
        bool, typer.Option("--check", help="Load the site in Chromium, and list each deviation from the description.")
    ] = False,
    form_factor: Annotated[Screen, typer.Option(help="Device to emulate for --check.")] = Screen.MOBILE,
    replace: Replace = False,
    as_json: Json = False,
) -> None:
    """Make a site from a page description: HTML, CSS, scripts, fonts and images of exactly its sizes.

    They make Chromium find, prioritize and show what the description lists. What Chromium cannot do is listed. With
    --check, exit code 5 says that fewer than 95 % of the resources have their kind and priority, that the order of
    requests correlates by less than 0.9, or that a size is off.
    """
    wanted = _one_page(page)
    site_name = name if name is not None else site_name_of(wanted.name)
    target = recording_folder(site_name, out_folder)
    check_target(target, replace=replace)
    with Progress("making files") as progress:
        made = synthesise(wanted, target, name=site_name, progress=progress.tell)
    if not as_json:
        _say_made(made)
    fidelity = load_in_chromium(load_site(made.target), form_factor) if check else None
    if as_json:
        say_json(_facts(made, fidelity), indent=2)
    elif fidelity is not None:
        say_fidelity(fidelity)
    if fidelity is not None and not fidelity.is_good:
        raise typer.Exit(ExitCode.INVALID_RUNS)


def _one_page(name: str) -> Page:
    pages = read_pages([name])
    if len(pages) != 1:
        raise UsageError(f"'{printable(name)}' contains {len(pages)} pages", fix="name one of them")
    return pages[0]


def _facts(made: Synthesis, fidelity: Fidelity | None) -> dict[str, Any]:
    return {
        "site": made.name,
        "folder": str(made.target),
        "hosts": list(made.hosts),
        "resources": made.resource_count,
        "body_bytes": made.body_bytes,
        "deviations": [asdict(one) for one in made.deviations],
        "check": fidelity.to_dict() if fidelity is not None else None,
    }


def _say_made(made: Synthesis) -> None:
    out.print(
        f"[bold cyan]{shown(made.name)}[/]  {counted(made.resource_count, 'resource')} of {format_bytes(made.body_bytes)}"
        f" on {counted(len(made.hosts), 'host')} in {shown(str(made.target))}",
        soft_wrap=True,
    )
    if made.deviations:
        out.print("\n[bold]differs by construction[/]")
        rows = ((one.id, one.what, one.wanted, one.made, one.reason) for one in made.deviations)
        say_rows(("resource", "what", "description", "site", "reason"), rows)
