"""`setup`: installs what page loads need besides Python."""

from typing import Annotated, Any, Self

import typer

from mixedsched import __version__
from mixedsched.cli._console import err, out, say_remark, shown
from mixedsched.cli._interrupts import end_in_order
from mixedsched.cli._output import Json, say_json
from mixedsched.cli._progress import Progress
from mixedsched.errors import MissingPartError
from mixedsched.world import places
from mixedsched.world.setup import Part, checked_mirror, set_up

MIRROR_VARIABLE = "MIXEDSCHED_BROWSER_MIRROR"


def register(app: typer.Typer) -> None:
    app.command(epilog="Example: mixedsched setup --browser-mirror https://mirror.example/chrome-for-testing")(setup)


def setup(
    browser_mirror: Annotated[
        str | None,
        typer.Option(
            help="Address from which Chrome for Testing is fetched, instead of Google's.",
            metavar="URL",
            envvar=MIRROR_VARIABLE,
        ),
    ] = None,
    as_json: Json = False,
) -> None:
    """Install what page loads need: Node packages and, if no usable browser is found, Chrome for Testing.

    They go into the user's cache folder, or the one named by MIXEDSCHED_CACHE; in a checkout into its own folders. What
    exists stays; what an interruption left incomplete is completed. Needs Node.js 20 or later.
    """
    end_in_order()
    mirror = checked_mirror(browser_mirror) if browser_mirror else None
    parts: list[Part] = []
    with SetupProgress() as progress:
        for part in set_up(mirror, progress):
            parts.append(part)
            if not as_json:
                _print(part)
    failed = [part for part in parts if not part.ok]
    _warn_of_temporary_place(parts)
    if as_json:
        say_json(_facts(parts), indent=2)
    else:
        err.print("[bold red]not everything could be installed[/]" if failed else "everything is in place")
    if failed:
        raise typer.Exit(failed[0].exit_code)


def _facts(parts: list[Part]) -> dict[str, Any]:
    return {
        "ok": all(part.ok for part in parts),
        "version": __version__,
        "data": str(places.home()),
        "cache": _cache(),
        "parts": [part.to_dict() for part in parts],
    }


def _cache() -> str | None:
    try:
        return str(places.writable_cache())
    except MissingPartError:
        return None


def _warn_of_temporary_place(parts: list[Part]) -> None:
    """Warn if something is kept among temporary files: it may be gone tomorrow."""
    first, *others = places.cache_folders()
    kept = [other for other in others for part in parts if part.path and part.path.is_relative_to(other)]
    if kept:
        text = f"{first} cannot be written, so it is kept in {kept[0]}, which the system may empty"
        say_remark(f"note: {text}; {places.CACHE_VARIABLE} names another folder")


def _print(part: Part) -> None:
    mark = "[bold green]ok  [/]" if part.ok else "[bold red]FAIL[/]"
    text = f"{part.path}{f', {part.detail}' if part.detail else ''}" if part.path else part.detail
    brought = ", just installed" if part.brought else ""
    out.print(f"{mark} {part.name:18} {shown(text)}{brought}", soft_wrap=True)
    if part.fix:
        out.print(f"     {'':18} fix: {shown(part.fix)}", soft_wrap=True)


class SetupProgress:
    """On standard error: a line for what begins, and a bar or lines with the time left for what takes long."""

    def __init__(self) -> None:
        self._progress = Progress("")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._progress.hide()

    def say(self, text: str) -> None:
        self._progress.hide()
        err.print(shown(text), style="dim", soft_wrap=True)

    def tell(self, what: str, done: int, total: int) -> None:
        if what != self._progress.what:
            self._progress.hide()
            self._progress = Progress(what)
        self._progress.tell(done, total)
