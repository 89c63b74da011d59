"""`lab check`: proof that an emulated network does what its profile says."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Coroutine, Iterable, Sequence
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.text import Text

from mixedsched.cli._console import err, out, shown
from mixedsched.cli._options import LinkOption
from mixedsched.cli._output import Json, say_json
from mixedsched.errors import ExitCode
from mixedsched.model.profile import Profile
from mixedsched.report.wide_table import WideTable
from mixedsched.units import format_duration
from mixedsched.world import catalog
from mixedsched.world.emulator.backend import BackendName, open_backend
from mixedsched.world.system.user_programs import StopRequest

if TYPE_CHECKING:  # statistics take a while to load; only `lab check` needs them, when it runs
    from mixedsched.world.emulator.probe.checking import LinkCheck
    from mixedsched.world.emulator.probe.findings import LinkFinding

LOSSES_S = 20.0


def register(lab: typer.Typer) -> None:
    lab.command(epilog="Example: mixedsched lab check --backend vm --link sander-burst5")(check)


def check(
    backend: Annotated[BackendName, typer.Option(help="Which back end to check.")] = BackendName.RELAY,
    link: LinkOption = "4g",
    seed: Annotated[int, typer.Option(help="Seed for losses and jitter, where the back end takes one.")] = 1,
    losses_s: Annotated[
        float, typer.Option(help="How long to count losses, in seconds; rare bursts need a long time.", min=1, max=3600)
    ] = LOSSES_S,
    as_json: Json = False,
) -> None:
    """Send probes over a network and compare delay, rate, queue and losses with its profile; takes about a minute.

    A quantity is off if it misses its nominal value by more than 0.5 ms (delay), 1 % (rate) or a packet (queue); a share of
    packets, if its 99.9 % interval does not contain the nominal value. The exit code is 1 if anything is off.
    """
    profile = catalog.load_profile(link)
    found = asyncio.run(_until_stopped(_checked(backend, profile, seed, losses_s)))
    if as_json:
        say_json(found.to_dict(), indent=2)
    else:
        _print(found)
    if not found.is_ok:
        raise typer.Exit(ExitCode.FAILED)


async def _until_stopped(checking: Coroutine[Any, Any, LinkCheck]) -> LinkCheck:
    """Its result. A signal to stop ends it in order, and the exit code is then that of the signal."""
    stop = StopRequest()
    try:
        with stop.cancelling():
            return await checking
    except asyncio.CancelledError:
        if stop.number:
            raise typer.Exit(stop.exit_code) from None
        raise


async def _checked(backend: BackendName, profile: Profile, seed: int, losses_s: float) -> LinkCheck:
    from mixedsched.world.emulator.probe.checking import check_link

    err.print(f"{shown(profile.name)} on {backend.value}: bringing the network up", style="dim")
    started_s = time.monotonic()

    def progress(step: str, duration_s: float) -> None:
        passed = format_duration(time.monotonic() - started_s)
        err.print(f"{passed}: {step}, takes {format_duration(duration_s)}", style="dim")

    async with open_backend(backend.value, profile) as network:
        return await check_link(network, profile, seed, progress, losses_s=losses_s)


def _print(found: LinkCheck) -> None:
    out.print(f"[bold]{shown(found.link)}[/] on {found.backend}, seed {found.seed}")
    for note in found.notes:
        out.print(f"  note: {shown(note)}", soft_wrap=True)
    judged = [finding for finding in found.findings if finding.nominal is not None or finding.verdict.value == "off"]
    out.print(_table(judged))
    for finding in judged:
        if finding.note:
            out.print(f"{finding.quantity} {finding.direction}: {shown(finding.note)}", style="dim", soft_wrap=True)
    for why, quantities in _left_out(found.findings):
        out.print(f"not applicable: {', '.join(quantities)} ({shown(why)})", style="dim", soft_wrap=True)
    out.print("[bold]everything is as it should be[/]" if found.is_ok else "[bold red]something is off[/]")


def _table(findings: Sequence[LinkFinding]) -> WideTable:
    table = WideTable(keys=2)
    for title in ("", "", "nominal", "measured", "95 % interval", ""):
        table.add_column(title, justify="right" if title else "left", no_wrap=True)
    for finding in findings:
        unit, factor, digits = _shown_in(finding)
        low, high = (_number(value, factor, digits) for value in (finding.low, finding.high))
        bad = finding.verdict.value == "off"
        table.add_row(
            f"{finding.quantity}, {unit}",
            finding.direction,
            _number(finding.nominal, factor, digits),
            _number(finding.measured, factor, digits),
            "" if finding.low is None else f"{low} … {high}",
            Text("OFF" if bad else "ok", style="bold red" if bad else "green"),
        )
    return table


def _shown_in(finding: LinkFinding) -> tuple[str, float, int]:
    """The unit for people, what to multiply with, and how many decimals its tolerance needs."""
    match finding.unit:
        case "ratio":
            return "%", 100.0, 3
        case "ms":
            return "ms", 1.0, 2
        case "bit/s":
            return ("kbit/s", 1e-3, 1) if (finding.nominal or 0) < 1e6 else ("Mbit/s", 1e-6, 3)
        case "other fates":
            return "other fates", 1.0, 0
    return finding.unit, 1.0, 1


def _number(value: float | None, factor: float, digits: int) -> str:
    return "–" if value is None else f"{value * factor:.{digits}f}"


def _left_out(findings: Iterable[LinkFinding]) -> list[tuple[str, list[str]]]:
    """What does not apply, by reason."""
    told: dict[str, dict[str, Any]] = {}
    for finding in findings:
        if finding.verdict.value == "not applicable":
            told.setdefault(finding.note, {}).setdefault(finding.quantity, []).append(finding.direction)
    return [
        (why, [quantity if len(sides) > 1 else f"{quantity} {sides[0]}" for quantity, sides in quantities.items()])
        for why, quantities in told.items()
    ]
