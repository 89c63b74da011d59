"""What the qdiscs of a shaped link have counted, as every back end tells it. Pure: reads what `tc -s -j qdisc show` prints."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

QdiscStats = Sequence[Mapping[str, Any]]


def link_counters(stats: Mapping[str, QdiscStats]) -> dict[str, dict[str, int]]:
    """Counters per direction.

    stats: by the name of the hop ("tbf-down", "netem-down" ...), what `tc -s -j qdisc show dev DEVICE` told of its device.
    Sizes count as the profile counts them. duplicated may be off by what was under way when the counters were read.
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
