"""Emulated networks against their profiles: relay, netns and the router VM are probed in turns, and the findings kept.

`python -m benchmarks.networks` measures (about a minute for each network, back end and round), writes one file for each into
results/networks/ and redraws the figures and the tables of docs/networks.md. `--draw` only redraws, from what is stored.
Rounds go on where they stopped; `--again` begins anew. Run it on a machine that does nothing else.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
from pathlib import Path
from typing import Any

from benchmarks._command import HOME, parser_of
from benchmarks._networks_figures import BACKENDS
from benchmarks._networks_page import write_page
from mixedsched.errors import MixedschedError
from mixedsched.lab.machine import machine_facts
from mixedsched.report.papers.script import Countdown, run_script, tell
from mixedsched.world import catalog
from mixedsched.world.emulator.backend import open_backend
from mixedsched.world.emulator.probe.checking import check_link

RESULTS = HOME / "results" / "networks"
LINKS = ("sander-bw2", "sander-loss2", "sander-burst5", "sander-burst10", "sander-burst15", "4g", "wifi-lossy")
ROUNDS = 3
LOSSES_S = 40.0


def main() -> None:
    arguments = _arguments()
    if not arguments.draw:
        rounds = range(1, arguments.rounds + 1)
        missing = [
            (number, link, backend)
            for number in rounds
            for link in arguments.links
            for backend in arguments.backends
            if arguments.again or number > len(stored(arguments.results, backend, link)["rounds"])
        ]
        countdown = Countdown(len(missing))
        for number, link, backend in missing:
            found = measure(arguments, backend, link, number)
            countdown.done(f"{link} on {backend}, round {number}: {found}")
    for file in write_page(arguments.results, HOME / "docs"):
        tell(f"written: {file.relative_to(HOME)}")


def stored(folder: Path, backend: str, link: str) -> dict[str, Any]:
    """What is known of a network so far."""
    file = _file(folder, backend, link)
    if not file.exists():
        return {"backend": backend, "link": link, "rounds": []}
    found: dict[str, Any] = json.loads(file.read_text(encoding="utf-8"))
    return found


def measure(arguments: argparse.Namespace, backend: str, link: str, number: int) -> str:
    """One round, added to what is stored, or the first in its place. Returns what came of it, in words.

    A back end that is missing here is passed over, and what is stored of it stays.
    """
    known = stored(arguments.results, backend, link)
    if arguments.again and number == 1:
        known["rounds"] = []
    if len(known["rounds"]) >= number:  # the first could not be made again
        return "left as it was"
    machine = machine_facts()
    try:
        found = asyncio.run(_checked(backend, link, arguments.seed + number - 1, arguments.losses_s))
    except (MixedschedError, ConnectionError) as error:
        return f"left out: {error}"
    known["rounds"].append({"machine": machine, "load_after": round(os.getloadavg()[0], 2), **found})
    file = _file(arguments.results, backend, link)
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(json.dumps(known, indent=1) + "\n", encoding="utf-8")
    off = [f"{item['quantity']} {item['direction']}" for item in found["findings"] if item["verdict"] == "off"]
    return f"off: {', '.join(off)}" if off else "ok"


def _file(folder: Path, backend: str, link: str) -> Path:
    return folder / f"{backend}-{link}.json"


async def _checked(backend: str, link: str, seed: int, losses_s: float) -> dict[str, Any]:
    profile = catalog.load_profile(link)
    async with open_backend(backend, profile) as network:
        found = await check_link(network, profile, seed, lambda *_: None, losses_s=losses_s)
    return found.to_dict()


def _arguments() -> argparse.Namespace:
    parser = parser_of("networks", __doc__)

    def names(text: str) -> list[str]:
        return text.split(",")

    parser.add_argument("--backends", type=names, default=list(BACKENDS), help="by default relay,vm,netns")
    parser.add_argument("--links", type=names, default=list(LINKS), help="network profiles, by name")
    parser.add_argument("--rounds", type=int, default=ROUNDS, help="each with a seed of its own")
    parser.add_argument("--seed", type=int, default=1, help="of the first round")
    parser.add_argument("--losses-s", type=float, default=LOSSES_S, help="for how long losses are counted")
    parser.add_argument("--results", type=Path, default=RESULTS, help="where findings are kept")
    parser.add_argument("--again", action="store_true", help="forget what is stored")
    parser.add_argument("--draw", action="store_true", help="only redraw figures and tables")
    return parser.parse_args()


if __name__ == "__main__":
    run_script(main)
