"""`generate`: random pages that are made like real ones."""

import sys
from pathlib import Path
from typing import Annotated

import typer

from mixedsched.cli._console import err
from mixedsched.errors import MixedschedError, UsageError
from mixedsched.model.page import Page
from mixedsched.sites.generate import distributions, generate_page, page_text
from mixedsched.units import counted, format_bytes

STANDARD_OUTPUT = Path("-")
SIZE_CLASSES = ", ".join(f"{name} ({facts.description})" for name, facts in distributions().classes.items())


def register(app: typer.Typer) -> None:
    app.command(epilog="Example: mixedsched generate --size-class large --seed 7 | mixedsched simulate - --scheme all")(
        generate
    )


def generate(
    size_class: Annotated[str, typer.Option(help=f"How large: {SIZE_CLASSES}.", metavar="CLASS")] = "medium",
    seed: Annotated[int, typer.Option(help="Seed of the page; another number gives another page.")] = 1,
    pages: Annotated[int, typer.Option(help="How many pages, with this and the following seeds.", min=1)] = 1,
    output: Annotated[
        Path, typer.Option("--out", help="A file; with --pages a folder. - is standard output.", metavar="FILE")
    ] = STANDARD_OUTPUT,
    replace: Annotated[bool, typer.Option("--replace", help="Overwrite existing files.")] = False,
) -> None:
    """Generate a page from measured distributions of real ones: its resources, what discovers which, priorities.

    The page file contains all that simulate needs; synth makes a site from it. The same class and seed give the same page.
    """
    if pages > 1 and output == STANDARD_OUTPUT:
        raise UsageError("several pages need a folder", fix="name one with --out")
    source = f"generated from {distributions().source}"
    for number in range(seed, seed + pages):
        page = generate_page(size_class, number)
        text = page_text(page, source=source)
        if output == STANDARD_OUTPUT:
            sys.stdout.write(text)
            return
        file = output / f"{page.name}.json" if pages > 1 else output
        _write(file, text, replace=replace)
        err.print(f"{file}: {_summary(page)}", style="dim", markup=False, soft_wrap=True)


def _write(file: Path, text: str, *, replace: bool) -> None:
    try:
        if file.exists() and not replace:
            raise UsageError(f"{file} exists", fix="name another file with --out, or add --replace")
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")
    except OSError as error:
        raise MixedschedError(f"cannot write {file}", why=error.strerror or "", fix="choose another --out") from error


def _summary(page: Page) -> str:
    hosts = len({item.host for item in page.resources})
    body_bytes = sum(item.body_bytes for item in page.resources)
    return f"{counted(len(page.resources), 'resource')}, {format_bytes(body_bytes)}, {counted(hosts, 'host')}"
