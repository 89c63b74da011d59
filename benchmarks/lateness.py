"""What does a relay that is held up do to a page? Stalls of known length and share are put into real page loads.

`python -m benchmarks.lateness` loads a page under two schemes while the relay is stopped (SIGSTOP) and continued at random
times, as a busy machine would hold it up. It keeps a line for each load in results/lateness/SITE-LINK.jsonl, and goes on where
it stopped. It ends with a table: how late packets were, how far the paints of each scheme moved, and how often a comparison of
a scheme with itself would have given a false verdict, if a coin decided which loads are held up, and if it were all of one arm.
`--tell` only makes the table. docs/measuring.md holds the table and the rule that follows from it.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import random
import signal
import statistics
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import psutil

from benchmarks._command import HOME, parser_of, say_all
from mixedsched.core import stats
from mixedsched.lab._lab import Lab, LabSetup
from mixedsched.lab.model import Arm, Run
from mixedsched.report.papers.script import Countdown, run_script, tell
from mixedsched.sites.opening import open_site
from mixedsched.world import catalog

RESULTS = HOME / "results" / "lateness"
SCHEMES = ("sequential", "mixed")
PAINTS = ("fcp_ms", "lcp_ms", "si_ms")
_RELAY = "mixedsched.world.emulator.relay"
_COMPARISON_BLOCKS = 8
_COMPARISONS = 2000


@dataclass(frozen=True, slots=True)
class Pattern:
    """Stalls of length_ms each at random times, `share` of the time in all."""

    share: float
    length_ms: int

    def __str__(self) -> str:
        return f"{self.share:.0%} in stalls of {self.length_ms} ms" if self.share else "none"


PATTERNS = (
    Pattern(0.0, 0),
    Pattern(0.02, 4),
    Pattern(0.05, 4),
    Pattern(0.05, 25),
    Pattern(0.15, 4),
    Pattern(0.15, 25),
    Pattern(0.15, 100),
)


def main() -> None:
    arguments = _arguments()
    file = RESULTS / f"{arguments.site.rpartition('/')[2]}-{arguments.link}.jsonl"
    if not arguments.tell:
        file.parent.mkdir(parents=True, exist_ok=True)
        asyncio.run(_measure(arguments, file))
    say_all(table(_rows(file)))


async def _measure(arguments: argparse.Namespace, file: Path) -> None:
    """Load the page in every pattern under every scheme, block by block, in random order within a block."""
    missing = missing_loads(_rows(file), arguments.blocks)
    if not missing:
        return
    site, profile = open_site(arguments.site, say=tell), catalog.load_profile(arguments.link)
    setup = LabSetup(profile, "mobile", dict.fromkeys(SCHEMES, site))
    with tempfile.TemporaryDirectory(prefix="mixedsched-lateness-") as folder:
        async with Lab(setup, [Arm(scheme, scheme) for scheme in SCHEMES], Path(folder)) as lab:
            for scheme in SCHEMES:  # a warm-up, each time that this goes on
                await lab.run(arm=scheme, block=0, attempt=1, position=0, link_seed=0)
            countdown = Countdown(len(missing))
            for block, pattern, scheme in missing:
                with _held_up(pattern, random.Random(f"{block}/{pattern}/{scheme}")):
                    run = await lab.run(arm=scheme, block=block, attempt=1, position=0, link_seed=block)
                _keep(file, {"block": block, "scheme": scheme, **asdict(pattern), **_found(run)})
                countdown.done(f"block {block}, {scheme}, stalls: {pattern}")


def missing_loads(rows: Sequence[dict[str, Any]], blocks: int) -> list[tuple[int, Pattern, str]]:
    """(block, pattern, scheme) of those that are not stored yet, in the order in which they are to be made."""
    done = {(row["block"], row["share"], row["length_ms"], row["scheme"]) for row in rows}
    missing = []
    for block in range(1, blocks + 1):
        loads = [(block, pattern, scheme) for pattern in PATTERNS for scheme in SCHEMES]
        random.Random(f"lateness/{block}").shuffle(loads)
        missing += [load for load in loads if (block, load[1].share, load[1].length_ms, load[2]) not in done]
    return missing


@contextmanager
def _held_up(pattern: Pattern, rng: random.Random) -> Iterator[None]:
    """Stop and continue the relays of this process until the end of the `with`."""
    if not pattern.share:
        yield
        return
    over = threading.Event()
    thread = threading.Thread(target=_hold_up, args=(pattern, rng, over.is_set))
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()


def _hold_up(pattern: Pattern, rng: random.Random, is_over: Callable[[], bool]) -> None:
    # Of this thread alone; without the privilege stalls are as long as they come out, and are measured.
    with suppress(OSError):
        os.sched_setscheduler(0, os.SCHED_RR, os.sched_param(2))
    length_s = pattern.length_ms / 1000
    relay: psutil.Process | None = None
    while not is_over():
        time.sleep(rng.expovariate(pattern.share / (1 - pattern.share) / length_s))
        if relay is None or not relay.is_running():
            relay = next((child for child in psutil.Process().children() if _RELAY in _command(child)), None)
        if relay is not None:
            with suppress(psutil.NoSuchProcess):
                relay.send_signal(signal.SIGSTOP)
                time.sleep(length_s)
                relay.send_signal(signal.SIGCONT)


def _command(process: psutil.Process) -> list[str]:
    try:
        command: list[str] = process.cmdline()
    except psutil.Error:
        return []
    return command


def _found(run: Run) -> dict[str, Any]:
    punctuality = run.relay.get("punctuality", {})
    found: dict[str, Any] = {"late": punctuality.get("late"), "delivered": punctuality.get("delivered")}
    metrics = run.page_load.get("metrics", {})
    found |= {key: metrics.get(key) for key in PAINTS}
    found["held_ms"] = round(punctuality.get("held_us", 0) / 1000, 1)
    lcp_us = 1000 * (metrics.get("lcp_ms") or 0)
    before = [min(to_us, lcp_us) - from_us for from_us, to_us in punctuality.get("stalls_us", ()) if from_us < lcp_us]
    found["held_before_lcp_ms"] = round(sum(before) / 1000, 1)
    return found | {"reason": run.reason}


def _keep(file: Path, row: dict[str, Any]) -> None:
    with file.open("a", encoding="utf-8") as lines:
        lines.write(json.dumps(row) + "\n")


def _rows(file: Path) -> list[dict[str, Any]]:
    if not file.exists():
        return []
    return [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]


def table(rows: Sequence[dict[str, Any]]) -> Iterator[str]:
    """Lines of Markdown: a row for each pattern and scheme."""
    titles = (
        "stalls",
        "scheme",
        "packets late",
        "held up before LCP",
        *(f"{key.partition('_')[0].upper()} moved" for key in PAINTS),
    )
    yield f"| {' | '.join((*titles, 'false verdicts: coin', 'one arm'))} |"
    yield "|---" * (len(titles) + 2) + "|"
    for pattern in PATTERNS:
        for scheme in SCHEMES:
            mine = _by_block(rows, pattern, scheme)
            calm = _by_block(rows, PATTERNS[0], scheme)
            blocks = sorted(mine.keys() & calm.keys())
            if blocks:
                yield _line(pattern, scheme, [mine[block] for block in blocks], [calm[block] for block in blocks])


def _by_block(rows: Sequence[dict[str, Any]], pattern: Pattern, scheme: str) -> dict[int, dict[str, Any]]:
    key = (pattern.share, pattern.length_ms, scheme)
    return {
        row["block"]: row
        for row in rows
        if (row["share"], row["length_ms"], row["scheme"]) == key and row["lcp_ms"] is not None
    }


def _line(pattern: Pattern, scheme: str, held: list[dict[str, Any]], calm: list[dict[str, Any]]) -> str:
    late_pct = statistics.median(100 * row["late"] / max(1, row["delivered"]) for row in held)
    held_ms = statistics.median(row["held_before_lcp_ms"] for row in held)
    share_pct = statistics.median(100 * row["held_before_lcp_ms"] / row["lcp_ms"] for row in held)
    moved = [_moved(key, held, calm) for key in PAINTS]
    lcp_ms = [[row["lcp_ms"] for row in rows] for rows in (held, calm)]
    coin, one_arm = (
        f"{100 * false_verdicts(*lcp_ms, random.Random(str(pattern)), is_fair=fair):.0f} %" for fair in (True, False)
    )
    cells = [str(pattern), scheme, f"{late_pct:.1f} %", f"{held_ms:.0f} ms, {share_pct:.1f} % of LCP", *moved]
    return f"| {' | '.join((*cells, coin, one_arm))} |"


def _moved(key: str, held: list[dict[str, Any]], calm: list[dict[str, Any]]) -> str:
    steps = [late[key] - early[key] for late, early in zip(held, calm, strict=True)]
    interval = stats.signed_rank_interval(steps)
    return f"{stats.hodges_lehmann(steps):+.0f} ({interval.low:+.0f} to {interval.high:+.0f}) ms"


def false_verdicts(held: Sequence[float], calm: Sequence[float], rng: random.Random, *, is_fair: bool) -> float:
    """How often eight blocks of a scheme against itself give `better` or `worse`.

    is_fair: a coin decides which loads are held up; otherwise all those of the second arm are, and none of the first.
    """
    wrong = 0
    for _ in range(_COMPARISONS):
        pools = ((held, calm), (held, calm)) if is_fair else ((calm,), (held,))
        arms = [[rng.choice(rng.choice(pool)) for _ in range(_COMPARISON_BLOCKS)] for pool in pools]
        steps = [after - before for before, after in zip(*arms, strict=True)]
        wrong += stats.wilcoxon_p(steps) < stats.ALPHA and stats.signed_rank_interval(steps).excludes_zero()
    return wrong / _COMPARISONS


def _arguments() -> argparse.Namespace:
    parser = parser_of("lateness", __doc__)
    parser.add_argument("--site", default="agency", help="a bundled site")
    parser.add_argument("--link", default="4g", help="a network profile")
    parser.add_argument("--blocks", type=int, default=8, help="loads of each scheme under each pattern of stalls")
    parser.add_argument("--tell", action="store_true", help="only make the table, of what is stored")
    return parser.parse_args()


if __name__ == "__main__":
    run_script(main)
