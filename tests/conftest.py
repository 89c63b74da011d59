"""Settings shared by all tests: property tests are deterministic and short; `--hypothesis-profile=thorough` digs deeper."""

from __future__ import annotations

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
