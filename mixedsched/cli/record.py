"""`record`: makes a site from a live page."""

import asyncio
import datetime as dt
import re
import signal
from collections.abc import Sequence
from enum import StrEnum
from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from mixedsched.cli._console import err
from mixedsched.cli._output import Json
from mixedsched.cli._progress import Progress
from mixedsched.cli._record_output import Licence, Name, Out, Replace, recording_folder, say_load, say_recording
from mixedsched.errors import ExitCode, UsageError
from mixedsched.sites.elsewhere import page_address
from mixedsched.sites.live import Loads, RecordingPlan, observe_all, write_loads
from mixedsched.sites.recorded.names import site_name_of_url
from mixedsched.sites.recorded.writing import check_target
from mixedsched.units import printable
from mixedsched.world.browser.observe import Observer
from mixedsched.world.browser.pageload import FormFactor
from mixedsched.world.browser.profiles import make_profile_dir, remove_profile_dir

_STAND_IN = re.compile(r"(?P<what>[^=\s]+)=(?P<address>\[[0-9A-Fa-f:.]+\]|[A-Za-z0-9.-]+):(?P<port>[0-9]{1,5})")
_PORT_MAX = 65_535
_LOADS_MAX = 30


class Screens(StrEnum):
    """Which form factors are recorded."""

    MOBILE = "mobile"
    DESKTOP = "desktop"
    BOTH = "both"

    @property
    def form_factors(self) -> tuple[FormFactor, ...]:
        """The first of them decides what is on the first screen."""
        match self:
            case Screens.MOBILE:
                return ("mobile",)
            case Screens.DESKTOP:
                return ("desktop",)
            case Screens.BOTH:
                return ("mobile", "desktop")


def register(app: typer.Typer) -> None:
    app.command(epilog="Example: mixedsched record https://example.org/ --name example --loads 3")(record)


def record(
    url: Annotated[str, typer.Argument(help="The page, http or https.", metavar="URL")],
    name: Name = None,
    out: Out = None,
    loads: Annotated[
        int, typer.Option(min=1, max=_LOADS_MAX, help="Loads of each form factor; they are merged.", metavar="N")
    ] = 3,
    form_factor: Annotated[
        Screens, typer.Option(help="Device to emulate. With both, the page is the mobile one.")
    ] = Screens.BOTH,
    resolve: Annotated[
        list[str] | None,
        typer.Option(
            help="Connect to ADDRESS:PORT for this host (or host and port).", metavar="HOST[:PORT]=ADDRESS:PORT"
        ),
    ] = None,
    insecure: Annotated[bool, typer.Option("--insecure", help="Accept any certificate.")] = False,
    quiet_s: Annotated[
        float, typer.Option(min=0.1, max=60, help="Seconds without network activity after which a page is complete.")
    ] = 2.0,
    limit_s: Annotated[
        float, typer.Option(min=1, max=600, help="Seconds after which a page that never goes quiet is stopped.")
    ] = 60.0,
    licence: Licence = "",
    replace: Replace = False,
    as_json: Json = False,
) -> None:
    """Record a live page as a site for every rung: files as they were sent, what discovers what and when, priorities.

    Chromium loads the page several times, each time with an empty cache. What belongs to one visitor only (cookies,
    logins) is not kept. After failed loads, or an interruption, the site is made from the others, and the exit code is 5.
    """
    plan = RecordingPlan(
        page_address(url),
        form_factor.form_factors,
        loads,
        _stand_ins(resolve or ()),
        insecure,
        quiet_s,
        max(quiet_s, limit_s),
    )
    site_name = name if name is not None else site_name_of_url(plan.url)
    target = recording_folder(site_name, out)
    check_target(target, replace=replace)
    bodies_dir = make_profile_dir()  # swept like these by the next start, should this process be killed
    try:
        found = asyncio.run(_load(plan, bodies_dir))
        if not found.observations:
            raise KeyboardInterrupt
        today = dt.datetime.now(dt.UTC).date().isoformat()
        summary = write_loads(target, found, name=site_name, recorded_on=today, licence=licence, replace=replace)
    finally:
        remove_profile_dir(bodies_dir)
    say_recording(summary, as_json)
    if found.missing:
        err.print(f"[bold yellow]incomplete[/]: {len(found.observations)} of {len(plan.jobs)} loads could be used")
        raise typer.Exit(ExitCode.INVALID_RUNS)


async def _load(plan: RecordingPlan, bodies_dir: Path) -> Loads:
    """All loads; the first Ctrl-C ends them with what there is, the second gives up."""
    stopped = False
    task = asyncio.current_task()
    assert task is not None

    async with Observer() as observer:

        def interrupt() -> None:
            nonlocal stopped
            if stopped:
                task.cancel()
                return
            stopped = True
            err.print("stopping: what was recorded will be written (Ctrl-C again gives up)")
            observer.stop()

        loop = asyncio.get_running_loop()
        loop.add_signal_handler(signal.SIGINT, interrupt)
        try:
            with Progress("loading", len(plan.jobs), unit="loads", silent_s=0, lines=False) as progress:
                return await observe_all(observer, plan, bodies_dir, partial(say_load, progress), lambda: stopped)
        except asyncio.CancelledError:
            raise KeyboardInterrupt from None
        finally:
            loop.remove_signal_handler(signal.SIGINT)


def _stand_ins(texts: Sequence[str]) -> dict[str, str]:
    """The table behind --resolve, hosts with a port first, as the first match counts. Raises UsageError."""
    table: dict[str, str] = {}
    for text in texts:
        found = _STAND_IN.fullmatch(text)
        if found is None or not 0 < int(found["port"]) <= _PORT_MAX:
            raise UsageError(f"--resolve '{printable(text)}' is not understood", fix="write HOST=ADDRESS:PORT")
        table[found["what"].lower()] = f"{found['address']}:{found['port']}"
    return dict(sorted(table.items(), key=lambda item: not re.search(r":[0-9]+$", item[0])))
