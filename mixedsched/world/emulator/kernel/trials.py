"""What this kernel and this tc can do, found by trying in a namespace of ours."""

from __future__ import annotations

import platform
import subprocess
from collections.abc import Collection
from pathlib import Path

from mixedsched.errors import MixedschedError
from mixedsched.world.emulator.kernel.namespaces import run_in
from mixedsched.world.system.programs import with_path

_SEEDED = "netem loss random 1% seed 7"
_TRIALS = {
    "tbf": "tbf rate 1mbit burst 2000 limit 3000",
    "netem": "netem delay 1ms",
    "codel": "codel limit 10",
}


def qdisc_kinds(namespace: str) -> tuple[str, ...]:
    """The kinds of qdisc that shaping wants and that the kernel has, or can load."""
    return tuple(kind for kind, words in _TRIALS.items() if _takes(namespace, words))


def unloaded_kinds(kinds: Collection[str]) -> tuple[str, ...]:
    """Of those that are not among `kinds`, those that the kernel would have, were their modules loaded."""
    modules = _modules_folder()
    return tuple(kind for kind in _TRIALS if kind not in kinds and any(modules.glob(f"sch_{kind}.ko*")))


def _modules_folder() -> Path:
    return Path("/lib/modules", platform.release(), "kernel/net/sched")


def takes_seeds(namespace: str) -> bool:
    """Whether netem can be given a seed: both tc and the kernel must know of it, since 6.6."""
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
