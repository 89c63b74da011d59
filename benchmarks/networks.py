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
import sys
from pathlib import Path
from typing import Any

from benchmarks._networks_page import write_page
from mixedsched.errors import MixedschedError
from mixedsched.lab.machine import machine_facts
from mixedsched.world import catalog
from mixedsched.world.emulator.backend import open_backend
from mixedsched.world.emulator.probe.checking import check_link

HOME = Path(__file__).resolve().parents[1]
RESULTS = HOME / "results" / "networks"
BACKENDS = ("relay", "vm", "netns")
LINKS = ("sander-bw2", "sander-loss2", "sander-burst5", "sander-burst10", "sander-burst15", "4g", "wifi-lossy")
ROUNDS = 3
LOSSES_S = 40.0


def main() -> None:
    arguments = _arguments()
    if not arguments.draw:
        for number in range(1, arguments.rounds + 1):
            for link in arguments.links:
                for backend in arguments.backends:
                    measure(arguments.results, backend, link, number, arguments)
    for file in write_page(arguments.results, HOME / "docs"):
        _say(f"written: {file.relative_to(HOME)}")


def measure(folder: Path, backend: str, link: str, number: int, arguments: argparse.Namespace) -> None:
    """One round, added to what is stored. A back end that is missing here is passed over with its reason."""
    file = folder / f"{backend}-{link}.json"
    stored: dict[str, Any] = {"backend": backend, "link": link, "rounds": []}
    if file.exists() and not (arguments.again and number == 1):
        stored = json.loads(file.read_text(encoding="utf-8"))
    if len(stored["rounds"]) >= number:
        return
    machine = machine_facts()
    try:
        found = asyncio.run(_checked(backend, link, arguments.seed + number - 1, arguments.losses_s))
    except (MixedschedError, ConnectionError) as error:
        _say(f"{backend} {link}: left out: {error}")
        return
    stored["rounds"].append({"machine": machine, "load_after": round(os.getloadavg()[0], 2), **found})
    folder.mkdir(parents=True, exist_ok=True)
    file.write_text(json.dumps(stored, indent=1) + "\n", encoding="utf-8")
    off = [f"{item['quantity']} {item['direction']}" for item in found["findings"] if item["verdict"] == "off"]
    _say(f"{backend} {link}, round {number}: {'off: ' + ', '.join(off) if off else 'ok'}")


async def _checked(backend: str, link: str, seed: int, losses_s: float) -> dict[str, Any]:
    profile = catalog.load_profile(link)
    async with open_backend(backend, profile) as network:
        found = await check_link(network, profile, seed, lambda *_: None, losses_s=losses_s)
    return found.to_dict()


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.networks", description=(__doc__ or "").splitlines()[0])

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


def _say(text: str) -> None:
    sys.stderr.write(text + "\n")


if __name__ == "__main__":
    main()
