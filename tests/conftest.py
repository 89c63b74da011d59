"""Settings shared by all tests: property tests are deterministic and short; `--hypothesis-profile=thorough` digs deeper.

Tests that go by the real clock (emulated networks, most browsers) are marked `alone`; all others can share the machine:
`pytest -n auto -m "not alone"`.
"""

from __future__ import annotations

import signal
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

settings.register_profile(
    "quick",
    max_examples=40,
    stateful_step_count=25,
    deadline=None,  # noisy machines: no test is judged by the clock
    derandomize=True,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.register_profile(
    "thorough", settings.get_profile("quick"), max_examples=2000, stateful_step_count=80, derandomize=False
)
settings.load_profile("quick")

if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:
    # So it is for jobs in a shell's background, and would be for all that tests start, and then interrupt.
    signal.signal(signal.SIGINT, signal.default_int_handler)

_HERE = Path(__file__).parent
_BY_THE_CLOCK = ("world/browser/", "world/emulator/", "cli/test_lab", "cli/test_record", "test_end_to_end")
# With a browser, but without an emulated network, and no matter how long it takes.
_IN_NO_HURRY = (
    "cli/test_synth",
    "report/",
    "sites/har/",
    "sites/synth/",
    "sites/test_assets_in_chromium",
    "sites/test_connections_in_chromium",
)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        place = item.path.relative_to(_HERE).as_posix()
        in_a_browser = item.get_closest_marker("browser") is not None and not place.startswith(_IN_NO_HURRY)
        if in_a_browser or place.startswith(_BY_THE_CLOCK):
            item.add_marker(pytest.mark.alone)
