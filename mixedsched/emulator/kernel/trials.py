"""What this kernel and this tc can do, found by trying in a namespace of ours."""

from __future__ import annotations

import subprocess

from mixedsched.emulator.kernel.namespaces import run
from mixedsched.errors import MixedschedError
from mixedsched.programs import with_path

_SEEDED = "netem loss random 1% seed 7"
_TRIALS = {
    "tbf": "tbf rate 1mbit burst 2000 limit 3000",
    "netem": "netem delay 1ms",
    "codel": "codel limit 10",
}


def qdisc_kinds(namespace: str) -> tuple[str, ...]:
    """The kinds of qdisc that shaping wants and that the kernel has, or can load."""
    return tuple(kind for kind, words in _TRIALS.items() if _takes(namespace, words))


def takes_seeds(namespace: str) -> bool:
    """Whether netem can be given a seed: both tc and the kernel must know of it, since 6.6."""
    usage = subprocess.run(
        with_path(["tc", "qdisc", "add", "dev", "lo", "root", "netem", "help"]), capture_output=True, check=False
    )
    if b"seed" not in usage.stderr + usage.stdout:
        return False
    try:
        run("tc", "-n", namespace, "qdisc", "add", "dev", "lo", "root", *_SEEDED.split())
        shown = run("tc", "-n", namespace, "qdisc", "show", "dev", "lo")
        run("tc", "-n", namespace, "qdisc", "delete", "dev", "lo", "root")
    except MixedschedError:
        return False
    return "seed 7" in shown


def _takes(namespace: str, words: str) -> bool:
    try:
        run("tc", "-n", namespace, "qdisc", "add", "dev", "lo", "root", *words.split())
        run("tc", "-n", namespace, "qdisc", "delete", "dev", "lo", "root")
    except MixedschedError:
        return False
    return True
