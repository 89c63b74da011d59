"""One page and two schemes over all back ends, and on rung `stack`: do FCP, LCP, Speed Index, HOL and completion agree?

`python -m benchmarks.backends` runs `mixedsched compare` on each back end (it goes on where it stopped), plays the same site on
rung `stack` with the seeds of the same blocks, keeps what all of them gave in results/networks/pages-SITE-LINK.json, and
redraws tables and figures of docs/networks.md. `--draw` only redraws, from what is stored. A back end that lacks a part of the
link here is left out; `rate-only` is a link that all of them can do.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from benchmarks._backends_page import write_page
from benchmarks._command import HOME, MIXEDSCHED, parser_of, run_to_its_end
from benchmarks._networks_figures import BACKENDS
from mixedsched.errors import ExitCode, MissingPartError, MixedschedError
from mixedsched.lab.experiment import read_experiment
from mixedsched.lab.machine import machine_facts
from mixedsched.lab.model import Plan, Run, RunStatus
from mixedsched.report.papers.script import run_script, tell
from mixedsched.world import catalog
from mixedsched.world.emulator.backend import open_backend

RESULTS = HOME / "results" / "networks"
SITE, SCHEMES, BLOCKS = "agency", ("sequential", "rr"), 8
LINKS = ("sander-loss2", str(RESULTS / "rate-only.toml"))
_DONE = (ExitCode.DONE, ExitCode.INVALID_RUNS)  # where some blocks are missing, the others count


def main() -> None:
    arguments = _arguments()
    for link in () if arguments.draw else arguments.links:
        found = measured(arguments, link)
        file = arguments.results / f"pages-{found['site']}-{found['link']}.json"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
    for path in write_page(arguments.results, HOME / "docs"):
        tell(f"written: {path.relative_to(HOME)}")


def measured(arguments: argparse.Namespace, link: str) -> dict[str, Any]:
    """What every back end and rung `stack` gave over a link: a row for each load that counts.

    Raises MissingPartError if none can be used here.
    """
    machine, name = machine_facts(), catalog.load_profile(link).name
    rows: list[dict[str, Any]] = []
    left_out: dict[str, str] = {}
    for backend in arguments.backends:
        why = _why_not(backend, link)
        folder = HOME / "runs" / f"backends-{arguments.site}-{name}-{backend}"
        if not why:
            tell(f"{name} on {backend}: into {folder.relative_to(HOME)}")
            why = _compare(arguments, backend, link, folder)
        if why:
            tell(f"{name} on {backend}: left out: {why}")
            left_out[backend] = why
            continue
        experiment = read_experiment(folder)
        rows += loads(backend, experiment.plan, experiment.runs)
    if not rows:
        raise MissingPartError(f"no back end gave a load over {name}", why="; ".join(left_out.values()))
    seeds = sorted({row["link_seed"] for row in rows})
    rows += [played(arguments, link, scheme, seed) for scheme in arguments.schemes for seed in seeds]
    return {"site": arguments.site, "link": name, "machine": machine, "left_out": left_out, "rows": rows}


def _why_not(backend: str, link: str) -> str:
    """What a back end cannot do of a link here; "" if it can do all."""

    async def notes() -> tuple[str, ...]:
        async with open_backend(backend, catalog.load_profile(link)) as network:
            return network.notes

    try:
        return "; ".join(note for note in asyncio.run(notes()) if "sch_" in note)
    except MixedschedError as error:
        return str(error)


def loads(backend: str, plan: Plan, runs: list[Run]) -> Iterator[dict[str, Any]]:
    """The loads that count, with what is compared."""
    blocks = {block.index: block for block in plan.blocks if not block.warm_up}
    for run in runs:
        if run.status is not RunStatus.OK or run.block not in blocks:
            continue
        ends_ms = [item["end_ms"] for item in run.page_load["requests"] if item["finished"] and item["end_ms"]]
        yield {
            "where": backend,
            "scheme": run.arm,
            "link_seed": blocks[run.block].link_seed,
            **{key: run.metric(key) for key in ("fcp_ms", "lcp_ms", "si_ms")},
            "finished_ms": max(ends_ms, default=None),
            "hol_bytes": run.hol_bytes,
            "lost_packets": run.lost_packets,
        }


def played(arguments: argparse.Namespace, link: str, scheme: str, seed: int) -> dict[str, Any]:
    """The same on rung `stack`."""
    words = ["simulate", arguments.site, "--scheme", scheme, "--link", link, "--seed", str(seed), "--json"]
    told = subprocess.run([*MIXEDSCHED, *words], cwd=HOME, stdout=subprocess.PIPE, text=True, check=True)
    load = json.loads(told.stdout)
    return {
        "where": "stack",
        "scheme": scheme,
        "link_seed": seed,
        "finished_ms": load["finished_ms"],
        "hol_bytes": load["hol_bytes"],
        "lost_packets": load["packets_lost"],
    }


def _compare(arguments: argparse.Namespace, backend: str, link: str, folder: Path) -> str:
    """Run, or continue, a comparison; returns why it has no result, "" if it has one."""
    words = ["compare", arguments.site, "--schemes", ",".join(arguments.schemes), "--link", link]
    words += ["--backend", backend, "--blocks", str(arguments.blocks), "--out", str(folder)]
    code = run_to_its_end([*MIXEDSCHED, *words])
    return "" if code in _DONE else f"compare ended with exit code {code}"


def _arguments() -> argparse.Namespace:
    parser = parser_of("backends", __doc__)

    def names(text: str) -> list[str]:
        return text.split(",")

    parser.add_argument("--backends", type=names, default=list(BACKENDS), help="by default relay,vm,netns")
    parser.add_argument("--site", default=SITE, help="a bundled site")
    parser.add_argument("--links", type=names, default=list(LINKS), help="network profiles, by name or file")
    parser.add_argument("--schemes", type=names, default=list(SCHEMES), help="two or more")
    parser.add_argument("--blocks", type=int, default=BLOCKS, help="paired repeats on each back end")
    parser.add_argument("--results", type=Path, default=RESULTS, help="where figures are kept")
    parser.add_argument("--draw", action="store_true", help="only redraw table and figure")
    return parser.parse_args()


if __name__ == "__main__":
    run_script(main)
