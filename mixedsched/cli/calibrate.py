"""`calibrate`: how well simulation ranks schemes, compared with real Chromium, also with a browser model fitted to it."""

import datetime as dt
import hashlib
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from mixedsched.advice.calibration.agreement import SCHEMES_LEAST
from mixedsched.advice.calibration.loads import LeftOutError, SiteLoads, make_loads, read_loads
from mixedsched.advice.calibration.result import Calibration
from mixedsched.advice.calibration.session import CalibrationJob
from mixedsched.advice.calibration.session import calibrate as carry_out_calibration
from mixedsched.cli._console import err, out, say_remark, say_step, say_stopped, shown
from mixedsched.cli._interrupts import end_in_order
from mixedsched.cli._options import FormFactorOption, LinkOption, ResultsOption, Screen
from mixedsched.cli._output import Json, say_json
from mixedsched.cli._progress import RunProgress, watch_loads
from mixedsched.cli._results import keep_result
from mixedsched.cli._sites import open_site
from mixedsched.errors import ExitCode, InputError, UsageError
from mixedsched.lab.learning.taught import is_adaptive
from mixedsched.lab.model import Arm
from mixedsched.lab.plan import arms_of
from mixedsched.lab.play.scenario import JUDGE_MODEL
from mixedsched.lab.play.stored import PlayedLoads
from mixedsched.lab.play.task import TimesReader
from mixedsched.lab.results import owned, writing_to
from mixedsched.model.browser_model import dump_browser_model
from mixedsched.model.scheme import split_specs
from mixedsched.report.calibration import calibration_picture, render_calibration
from mixedsched.report.view import ResultKind
from mixedsched.sites.opening import recipes
from mixedsched.units import listed
from mixedsched.world import catalog
from mixedsched.world.servers import is_server

DEFAULT_SCHEMES = "sequential,stock,eps,mixed,nip,ip,dfifo,firefox-tree,bucket-html,zeroweight"


def register(app: typer.Typer) -> None:
    app.command(epilog="Example: mixedsched calibrate agency argon --link slow-4g --blocks 3 --store chromium.toml")(
        calibrate
    )


def calibrate(
    sites: Annotated[
        list[str] | None, typer.Argument(help="Sites to load; all bundled ones by default.", metavar="[SITE]...")
    ] = None,
    link: LinkOption = "slow-4g",
    schemes: Annotated[str, typer.Option(help="Schemes to rank; three or more.", metavar="A,B,C")] = DEFAULT_SCHEMES,
    blocks: Annotated[int, typer.Option(help="Loads of each site under each scheme.", min=1)] = 3,
    earlier: Annotated[
        list[Path] | None,
        typer.Option("--from", help="Use results of compare instead of new loads; may be repeated.", metavar="DIR"),
    ] = None,
    warm_up: Annotated[
        bool, typer.Option("--warm-up", help="With --from: count the loads of warm-up blocks too.")
    ] = False,
    grid: Annotated[
        bool, typer.Option("--grid/--no-grid", help="Whether to try limits other than those in Chromium's source.")
    ] = True,
    form_factor: FormFactorOption = Screen.MOBILE,
    seed: Annotated[int, typer.Option(help="Seed for the order of runs, link losses and intervals.", min=0)] = 1,
    folder: ResultsOption = None,
    store: Annotated[
        Path | None, typer.Option("--store", help="Also write the fitted browser model to this file.", metavar="FILE")
    ] = None,
    as_json: Json = False,
) -> None:
    """Compare the order in which simulation and Chromium rank delivery schemes, and fit simulation's browser to Chromium.

    Loads sites under all schemes in real Chromium, simulates the same on rung stack, and reports the rank agreement of FCP and
    LCP for each site: with the page as its manifest lists it, as one load showed it, and with the fitted browser.

    Every load is stored at once, and after an interruption the same command continues.
    """
    if store is not None and store.suffix != ".toml":
        raise UsageError(f"{store} cannot be a browser model", fix="name a file that ends in .toml")
    if earlier and sites:
        raise UsageError(
            "sites are named beside --from", why="its folders say which sites they hold", fix="leave one out"
        )
    arms = _arms(schemes)
    folders = list(earlier or ())
    folder = folder or _default_folder(folders or list(sites or ()), link, schemes, seed, form_factor.value)
    end_in_order()
    incomplete = False
    with owned(folder):
        try:
            if not folders:
                folders, incomplete = _gather(list(sites or ()), link, arms, blocks, seed, form_factor.value, folder)
            loads, notes = _read(folders, warm_up=warm_up)
            name = store.stem if store is not None else JUDGE_MODEL
            job = CalibrationJob(loads, grid=grid, seed=seed, model_name=name, notes=notes)
            found = _carry_out(job, folder)
        except KeyboardInterrupt:
            say_stopped(folder)
            raise
        _write(found, folder, store)
    if as_json:
        say_json({**found.to_dict(), "folder": str(folder)})
    else:
        out.print(render_calibration(found))
        out.print(f"results: {shown(str(folder))}", soft_wrap=True)
    if incomplete:
        err.print("[bold yellow]some blocks failed again and again and are missing[/]")
        raise typer.Exit(ExitCode.INVALID_RUNS)


