"""The machine that measures, and the versions of our own programs that make results."""

import contextlib
import hashlib
import math
import os
import platform
from importlib.metadata import version
from pathlib import Path
from typing import Any

from mixedsched.world import places

# A change to any of these may change what a load measures; one to a report or a command cannot.
LOAD_CODE = ("errors.py", "units.py", "model", "core", "world", "sites", "lab")
ADVICE_CODE = (*LOAD_CODE, "advice")  # of strategies that also choose what is measured


def processors() -> int:
    """How many processors this process may use: those that it may run on, or as many as its control group has time for.

    Instead the number in PYTHON_CPU_COUNT, if there is one, which Python itself heeds from 3.13 on.
    """
    told = os.environ.get("PYTHON_CPU_COUNT", "")
    if told.isdecimal() and int(told) > 0:
        return int(told)
    allowed = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    quota = quota_of()
    return allowed if quota is None else max(1, min(allowed, math.ceil(quota)))


def quota_of(own: Path = Path("/proc/self/cgroup"), groups: Path = Path("/sys/fs/cgroup")) -> float | None:
    """How many processors' time this process may have, as containers (docker --cpus) and services limit it; None without limit.

    own: names its control group. groups: their folders. Source: Linux, cgroup-v2.rst, "cpu.max".
    """
    try:
        name = next(line for line in own.read_text(encoding="utf-8").splitlines() if line.startswith("0::"))
    except (OSError, StopIteration):
        return None
    folder = groups / name.removeprefix("0::").strip("/")
    quotas = []
    for group in (folder, *folder.parents):  # a group has no more than those above it
        with contextlib.suppress(OSError, ValueError):  # ValueError: "max", no limit
            quota, period = map(int, (group / "cpu.max").read_text(encoding="ascii").split())
            quotas.append(quota / period)
    return min(quotas, default=None)


def machine_facts() -> dict[str, Any]:
    """Facts about the machine that bear on results."""
    import psutil

    return {
        "system": f"{platform.system()} {platform.release()}",
        "processor": _processor(),
        "cores": os.cpu_count(),
        "processors": processors(),
        "memory_bytes": psutil.virtual_memory().total,
        "load_before": round(os.getloadavg()[0], 2),
    }


def own_versions(code: tuple[str, ...] = LOAD_CODE) -> dict[str, str]:
    """Versions of this program and of what serves the pages.

    Under "code" a fingerprint of the parts of our source that make results, which changes before version numbers do.
    code: these parts, LOAD_CODE or ADVICE_CODE.
    """
    return {
        "mixedsched": version("mixedsched"),
        "code": _code_digest(code),
        "aioquic": version("aioquic"),
        "python": platform.python_version(),
    }


def _code_digest(parts: tuple[str, ...]) -> str:
    """The same in a checkout and installed."""
    sources = [file for part in parts for file in _sources(places.PACKAGE / part)]
    files = {f"mixedsched/{file.relative_to(places.PACKAGE).as_posix()}": file for file in sources}
    runner = places.home() / "lighthouse-runner"
    for file in (*runner.glob("*.mjs"), *(runner / "src").rglob("*.mjs")):
        files[f"lighthouse-runner/{file.relative_to(runner).as_posix()}"] = file
    digest = hashlib.sha256()
    for name, file in sorted(files.items()):
        digest.update(name.encode() + file.read_bytes())
    return digest.hexdigest()[:12]


def _sources(part: Path) -> list[Path]:
    return [part] if part.is_file() else list(part.rglob("*.py"))


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        return "unknown"
    return next((line.partition(":")[2].strip() for line in lines if line.startswith("model name")), "unknown")
