"""Settings shared by all tests, and what some of them need of the machine.

A test says what it needs by asking for a fixture, itself or through another fixture, and that gives it a marker:

    chromium     `browser`  it starts Chromium
    firefox      `browser`  it starts Firefox, and is skipped where there is none
    real_time    `alone`    it goes by the real clock, so nothing runs beside it

One more gives no marker:

    unhurried    loads in a browser, whose subject is not time: those count whose packets left the link late, too

The marker `namespaces` comes from tests/world/emulator/privileged.py: networks in the kernel, whose tests share one worker.
`make quick` leaves out these three markers, and `slow`. Property tests are deterministic; how many examples they try
depends on the profile: `brief` for `make quick`, `quick` unless told otherwise; `--hypothesis-profile=thorough` digs deeper.
"""

from __future__ import annotations

import gc
import math
import os
import re
import signal
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest
from hypothesis import settings

from mixedsched.errors import MissingPartError
from mixedsched.world.browser.find import find_firefox
from tests import examples  # noqa: F401 - registers the profiles

settings.load_profile("quick")

if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:
    # So it is for jobs in a shell's background, and would be for all that tests start, and then interrupt.
    signal.signal(signal.SIGINT, signal.default_int_handler)

# Tests run side by side: threads of numeric libraries would only wait for each other, and do so by turning in circles.
for _threads in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
    os.environ.setdefault(_threads, "1")

# Nor does a test start a process for each processor, unless it says how many: each would import the lab anew.
os.environ.setdefault("PYTHON_CPU_COUNT", "1")

# Consoles of the command line would keep this width; tests/command.py makes them now, and gives each command a width.
os.environ.pop("COLUMNS", None)

_HERE = Path(__file__).parent
_MARKERS = {"chromium": pytest.mark.browser, "firefox": pytest.mark.browser, "real_time": pytest.mark.alone}
_LONG = (
    "namespaces",
    "browser",
    "slow",
)  # what takes longest comes first, so that no worker is left with it at the end


@pytest.fixture(scope="session")
def chromium() -> None:
    """For tests that start Chromium, by the lighthouse-runner or on its own."""


@pytest.fixture(scope="session")
def firefox() -> None:
    """For tests that start Firefox."""
    try:
        find_firefox()
    except MissingPartError as error:
        pytest.skip(str(error))


@pytest.fixture(scope="session")
def real_time() -> None:
    """For tests that measure time, or whose subject does: nothing else should run beside them."""


@pytest.fixture
def unhurried(monkeypatch: pytest.MonkeyPatch) -> None:
    """For loads in this process, beside other tests: they need not be made again until this machine was punctual."""
    monkeypatch.setattr("mixedsched.lab._validity.MAX_HELD_RATIO", math.inf)


@cache
def _is_known_to_make(file: Path) -> bool:
    """Whether `make test` finds the file when it looks for those with tests that go by the clock."""
    return re.search('"real_time"|real_time:', file.read_text(encoding="utf-8")) is not None


@cache
def _group_of(file: Path) -> str:
    return file.relative_to(_HERE).with_suffix("").as_posix()


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Iterator[None]:
    """All that is collected stays to the end: Python need not look through it for garbage, now or later.

    Nor need it look as often as usual through what has stayed since then, most of which are modules and what is shared.
    """
    gc.disable()
    try:
        yield
    finally:
        gc.freeze()
        gc.set_threshold(*gc.get_threshold()[:2], 50)
        gc.enable()


@pytest.hookimpl(wrapper=True)  # before `-m` chooses, and before xdist looks at groups
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> Iterator[None]:
    ranks: dict[str, int] = {}
    for item in items:
        for fixture in _MARKERS.keys() & set(getattr(item, "fixturenames", ())):
            item.add_marker(_MARKERS[fixture])
        markers = {marker.name for marker in item.iter_markers()}
        if "alone" in markers and not _is_known_to_make(item.path):
            raise pytest.UsageError(f"{item.nodeid}: the file itself must ask for real_time, or `make test` misses it")
        # With `--dist loadgroup` a file is one worker's, so that its fixtures are made once.
        group = _group_of(item.path)
        for needed in item.iter_markers("namespaces") if "namespaces" in markers else ():
            group = "namespaces"
            if needed.kwargs["missing"]:
                item.add_marker(pytest.mark.skip(reason=needed.kwargs["missing"]))
        item.add_marker(pytest.mark.xdist_group(group))
        rank = next((rank for rank, name in enumerate(_LONG) if name in markers), len(_LONG))
        ranks[group] = min(ranks.get(group, rank), rank)
    if hasattr(config, "workerinput"):  # one of several workers, to whom xdist gives the groups in this order
        items.sort(key=lambda item: ranks[item.get_closest_marker("xdist_group").args[0]])
    yield
