"""Short slices: asked for without privilege, and believed only if the kernel says that it keeps them."""

from __future__ import annotations

import ctypes
import platform
import subprocess
import sys

import pytest

from mixedsched.world.emulator.relay import _promptness as promptness
from mixedsched.world.emulator.relay._promptness import ask_for_short_slices
from mixedsched.world.system.precedence import kernel_release

_ASK = "from mixedsched.world.emulator.relay._promptness import ask_for_short_slices; print(ask_for_short_slices())"

KNOWS_SLICES = platform.machine() in {"x86_64", "aarch64"} and (kernel_release() or (0, 0)) >= (6, 12)


@pytest.mark.skipif(not KNOWS_SLICES, reason="this kernel has no slices that one may ask for")
def test_a_kernel_that_knows_slices_grants_them() -> None:
    done = subprocess.run([sys.executable, "-c", _ASK], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "True"


class _System:
    """A libc whose kernel answers like this."""

    def __init__(self, *, keeps: bool, refuses: bool = False) -> None:
        self._keeps, self._refuses = keeps, refuses
        self._runtime_ns = 0

    def syscall(self, number: int, _pid: int, attributes: object, *_: int) -> int:
        if self._refuses:
            return -1
        if isinstance(attributes, bytes):
            self._runtime_ns = promptness._ATTRIBUTES.unpack(attributes)[5] if self._keeps else 0
        else:
            attributes.raw = promptness._ATTRIBUTES.pack(48, 0, 0, 0, 0, self._runtime_ns, 0, 0)  # type: ignore[attr-defined]
        return 0


@pytest.mark.parametrize(
    ("system", "expected"),
    [(_System(keeps=True), True), (_System(keeps=False), False), (_System(keeps=True, refuses=True), False)],
)
def test_what_an_older_kernel_takes_without_a_word_is_not_believed(
    system: _System, expected: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ctypes, "CDLL", lambda *_, **__: system)
    monkeypatch.setattr(platform, "machine", lambda: "x86_64")
    monkeypatch.setattr(sys, "platform", "linux")
    assert ask_for_short_slices() is expected


def test_another_kind_of_machine_has_none(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(platform, "machine", lambda: "vax")
    assert ask_for_short_slices() is False
