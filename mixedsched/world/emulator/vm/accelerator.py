"""Whether KVM works here, remembered from one start to the next."""

from __future__ import annotations

import contextlib
import json
import os
import platform
from collections.abc import Sequence
from pathlib import Path

KVM_DEVICE = Path("/dev/kvm")
KVM_LIMIT_S = 3.0  # with KVM the kernel is up within a second
TCG_LIMITS_S = (12.0, 10.0)  # without, in two to four, or eight where others use the processor; and once more


def accelerators(note: Path) -> list[tuple[str, float]]:
    """What to try, best first, each with the seconds that it has to get ready. note: a file that keeps what was found."""
    slow = [("tcg", limit_s) for limit_s in TCG_LIMITS_S]
    if not os.access(KVM_DEVICE, os.R_OK | os.W_OK) or _read(note) == "tcg":
        return slow
    return [("kvm", KVM_LIMIT_S), *slow]


def remember(note: Path, tried: Sequence[tuple[str, float]], accelerator: str) -> None:
    """Note what worked, if there was a choice."""
    if tried[0][0] != "tcg":
        with contextlib.suppress(OSError):
            note.write_text(json.dumps({"host": _host(), "accelerator": accelerator}), encoding="utf-8")


def _read(note: Path) -> str | None:
    try:
        facts = json.loads(note.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    return facts.get("accelerator") if facts.get("host") == _host() else None


def _host() -> str:
    """Another kernel, or another machine, may be another case."""
    return f"{platform.node()} {platform.release()}"
