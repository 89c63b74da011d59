"""What the scripts below results/ have in common: they end like commands."""

import sys
from argparse import ArgumentParser, Namespace
from collections.abc import Callable, Sequence
from pathlib import Path

from mixedsched.errors import ExitCode, MixedschedError
from mixedsched.lab.study.definition import Study
from mixedsched.lab.study.kept import play_kept


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


def run_script(main: Callable[[], None]) -> None:
    """Run a script, which ends as commands do: errors in words, and an exit code that says how."""
    try:
        main()
    except MixedschedError as error:
        tell(str(error))
        sys.exit(error.exit_code)
    except KeyboardInterrupt:
        sys.exit(ExitCode.INTERRUPTED)
