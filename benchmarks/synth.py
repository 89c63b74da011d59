"""How far Chromium does what page descriptions say with the sites that `synth` makes of them, as a Markdown table.

    python -m benchmarks.synth FOLDER [--only NAME ...] [--form-factor desktop]

FOLDER holds page descriptions (*.json). Sites are made in a temporary folder, and loaded over loopback, one after the other.
"""

from __future__ import annotations

import argparse
import asyncio
import tempfile
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from benchmarks._command import parser_of, say_all
from mixedsched.errors import InputError, MixedschedError
from mixedsched.lab.fidelity import Fidelity, check_site
from mixedsched.model.page import Page
from mixedsched.report.papers.script import Countdown, run_script
from mixedsched.sites.opening import load_site
from mixedsched.sites.synth import Synthesis, synthesise
from mixedsched.units import format_bytes

_HEADER = (
    "| page | resources | size | kind and priority | order asked | order sent | sizes | by construction | deviates in |\n"
    "|---|---:|---:|---:|---:|---:|---|---:|---|"
)


def main() -> None:
    options = _options()
    files = [file for file in sorted(options.folder.glob("*.json")) if not options.only or file.stem in options.only]
    if not files:
        raise InputError(
            f"folder {options.folder} holds no such page", fix="name a folder of page descriptions, *.json"
        )
    found: list[Fidelity] = []
    countdown = Countdown(len(files))
    say_all([_HEADER])
    for file in files:
        with tempfile.TemporaryDirectory(prefix="synth-") as folder:
            try:
                made, fidelity = _tried(file, Path(folder), options.form_factor)
            except MixedschedError as error:
                row = f"| {file.stem} | failed: {error} |"
            else:
                found.append(fidelity)
                row = _row(file.stem, made, fidelity)
        say_all([row])
        countdown.done(file.stem)
    good = sum(fidelity.is_good for fidelity in found)
    faithful, resources = sum(one.faithful for one in found), sum(one.resources for one in found)
    total = f"{good} of {len(files)} pages reach the aim; {faithful} of {resources} resources have kind and priority."
    say_all(["", total])


def _options() -> argparse.Namespace:
    parser = parser_of("synth", __doc__)
    parser.add_argument("folder", type=Path, help="of page descriptions, *.json")
    parser.add_argument("--only", nargs="*", default=[], metavar="NAME", help="some of them, without .json")
    parser.add_argument("--form-factor", choices=["mobile", "desktop"], default="mobile")
    return parser.parse_args()


def _tried(file: Path, folder: Path, form_factor: str) -> tuple[Synthesis, Fidelity]:
    made = synthesise(Page.from_json(file.read_bytes(), file.name), folder / "site")
    site = load_site(made.target)
    screen = "desktop" if form_factor == "desktop" else "mobile"
    return made, asyncio.run(check_site(site, screen))


def _row(name: str, made: Synthesis, fidelity: Fidelity) -> str:
    mark = "" if fidelity.is_good else " (!)"
    cells = [
        name + mark,
        str(fidelity.resources),
        format_bytes(made.body_bytes),
        f"{fidelity.share:.1%}",
        _number(fidelity.order_correlation),
        _number(fidelity.sent_correlation),
        "exact" if fidelity.has_exact_sizes else "off",
        str(sum(one.what in {"request", "priority"} for one in made.deviations)),
        _counted([finding.what for finding in fidelity.findings]),
    ]
    return f"| {' | '.join(cells)} |"


def _number(value: float | None) -> str:
    return "-" if value is None else f"{value:.3f}"


def _counted(names: Sequence[str]) -> str:
    return ", ".join(f"{name} {times}" for name, times in sorted(Counter(names).items()))


if __name__ == "__main__":
    run_script(main)
