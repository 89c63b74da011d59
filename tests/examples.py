"""How many examples property tests try: the profiles, and tests that want more or fewer than others."""

from __future__ import annotations

from typing import Any

from hypothesis import HealthCheck, settings

settings.register_profile(
    "quick",
    max_examples=25,
    stateful_step_count=25,
    deadline=None,  # noisy machines: no test is judged by the clock
    derandomize=True,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.register_profile("brief", settings.get_profile("quick"), max_examples=8, stateful_step_count=15)
settings.register_profile(
    "thorough", settings.get_profile("quick"), max_examples=2000, stateful_step_count=80, derandomize=False
)


def examples(count: int, **more: Any) -> settings:
    """So many examples, and under the profile `brief` as much fewer as it has fewer than `quick`. more: other settings."""
    share = min(1.0, settings.default.max_examples / settings.get_profile("quick").max_examples)
    return settings(max_examples=max(1, round(count * share)), **more)
