"""Failures, and signs of trouble that need not fail a run: connections, losses, the processor's speed, what the site lacks."""

import statistics
from collections.abc import Sequence

from mixedsched.lab.comparison import Comparison
from mixedsched.lab.diagnostics import Misses, held_up_of, misses_of
from mixedsched.lab.model import Run, RunStatus
from mixedsched.report.svg import shortened
from mixedsched.units import format_duration, format_ms

_MISSES_NAMED = 5
_ADDRESS_CHARACTERS = 160


def health_rows(comparison: Comparison, runs: Sequence[Run]) -> list[tuple[str, dict[str, int | str]]]:
    """(arm, its cells by heading), baseline first, over all attempts and warm-up blocks.

    Counts of runs are numbers; texts are medians with ranges over the ok runs.
    """
    return [(arm.label, _cells([run for run in runs if run.arm == arm.label])) for arm in comparison.arms]


def _cells(runs: Sequence[Run]) -> dict[str, int | str]:
    good = [run for run in runs if run.status is RunStatus.OK]
    indices = [run.page_load.get("benchmark_index") for run in good]
    waited = sum(bool(run.page_load.get("fallback_waits")) for run in good)
    warned = sum(bool(run.page_load.get("warnings")) for run in good)
    costs = [run.cost_s for run in good]
    (held,) = held_up_of(good, [good[0].arm if good else ""])
    return {
        "attempted": len(runs),
        "ok": len(good),
        "failed": sum(run.status is RunStatus.FAILED for run in runs),
        "invalid": sum(run.status is RunStatus.INVALID for run in runs),
        "QUIC connections": _middle_and_range([run.connections for run in good]),
        "random losses": _middle_and_range(_down_counts(good, "lost")),
        "queue overflows": _middle_and_range(_down_counts(good, "overflowed")),
        "CPU benchmark": _middle_and_range([value for value in indices if isinstance(value, int | float)]),
        "time a run": format_duration(statistics.median(costs)) if costs else "–",
        "longer waits": f"{waited} of {len(good)} runs",  # Lighthouse's own
        "with warnings": f"{warned} of {len(good)} runs",
        "packets held up": f"{_ms(held.relay_ms)}, at most {_ms(held.relay_most_ms)}",
        "server, worker waited": f"{_ms(held.server_ms)}, {_ms(held.worker_ms)}",
    }


def _down_counts(runs: Sequence[Run], name: str) -> list[float]:
    """A counter of the link towards the browser, of the runs that have it."""
    counts = [run.relay.get("down", {}).get(name) for run in runs]
    return [count for count in counts if isinstance(count, int | float)]


def _ms(value: float | None) -> str:
    return "–" if value is None else format_ms(value)


def _middle_and_range(values: Sequence[float]) -> str:
    """For example "2 (1 to 3)", or only "2" where all are the same."""
    if not values:
        return "–"
    middle, low, high = statistics.median(values), min(values), max(values)
    return f"{middle:g}" if low == high else f"{middle:g} ({low:g} to {high:g})"


def miss_lines(comparison: Comparison, runs: Sequence[Run]) -> list[str]:
    """A sentence for each arm whose runs asked for what the site does not have, with the requests that most runs missed."""
    return [_miss_line(item) for item in misses_of(runs, [arm.label for arm in comparison.arms])]


def _miss_line(item: Misses) -> str:
    named = "; ".join(
        shortened(text, _ADDRESS_CHARACTERS) + (f" (in {runs})" if runs != item.missing_runs else "")
        for text, runs in item.requests[:_MISSES_NAMED]
    )
    more = len(item.requests) - _MISSES_NAMED
    rest = f"; and {more} more" if more > 0 else ""
    return f"{item.arm}: {item.missing_runs} of {item.runs} runs asked for what the site does not have: {named}{rest}"


def failure_rows(comparison: Comparison) -> list[tuple[str, str, str, int, str]]:
    """(arm, status, reason, how often, blocks), most frequent first."""
    blocks: dict[tuple[str, str, str], list[str]] = {}
    for item in comparison.failures:
        name = f"{item.block}{' (warm-up)' if item.warm_up else ''}"
        blocks.setdefault((item.arm, item.status, item.reason or "no reason given"), []).append(name)
    ranked = sorted(blocks.items(), key=lambda entry: (-len(entry[1]), entry[0]))
    return [(*key, len(names), ", ".join(dict.fromkeys(names))) for key, names in ranked]
