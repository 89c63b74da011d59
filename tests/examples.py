"""How many examples a property test tries that wants more or fewer than others."""

from __future__ import annotations

from typing import Any

from hypothesis import settings


def examples(count: int, **more: Any) -> settings:
    """So many examples, and under the profile `brief` as much fewer as it has fewer than `quick`. more: other settings."""
    share = min(1.0, settings.default.max_examples / settings.get_profile("quick").max_examples)
    return settings(max_examples=max(1, round(count * share)), **more)
