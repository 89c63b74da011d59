"""Prints simulated loads as they are played: lines of JSON, or tables; then a picture, and what failed."""

import itertools
import sys
from collections.abc import Generator, Iterable, Iterator, Sequence
from contextlib import closing
from pathlib import Path

from mixedsched.cli._console import err, out, say_written, shown
from mixedsched.cli._progress import Progress
from mixedsched.cli._simulation_table import AllPages, caption, page_table, resource_table
from mixedsched.cli._stdout import is_read
from mixedsched.core.sim.load import PlayedLoad
from mixedsched.core.sim.record import Weighting
from mixedsched.errors import MixedschedError
from mixedsched.lab.play.simulation import RecordedLoad, Simulation
from mixedsched.report.wide_table import WideTable


def show(
    simulation: Simulation,
    played: Generator[RecordedLoad],
    *,
    as_json: bool,
    resources: bool,
    plot: Path | None,
    weighting: Weighting,
) -> bool:
    """Print the outcomes of all loads; whether none failed. resources: a table of them, too. plot: file of a picture.

    weighting: of the picture's ByteIndex; the loads have theirs.
    """
    loads: list[PlayedLoad] = []
    failures: list[RecordedLoad] = []
    quiet = as_json and (sys.stdout.isatty() or not err.is_terminal)  # lines of results and a bar share no terminal
    with closing(played), Progress("playing pages", simulation.total, unit="loads", quiet=quiet) as progress:
        for outcome in _say_lines(played) if as_json else _say_tables(simulation, played, progress, resources):
            progress.advance()
            if outcome.load is not None:
                loads.append(outcome.load)
            if outcome.error:
                failures.append(outcome)
    if plot is not None and loads:
        _draw(loads, plot, weighting)
    for outcome in failures:
        where = f"{outcome.record['page']}, {outcome.record['scheme']}"
        err.print(f"[bold yellow]failed[/] {shown(where)}: {shown(outcome.error)}", soft_wrap=True)
    if failures:
        err.print(f"[bold yellow]{len(failures)} of {simulation.total} loads could not be finished[/]", soft_wrap=True)
    return not failures


def _say_lines(played: Iterable[RecordedLoad]) -> Iterator[RecordedLoad]:
    for outcome in played:
        sys.stdout.write(outcome.line + "\n")
        sys.stdout.flush()
        yield outcome
        if not is_read():
            return  # there is no need to play the others


def _say_tables(
    simulation: Simulation, played: Iterator[RecordedLoad], progress: Progress, resources: bool
) -> Iterator[RecordedLoad]:
    """Tables of each page as soon as it is complete, then one of all pages."""

    def say(table: WideTable) -> None:
        progress.hide()
        out.print(table)

    summary = AllPages(simulation)
    for page in simulation.pages:
        outcomes = []
        for outcome in itertools.islice(played, simulation.loads_per_page):
            outcomes.append(outcome)
            yield outcome
        say(page_table(simulation, page, outcomes))
        if resources:
            say(resource_table(simulation, page, outcomes))
        summary.add(outcomes)
    if len(simulation.pages) > 1:
        say(summary.table())
    out.print(caption(simulation), style="dim", markup=False)


def _draw(loads: Sequence[PlayedLoad], path: Path, weighting: Weighting) -> None:
    from mixedsched.report.simulation import write_plot  # here, because most runs draw nothing

    try:
        write_plot(loads, path, weighting)
    except OSError as error:
        raise MixedschedError(f"cannot write the picture {path}", why=error.strerror or "") from error
    say_written("picture", path)
