"""For tunings in Chromium."""

from functools import partial

import pytest

from mixedsched.core.metrics import QUICK_METRICS
from mixedsched.lab.bench import Design


@pytest.fixture
def without_tti(monkeypatch: pytest.MonkeyPatch) -> None:
    """Loads do not wait some 5 s each for a metric that nothing here looks at."""
    monkeypatch.setattr("mixedsched.advice.tuner._contest.Design", partial(Design, metrics=QUICK_METRICS))
