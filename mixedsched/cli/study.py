"""`study`: many sites, links and arms as one experiment, which can be interrupted, extended and exported."""

from pathlib import Path
from typing import Annotated, Any

import typer

from mixedsched.cli._console import out, say_remark, shown
from mixedsched.cli._gates import (
    FailIfOption,
    JunitOption,
    MarkdownOption,
    MaxBlocksOption,
    UntilOption,
    say_gates,
    write_for_ci,
)
from mixedsched.cli._interrupts import end_in_order
from mixedsched.cli._options import ResultsOption
from mixedsched.cli._output import Json, refuse_unwritable, say_json
from mixedsched.cli._study import StudyProgress, questions_of
from mixedsched.cli._study_command import command_of
from mixedsched.cli._study_results import FolderArgument, StoreOption, export, opened, report, say_results
from mixedsched.lab.study.definition import read_study
from mixedsched.lab.study.gates import exit_code
from mixedsched.lab.study.places import is_chosen
from mixedsched.lab.study.session import default_folder, run_study
from mixedsched.units import counted, format_duration
from mixedsched.world.browser.kinds import Browser
from mixedsched.world.store import StudyStore

_EXAMPLES_OF_RUN = (
    "Examples: mixedsched study run my.toml --blocks 10\n\n"
    "mixedsched study run my.toml --until decided --max-blocks 24 --fail-if 'lcp > +2%' --junit gates.xml"
)

study = typer.Typer(
    help="Studies over many sites, links and arms: loads that resume after any interruption, and what they show together.",
    epilog="Example: mixedsched study run my.toml",
    no_args_is_help=True,
)


def register(app: typer.Typer) -> None:
    study.command(epilog=_EXAMPLES_OF_RUN)(run)
    study.command(epilog="Example: mixedsched study status runs/my-study-01234567-89abcd")(status)
    study.command(epilog="Example: mixedsched study report runs/my-study-01234567-89abcd")(report)
    study.command(epilog="Example: mixedsched study export runs/my-study-01234567-89abcd --format csv --out loads.csv")(
        export
    )
    app.add_typer(study, name="study")


def run(
    file: Annotated[Path, typer.Argument(help="A study file; docs/studies.md describes them.", metavar="FILE")],
    store: StoreOption = None,
    folder: ResultsOption = None,
    only: Annotated[
        str | None, typer.Option(help="Only these places, by site or SITE@LINK; * stands for anything.", metavar="GLOB")
    ] = None,
    blocks: Annotated[
        int | None, typer.Option(help="Number of repeats, instead of the file's.", min=1, metavar="N")
    ] = None,
    jobs: Annotated[
        int | None, typer.Option(help="Processes that simulate; by default one per processor.", min=1, metavar="N")
    ] = None,
    until: UntilOption = None,
    max_blocks: MaxBlocksOption = None,
    fail_if: FailIfOption = None,
    junit: JunitOption = None,
    markdown: MarkdownOption = None,
    start_from: Annotated[
        Path | None,
        typer.Option(
            "--from",
            help="Loads of this study to continue from, as written by `study export --format loads`.",
            metavar="FILE",
        ),
    ] = None,
    scheduler: Annotated[
        str | None, typer.Option(help="A dask scheduler whose machines do the work instead of this one.", metavar="URL")
    ] = None,
    browser: Annotated[
        Browser | None,
        typer.Option(help="Browser to use instead of the file's; this is a study of its own, named after the browser."),
    ] = None,
    as_json: Json = False,
) -> None:
    """Make the loads of a study that are not stored yet, and say what all of them show.

    Every load is stored at once, and after an interruption the same command continues where it stopped. With more blocks,
    sites, links or simulated arms in the file, it adds to the stored ones. Gates are judged at every place.
    """
    refuse_unwritable(junit, markdown)
    end_in_order()
    definition = read_study(file)
    if browser is not None:
        definition = definition.in_browser(browser)
    with StudyProgress(is_simulated=definition.is_simulated) as progress:
        found = run_study(
            definition,
            folder=folder,
            store=store,
            only=only,
            blocks=blocks,
            until=until.value if until else None,
            max_blocks=max_blocks,
            fail_if=fail_if or (),
            start_from=start_from,
            jobs=jobs,
            scheduler=scheduler,
            observer=progress,
            say=say_remark,
        )
    given, folder = folder, folder or default_folder(definition)
    say_results(found, folder, command_of(file, given, store, found), as_json=as_json)
    # Of the places that were asked for: what others have shown before is in the report.
    places = [place for place in found.places if is_chosen(place.site, place.link, only)]
    gates = [gate for gate in found.gates if gate.place is None or is_chosen(*gate.place, only)]
    write_for_ci(questions_of(found, places, gates, folder), junit, markdown)
    say_gates(gates)
    raise typer.Exit(exit_code(found.questions, gates, places))


def status(folder: FolderArgument = None, store: StoreOption = None, as_json: Json = False) -> None:
    """Show the progress of the studies in a folder or database, and who works on them."""
    with opened(folder, store) as database:
        facts = _status(database)
    if as_json:
        say_json(facts)
        return
    if not facts["studies"]:
        say_remark("there is no study yet")
    for item in facts["studies"]:
        blocks = ", ".join(f"{count} {state}" for state, count in item["blocks"].items() if count)
        places = counted(item["places"], "place")
        out.print(f"[bold]{shown(item['study'])}[/] (rung {item['rung']}): {places}; blocks: {blocks}", soft_wrap=True)
    for worker in facts["workers"]:
        heard = f"heard of {format_duration(worker['silent_s'])} ago"
        doing = f"{worker['state']}, {counted(worker['blocks'], 'block')} in hand, {heard}"
        reason = f": {worker['reason']}" if worker["reason"] else ""
        out.print(f"  {shown(worker['machine'])}: {shown(doing)}{shown(reason)}", soft_wrap=True)


def _status(store: StudyStore) -> dict[str, Any]:
    studies = []
    for item in store.studies():
        counts = store.counts(item.id)
        states = ("open", "leased", "done", "failed", "revoked")
        studies.append(
            {
                "study": item.name,
                "rung": item.definition["rung"],
                "places": len(counts),
                "blocks": {state: sum(getattr(count, state) for count in counts) for state in states},
            }
        )
    workers = [
        {
            "name": worker.name,
            "machine": worker.machine,
            "state": worker.state,
            "reason": worker.reason,
            "silent_s": round(worker.silent_s, 1),
            "blocks": worker.blocks,
        }
        for worker in store.workers()
    ]
    return {"studies": studies, "workers": workers}
