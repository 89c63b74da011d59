"""`import`: makes a site from an HTTP Archive that a browser or a tool has saved."""

from dataclasses import replace as changed
from pathlib import Path
from typing import Annotated

import typer

from mixedsched.cli._console import err, shown
from mixedsched.cli._output import Json
from mixedsched.cli._progress import Progress
from mixedsched.cli._record_output import Licence, Name, Out, Replace, recording_folder, say_recording
from mixedsched.sites.har import HarPage, import_page, page_called, pages_of, read_har
from mixedsched.sites.recorded.names import site_name_of_url
from mixedsched.sites.recorded.records import RecordingFacts
from mixedsched.sites.recorded.writing import check_target

_LISTED_PAGES_MAX = 10


def register(app: typer.Typer) -> None:
    app.command("import", epilog="Example: mixedsched import shop.har --name shop")(import_har)


def import_har(
    file: Annotated[
        Path, typer.Argument(help="The HAR; it may be compressed as a whole (.har.gz).", metavar="FILE.har")
    ],
    name: Name = None,
    out: Out = None,
    page: Annotated[
        str | None, typer.Option("--page", help="Which page of the HAR, by id or number from 1.", metavar="ID|N")
    ] = None,
    licence: Licence = "",
    replace: Replace = False,
    as_json: Json = False,
) -> None:
    """Make a site from a HAR, for every rung: files, what discovers what and when, priorities.

    Reads HARs of Chrome, Firefox, sitespeed.io, WebPageTest and mitmproxy. Bodies that are not in the HAR are synthesised at
    their sizes; priorities and initiators that it lacks are inferred. What could not be kept is listed, with the reason.
    """
    if name is not None:  # refused before a large file is read
        check_target(recording_folder(name, out), replace=replace)
    log = read_har(file)
    pages = pages_of(log)
    chosen = page_called(pages, page)
    if page is None and len(pages) > 1:
        _say_pages(pages)

    def named(facts: RecordingFacts) -> tuple[Path, RecordingFacts]:
        site_name = name if name is not None else site_name_of_url(facts.url)
        target = recording_folder(site_name, out)
        check_target(target, replace=replace)
        record = {**facts.record, "har": file.name.encode("utf-8", "replace").decode()}
        return target, changed(facts, name=site_name, licence=licence, record=record)

    with Progress("making bodies") as progress:
        summary = import_page(log, chosen, named, progress.tell, replace=replace)
    say_recording(summary, as_json)


def _say_pages(pages: list[HarPage]) -> None:
    """List the pages that --page can choose."""
    err.print(f"[yellow]the HAR has {len(pages)} pages; this is the first of them (--page chooses):[/]")
    for item in pages[:_LISTED_PAGES_MAX]:
        err.print(
            f"    {item.number}: {shown(item.id)}  {shown(item.title)}, entries: {len(item.entries)}", soft_wrap=True
        )
    if len(pages) > _LISTED_PAGES_MAX:
        err.print(f"    and {len(pages) - _LISTED_PAGES_MAX} more")
