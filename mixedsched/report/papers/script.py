"""What the scripts below results/ and benchmarks/ have in common: they end like commands, and say how far they are."""

import sys
import time
from argparse import ArgumentParser, Namespace
from collections.abc import Callable, Sequence
from pathlib import Path

from mixedsched.errors import ExitCode, MixedschedError
from mixedsched.lab.study.definition import Study
from mixedsched.lab.study.kept import play_kept
from mixedsched.units import format_duration


def add_playing_options(parser: ArgumentParser, runs: Path) -> None:
    """Those of scripts that play studies. runs: where their databases are."""
    parser.add_argument("--only", help="a glob over sites, or SITE@LINK")
    parser.add_argument("--blocks", type=int, help="number of repeats, instead of the study's")
    parser.add_argument("--jobs", type=int, help="processes that simulate; one per processor by default")
    parser.add_argument("--runs", type=Path, default=runs, help="where the databases are")
    parser.add_argument("--collect", action="store_true", help="play nothing, write what there is")


def play_as_asked(options: Namespace, study: Study, kept: Path, keys: Sequence[str]) -> None:
    """As `play_kept`, with a database that is named like the file. Raises the same."""
    play_kept(
        study,
        kept,
        keys,
        folder=options.runs / kept.stem,
        only=options.only,
        blocks=options.blocks,
        jobs=options.jobs,
        play=not options.collect,
        say=tell,
    )


def tell(remark: str) -> None:
    """Print a remark on standard error."""
    sys.stderr.write(f"{remark}\n")
    sys.stderr.flush()


class Countdown:
    """Tells after each of some steps how many are done, and how long the others will take if they go on like that."""

    def __init__(self, total: int, clock_s: Callable[[], float] = time.monotonic) -> None:
        self._total, self._count = total, 0
        self._clock_s, self._began_s = clock_s, clock_s()

    def done(self, what: str) -> None:
        """Another one is done. what: it was, in a few words."""
        self._count += 1
        to_come = self._total - self._count
        left_s = (self._clock_s() - self._began_s) / self._count * to_come
        tell(f"{self._count} of {self._total}: {what}" + (f"; {format_duration(left_s)} left" if to_come else ""))


def run_script(main: Callable[[], None]) -> None:
    """Run a script, which ends as commands do: errors in words, and an exit code that says how."""
    try:
        main()
    except MixedschedError as error:
        tell(str(error))
        sys.exit(error.exit_code)
    except KeyboardInterrupt:
        sys.exit(ExitCode.INTERRUPTED)
