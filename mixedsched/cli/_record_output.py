"""What `record` and `import` share: the words of their command lines, and the summary of a recording on the screen."""

import shlex
from collections.abc import Iterable
from pathlib import Path
from typing import Annotated

import typer
from rich import box
from rich.table import Table
from rich.text import Text

from mixedsched.cli._console import out, shown
from mixedsched.cli._output import say_json
from mixedsched.cli._progress import Progress
from mixedsched.errors import MixedschedError, UsageError
from mixedsched.sites.opening import RECORDED, recipes
from mixedsched.sites.recorded.records import RecordingSummary
from mixedsched.sites.site import site_name_of
from mixedsched.units import counted, format_bytes, printable
from mixedsched.world.browser.observation import Observation
from mixedsched.world.browser.pageload import FormFactor

_LISTED_MAX = 8  # of each list; --json has them all
_ENDS = {"quiet": "quiet", "limit": "stopped at its time limit", "interrupted": "interrupted"}

Name = Annotated[str | None, typer.Option("--name", help="The site's name; by default made from the page's address.")]
Out = Annotated[
    Path | None,
    typer.Option(
        "--out", help="Folder to write the site to; by default sites/NAME.", metavar="DIR", show_default=False
    ),
]
Licence = Annotated[str, typer.Option("--licence", help="Licence of the contents; kept in page.json.")]
Replace = Annotated[bool, typer.Option("--replace", help="Replace a site of that name.")]


def recording_folder(name: str, folder: Path | None) -> Path:
    """Where a recorded site goes: --out, else sites/NAME. Raises UsageError for what cannot be the name of a site."""
    if name != site_name_of(name):
        raise UsageError(
            f"'{printable(name)}' cannot be the name of a site",
            why="names consist of lower-case letters, digits and hyphens",
            fix=f"such as --name {site_name_of(name)}",
        )
    if folder is None and name in {recipe.name for recipe in recipes()}:
        raise UsageError(
            f"'{name}' is the name of a bundled site",
            why="the name would still open that one",
            fix="choose another --name, or --out",
        )
    return folder if folder is not None else RECORDED / name


def say_load(
    progress: Progress, number: int, form_factor: FormFactor, result: Observation | MixedschedError | None
) -> None:
    """Show that a load begins (result is None), or how it ended. number: from 0."""
    if result is None:
        progress.tell(number, progress.total, what=f"load {number + 1}, {form_factor}")
        return
    progress.tell(number + 1, progress.total)
    if isinstance(result, MixedschedError):
        text = f"[bold yellow]failed[/]: {shown(result.why or result.what)}"
    else:
        text = _load_text(result)
    progress.say(f"load {number + 1} of {progress.total}, {form_factor:7}  {text}")


def _load_text(observation: Observation) -> str:
    page = [request for request in observation.requests if not request.after_scroll]
    size_bytes = sum(request.sent_bytes for request in page)
    later = len(observation.requests) - len(page)
    scrolled = f", {later} more when it was scrolled" if later else ""
    return f"{counted(len(page), 'request')}, {format_bytes(size_bytes)}, {_ENDS[observation.ended]}{scrolled}"


def say_recording(summary: RecordingSummary, as_json: bool) -> None:
    """Summarise a recording on standard output."""
    if as_json:
        say_json(summary.facts(), indent=2)
        return
    out.print(f"[bold cyan]{shown(summary.name)}[/]  {shown(summary.url)}", soft_wrap=True)
    out.print(_kinds_table(summary))
    out.print(_hosts_table(summary))
    _say_first_screen(summary)
    _say_changes(summary)
    _say_list("could not be stored", (f"{item.method} {item.url}: {item.why}" for item in summary.left_out), "yellow")
    _say_list("notes", summary.notes, "yellow")
    _say_next(summary)


def _kinds_table(summary: RecordingSummary) -> Table:
    table = Table(box=box.SIMPLE, pad_edge=False)
    table.add_column("kind")
    table.add_column("resources", justify="right")
    table.add_column("on the wire", justify="right")
    for kind, total in summary.kinds.items():
        table.add_row(kind, str(total.count), format_bytes(total.body_bytes))
    table.add_section()
    table.add_row("all", str(summary.resources), format_bytes(summary.body_bytes))
    return table


def _hosts_table(summary: RecordingSummary) -> Table:
    table = Table(box=box.SIMPLE, pad_edge=False)
    table.add_column("host")
    table.add_column("recorded as")
    for host, origins in summary.hosts.items():
        table.add_row(Text(printable(host)), Text(printable(", ".join(origins))))
    return table


def _say_first_screen(summary: RecordingSummary) -> None:
    if summary.hero is not None:
        out.print(f"[bold]hero[/]: {shown(summary.hero)}", soft_wrap=True)
    others = [url for url in summary.above_fold if url != summary.hero]
    _say_list("above the fold", others, "")


def _say_changes(summary: RecordingSummary) -> None:
    _say_list("names of hosts rewritten in", summary.rewritten, "")
    dropped = (f"{name} ({count} x)" for name, count in summary.dropped_headers.items())
    if fields := ", ".join(dropped):
        out.print(f"[bold]header fields left out[/]: {shown(fields)}", soft_wrap=True)
    if summary.also_served:
        out.print(f"served besides the page: {summary.also_served}")
    if summary.doubled:
        out.print(f"repeated requests: {summary.doubled}")


def _say_list(label: str, lines: Iterable[str], style: str) -> None:
    """A few lines under a label, and how many more there are; nothing for an empty list."""
    listed = list(lines)
    if not listed:
        return
    out.print(Text(f"{label} ({len(listed)}):", style=style or "bold"))
    for line in listed[:_LISTED_MAX]:
        out.print(Text(f"    {printable(line)}"), soft_wrap=True)
    if len(listed) > _LISTED_MAX:
        out.print(f"    and {len(listed) - _LISTED_MAX} more (--json lists all)")


def _say_next(summary: RecordingSummary) -> None:
    is_default = summary.folder == RECORDED / summary.name
    site = summary.name if is_default else shlex.quote(str(summary.folder))
    out.print(f"\nwritten to [bold]{shown(str(summary.folder))}[/]; next:", soft_wrap=True)
    for command in (
        f"sites check {site}",
        f"sites show {site}",
        f"compare {site} --link 4g --schemes sequential,mixed",
    ):
        out.print(Text(f"    mixedsched {printable(command)}"), soft_wrap=True)
