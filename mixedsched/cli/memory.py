"""`memory`: shows what the scheme adaptive has learned, and makes it forget."""

from pathlib import Path
from typing import Annotated, Any

import typer

from mixedsched.cli._console import out, shown
from mixedsched.cli._output import Json, say_json
from mixedsched.core.learning.describing import describe
from mixedsched.errors import UsageError
from mixedsched.units import counted
from mixedsched.world.store import open_memory, read_memory

FileArgument = Annotated[Path, typer.Argument(help="The file of serve --memory or edge --memory.", metavar="FILE")]
PageOption = Annotated[str | None, typer.Option(help="Only this page, by its path.", metavar="PATH")]


def register(app: typer.Typer) -> None:
    commands = typer.Typer(help="Show what the scheme adaptive has learned, or make it forget.", no_args_is_help=True)
    commands.command(epilog="Example: mixedsched memory show memory.sqlite --page /index.html")(show)
    commands.command(epilog="Example: mixedsched memory forget memory.sqlite --page /index.html")(forget)
    app.add_typer(commands, name="memory")


def show(file: FileArgument, page: PageOption = None, as_json: Json = False) -> None:
    """Show what is known about each page, from how many visits, which order follows from it, and why."""
    with read_memory(_known(file)) as store:
        paths = list(store.versions()) if page is None else [page]
        states = [(path, store.page(path)) for path in paths]
    if page is not None and states[0][1] is None:
        raise UsageError(f"nothing is remembered about {page}", fix=f"mixedsched memory show {file} lists the pages")
    pages = [describe(state) for _, state in states if state is not None]
    if as_json:
        say_json({"memory": str(file), "pages": pages})
        return
    if not pages:
        out.print("Nothing is remembered yet.")
    for item in pages:
        _print(item, details=page is not None or len(pages) == 1)


def _print(item: dict[str, Any], details: bool) -> None:
    order = item["order"]
    out.print(f"[bold]{shown(item['path'])}[/]: {counted(item['visits'], 'visit')} ({item['partial_visits']} partial)")
    out.print(f"  order: {shown(order['name'])}: {shown(order['why'])}", soft_wrap=True)
    for name, why in item["left"].items():
        out.print(f"  left: {shown(name)}: {shown(why)}", soft_wrap=True)
    for network in item["networks"]:
        share = f"{network['share'] * 100:.0f} % of visits"
        out.print(f"  network: {shown(network['name'])}, {share}, order {shown(network['order'])}", soft_wrap=True)
    if (told := item["beacons"]) is not None:
        latest = f"FCP {told['fcp_ms']:.0f} ms, LCP {told['lcp_ms']:.0f} ms, CLS {told['cls']:.3f}"
        means = f"mean FCP {told['mean_fcp_ms']:.0f} ms, LCP {told['mean_lcp_ms']:.0f} ms"
        out.print(
            f"  reported by browsers: {counted(told['visits'], 'visit')}, {means}; the latest {latest}", soft_wrap=True
        )
    for name, paints in item["outcomes"].items():
        by = f"reported by {counted(round(paints['told']), 'browser')}" if paints["told"] else "estimated"
        visits = counted(round(paints["visits"]), "visit")
        out.print(f"  seen under {shown(name)}: {visits}, LCP {paints['lcp_ms']:.0f} ms, {by}")
    if not details:
        return
    for role in item["roles"]:
        seen = f", seen {role['seen']:.2f}" if role["seen"] is not None else ""
        line = f"  {role['kind']:10s} {role['bytes']:>9} B in {role['share'] * 100:3.0f} % of visits{seen}, {role['found']}"
        out.print(f"{shown(line)}: {shown(role['path'])}", soft_wrap=True)


def forget(file: FileArgument, page: PageOption = None, as_json: Json = False) -> None:
    """Forget one page, or all of them; a server that uses the file continues with the safe order."""
    with read_memory(_known(file)):
        pass  # another database is refused before anything in it changes
    with open_memory(file) as store:
        forgotten = store.forget(page)
    if as_json:
        say_json({"memory": str(file), "forgotten": forgotten})
    else:
        out.print(f"{counted(forgotten, 'page')} forgotten")


def _known(file: Path) -> Path:
    """Raises UsageError for a file that is not there."""
    if not file.is_file():
        raise UsageError(f"there is no memory {file}", fix="serve --scheme adaptive --memory FILE makes one")
    return file