def _arms(schemes: str) -> list[Arm]:
    specs = split_specs(schemes)
    if len(specs) < SCHEMES_LEAST:
        raise UsageError(f"{len(specs)} schemes have no ranking to speak of", fix=f"name {SCHEMES_LEAST} or more")
    if others := [spec for spec in specs if is_server(spec)]:
        raise UsageError(
            f"{listed(others)} cannot be simulated",
            why="third-party servers have an order of their own",
            fix="name a model instead, such as server-nginx",
        )
    if any(map(is_adaptive, specs)):
        raise UsageError(
            "adaptive is not simulated as it is measured",
            why="in the browser it learns from visits before the first block",
            fix="leave it out, or name inferred",
        )
    return arms_of(specs)


def _default_folder(subjects: Sequence[object], link: str, schemes: str, seed: int, form_factor: str) -> Path:
    facts = json.dumps([[str(item) for item in subjects], link, schemes, seed, form_factor])
    return Path("runs") / f"calibration-{hashlib.sha256(facts.encode()).hexdigest()[:8]}"


def _gather(
    names: Sequence[str], link: str, arms: Sequence[Arm], blocks: int, seed: int, form_factor: str, folder: Path
) -> tuple[list[Path], bool]:
    """Load all sites; a folder for each, and whether something is missing. All are checked before the first load."""
    catalog.load_profile(link)
    names = names or [recipe.name for recipe in recipes()]
    for name in names:
        open_site(name)
    folders, incomplete = [], False
    for number, name in enumerate(names, 1):
        err.print(f"site {number} of {len(names)}: {shown(name)}", style="bold", soft_wrap=True)
        own, is_complete = make_loads(name, link, arms, blocks, seed, form_factor, folder, RunProgress, say_remark)
        folders.append(own)
        incomplete |= not is_complete
    return folders, incomplete


def _read(folders: Sequence[Path], *, warm_up: bool) -> tuple[tuple[SiteLoads, ...], tuple[str, ...]]:
    loads, notes = [], []
    for folder in folders:
        try:
            found, remarks = read_loads(folder, say_remark, warm_up=warm_up)
        except (LeftOutError, InputError) as error:
            notes.append(str(error))
            continue
        loads.append(found)
        notes += remarks
    for note in notes:
        say_remark(f"note: {note}")
    if not loads:
        raise InputError(
            "there are no loads to compare with", why="; ".join(notes), fix="name folders that compare made"
        )
    return tuple(loads), tuple(notes)


def _carry_out(job: CalibrationJob, folder: Path) -> Calibration:
    with PlayedLoads(TimesReader, folder, watch_loads) as simulator:
        return carry_out_calibration(job, simulator, say_step, dt.datetime.now(dt.UTC).date().isoformat())


def _write(found: Calibration, folder: Path, store: Path | None) -> None:
    text = dump_browser_model(found.model, found.evidence)
    for file in (folder / f"{found.model.name}.toml", *([store] if store is not None else ())):
        with writing_to(file):
            file.write_text(text, encoding="utf-8")
    picture = calibration_picture(found)
    keep_result(folder, ResultKind.CALIBRATE, found.to_dict(), lambda file: file.write_text(picture, encoding="utf-8"))
