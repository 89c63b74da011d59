"""The kernel's queueing disciplines: which kinds it has, found by trying in a namespace of ours, and what they have counted."""

import platform
import subprocess
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Any

from mixedsched.errors import MixedschedError
from mixedsched.world.emulator.kernel.namespaces import run_in
from mixedsched.world.system.programs import with_path

QdiscStats = Sequence[Mapping[str, Any]]

_SEEDED = "netem loss random 1% seed 7"
_TRIALS = {"tbf": "tbf rate 1mbit burst 2000 limit 3000", "netem": "netem delay 1ms", "codel": "codel limit 10"}


def qdisc_kinds(namespace: str) -> tuple[str, ...]:
    """The kinds of qdisc that shaping wants and that the kernel has, or can load."""
    return tuple(kind for kind, words in _TRIALS.items() if _takes(namespace, words))


def unloaded_kinds(kinds: Collection[str]) -> tuple[str, ...]:
    """The kinds beyond `kinds` that the kernel would have if their modules were loaded."""
    modules = _modules_folder()
    return tuple(kind for kind in _TRIALS if kind not in kinds and any(modules.glob(f"sch_{kind}.ko*")))


def _modules_folder() -> Path:
    return Path("/lib/modules", platform.release(), "kernel/net/sched")


def takes_seeds(namespace: str) -> bool:
    """Whether netem can be given a seed: both tc and the kernel must support it (6.6 and later)."""
    usage = subprocess.run(
        with_path(["tc", "qdisc", "add", "dev", "lo", "root", "netem", "help"]), capture_output=True, check=False
    )
    if b"seed" not in usage.stderr + usage.stdout:
        return False
    try:
        run_in(namespace, "tc", "qdisc", "add", "dev", "lo", "root", *_SEEDED.split())
        shown = run_in(namespace, "tc", "qdisc", "show", "dev", "lo")
        run_in(namespace, "tc", "qdisc", "delete", "dev", "lo", "root")
    except MixedschedError:
        return False
    return "seed 7" in shown


def _takes(namespace: str, words: str) -> bool:
    try:
        run_in(namespace, "tc", "qdisc", "add", "dev", "lo", "root", *words.split())
        run_in(namespace, "tc", "qdisc", "delete", "dev", "lo", "root")
    except MixedschedError:
        return False
    return True


def link_counters(stats: Mapping[str, QdiscStats]) -> dict[str, dict[str, int]]:
    """Counters per direction.

    stats: by the name of the hop ("tbf-down", "netem-down" ...), the output of `tc -s -j qdisc show dev DEVICE` for its device.
    Sizes count as the profile counts them. duplicated may be off by the packets in flight when the counters were read.
    """
    return {side: _direction(stats[f"tbf-{side}"], stats[f"netem-{side}"]) for side in ("down", "up")}


def _direction(queue_stats: QdiscStats, path_stats: QdiscStats) -> dict[str, int]:
    queue, path = _root(queue_stats), _root(path_stats)
    codel = next((item for item in queue_stats if item["kind"] == "codel"), None)
    by_codel = 0 if codel is None else codel["drops"] - codel.get("drop_overlimit", 0)
    counters = {
        "packets": queue["packets"] + queue["qlen"] + by_codel,
        "size_bytes": queue["bytes"] + queue["backlog"],
        "overflowed": queue["drops"] - by_codel,
        "lost": 0,
        "dropped_by_aqm": by_codel,
        "duplicated": 0,
        "reordered": 0,
    }
    if path["kind"] == "netem":
        counters["lost"] = path["drops"]
        if path["options"].get("duplicate"):
            counters["duplicated"] = max(0, path["packets"] + path["qlen"] + path["drops"] - queue["packets"])
        counters["reordered"] = path.get("requeues", 0)  # netem counts there what it put ahead of all others
    return counters


def _root(stats: QdiscStats) -> Mapping[str, Any]:
    return next(item for item in stats if item.get("root"))
