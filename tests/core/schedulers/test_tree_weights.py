"""The weights of groups are parameters of the tree schemes; by default they are those of the studies."""

from __future__ import annotations

from collections import Counter

import pytest

from mixedsched.core.schedulers import SCHEMES
from mixedsched.errors import UsageError
from mixedsched.model.request import ChromiumPriority, Kind, Request
from mixedsched.model.scheme import configure
from mixedsched.world import catalog

SHEET = Request(4, "/a.css", Kind.STYLESHEET, chromium_priority=ChromiumPriority.VERY_HIGH, flags=frozenset())
FETCH = Request(8, "/a.json", Kind.XHR, chromium_priority=ChromiumPriority.HIGH, flags=frozenset())
PACKETS = 600


def shares(spec: str) -> Counter[str]:
    """Packets of a style sheet, a leader, and of a fetch, which is unblocked, side by side."""
    scheme = configure(spec, SCHEMES, catalog.load_mapping)
    scheduler = scheme.create_scheduler()
    for request in (SHEET, FETCH):
        scheduler.open(request.stream_id, scheme.place(request))
    sent: Counter[str] = Counter()
    for _ in range(PACKETS):
        stream_id = scheduler.pick()
        assert stream_id is not None
        scheduler.sent(stream_id, 1400)
        sent["sheet" if stream_id == SHEET.stream_id else "fetch"] += 1
    return sent


@pytest.mark.parametrize("name", ["firefox", "firefox-tree"])
def test_shares_follow_the_weights(name: str) -> None:
    assert shares(name)["sheet"] == pytest.approx(PACKETS * 201 / 302, abs=2)
    assert shares(f"{name}:leaders=50,unblocked=150")["sheet"] == pytest.approx(PACKETS / 4, abs=2)


@pytest.mark.parametrize("name", ["firefox", "firefox-tree"])
def test_the_usual_weights_said_aloud_change_nothing(name: str) -> None:
    assert shares(f"{name}:leaders=201,unblocked=101,background=1,followers=1") == shares(name)


@pytest.mark.parametrize("value", ["0", "257", "1.5"])
def test_weights_that_a_tree_cannot_have_are_refused(value: str) -> None:
    with pytest.raises(UsageError, match="not possible"):
        configure(f"firefox-tree:urgent_start={value}", SCHEMES, catalog.load_mapping)
