"""What visitors' browsers report: which visit it counts for, and what a hostile client cannot do with it."""

from __future__ import annotations

import random
from dataclasses import replace
from urllib.parse import quote, urlencode

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mixedsched.core.learning.beacon import BEACON_PATH, QUERY_MOST, SCRIPT, read_beacon
from mixedsched.core.learning.learned import LearnedPage
from mixedsched.core.learning.plan import SAFE
from mixedsched.core.learning.proposals import OrderRecipe, plan_of
from mixedsched.core.learning.recorder import HOLD_S, VisitRecorder
from mixedsched.core.learning.state import PageState, Proposal
from mixedsched.core.learning.visit import MAX_PATH, Beacon, Visit
from mixedsched.model.request import Kind, Request
from tests.core.learning.visits import renamed, requests, visit
from tests.examples import examples


def report(page: str = "/", age_ms: float = 3000, fcp: float = 500, lcp: float = 900, **more: object) -> str:
    """The path of a beacon's request."""
    return f"{BEACON_PATH}?{urlencode({'p': page, 't': age_ms, 'f': fcp, 'l': lcp, 'c': 0.01, 'e': '', **more})}"


def document(stream_id: int, path: str = "/", **more: bool) -> Request:
    return Request(stream_id, path, Kind.DOCUMENT, body_bytes=1000, navigates=True, **more)


def posted(stream_id: int, path: str, *, is_found: bool = True) -> Request:
    return Request(stream_id, path, Kind.XHR, is_found=is_found)


class Recorded:
    """A recorder, and the visits that it hands over."""

    def __init__(self, *, beacons: bool = True) -> None:
        self.visits: list[Visit] = []
        self.recorder = VisitRecorder(self.visits.append, beacons=beacons)
        self._stream_id = -4

    def asks(self, at_s: float, request: Request) -> None:
        self._stream_id += 4
        self.recorder.placed(at_s, self._stream_id, replace(request, stream_id=self._stream_id), "")
        self.recorder.scheduled(at_s + 0.05, self._stream_id, request.body_bytes or 100, 0, 1)

    def told(self) -> list[Beacon | None]:
        self.recorder.finish()
        return [item.beacon for item in self.visits]


def test_the_script_is_small_and_holds_no_identifier() -> None:
    assert len(SCRIPT) <= 700
    for word in ("cookie", "localStorage", "sessionStorage", "random", "userAgent"):
        assert word not in SCRIPT


def test_a_report_of_the_longest_addresses_is_short_enough_to_be_read() -> None:
    """Each letter of another script is six characters in an address, and ten in the report."""
    longest = "/" + quote("\u044f" * 300)
    recorded = Recorded()
    recorded.asks(1.0, document(0, longest))
    told = report(longest[:MAX_PATH], e=f"https://x.test{longest}"[:300])
    assert len(told) < QUERY_MOST
    recorded.asks(4.0, posted(0, told))
    assert recorded.told() == [Beacon(500, 900, None, 0.01)]
    assert f"location.pathname.slice(0,{MAX_PATH})" in SCRIPT
    assert ".slice(0,300)" in SCRIPT


def test_a_report_counts_for_the_visit_under_way() -> None:
    recorded = Recorded()
    recorded.asks(1.0, document(0))
    recorded.asks(1.1, Request(0, "/a.jpg", Kind.IMAGE, body_bytes=500))
    recorded.asks(4.0, posted(0, report(e="https://x.test/a.jpg")))
    assert recorded.told() == [Beacon(500, 900, "/a.jpg", 0.01)]
    assert [item.path for item in recorded.visits[0].requests] == ["/", "/a.jpg"]


def test_one_that_comes_when_the_next_page_is_asked_for_counts_for_the_page_before() -> None:
    recorded = Recorded()
    recorded.asks(1.0, document(0))
    recorded.asks(4.0, document(0, "/next"))
    recorded.asks(4.2, posted(0, report(age_ms=3200)))
    recorded.asks(7.2, posted(0, report("/next", age_ms=3200, lcp=700)))
    assert [item and item.lcp_ms for item in recorded.told()] == [900, 700]
    assert [item.path for item in recorded.visits] == ["/", "/next"]


def test_of_two_loads_of_one_page_it_counts_for_the_one_that_is_so_old() -> None:
    recorded = Recorded()
    recorded.asks(1.0, document(0))
    recorded.asks(31.0, document(0))
    recorded.asks(34.0, posted(0, report(age_ms=3000)))
    assert [item is not None for item in recorded.told()] == [False, True]


def test_a_visit_waits_for_its_report_only_so_long() -> None:
    recorded = Recorded()
    recorded.asks(1.0, document(0))
    recorded.asks(2.0, document(0, "/next"))
    assert recorded.visits == []
    recorded.asks(2.0 + HOLD_S, Request(0, "/late.jpg", Kind.IMAGE, body_bytes=5))
    assert [item.path for item in recorded.visits] == ["/"]


def test_a_visit_has_one_report() -> None:
    recorded = Recorded()
    recorded.asks(1.0, document(0))
    for lcp in (900, 901, 902):
        recorded.asks(4.0, posted(0, report(lcp=lcp)))
    assert [item and item.lcp_ms for item in recorded.told()] == [900]


@pytest.mark.parametrize(
    "path",
    [
        report(fcp=-1),
        report(fcp=901),
        report(lcp=float("nan")),
        report(lcp=float("inf")),
        report(lcp=61_000, age_ms=70_000),
        report(age_ms=800),
        report(c="1e9"),
        report(page="x"),
        report(page="/other"),
        report(age_ms=60_000),
        report(fcp=10),  # before the document's first byte has left
        report(l="x"),
        f"{BEACON_PATH}?t=1",
        BEACON_PATH,
        report(e="x" * (QUERY_MOST + 1)),
    ],
)
def test_what_no_browser_would_report_of_the_visit_is_not_believed(path: str) -> None:
    recorded = Recorded()
    recorded.asks(1.0, document(0))
    recorded.asks(4.0, posted(0, path))
    assert recorded.told() == [None]


def test_the_largest_element_must_have_been_asked_for_and_begun_before_it_was_painted() -> None:
    recorded = Recorded()
    recorded.asks(1.0, document(0))
    recorded.asks(2.5, Request(0, "/late.jpg", Kind.IMAGE, body_bytes=500))
    recorded.asks(4.0, posted(0, report(e="/late.jpg")))
    recorded.asks(4.0, posted(0, report(e="/never-asked-for.jpg")))
    assert recorded.told() == [Beacon(500, 900, None, 0.01)]


def test_a_refused_report_and_one_where_there_are_no_beacons_say_nothing() -> None:
    for recorded, is_found in ((Recorded(), False), (Recorded(beacons=False), True)):
        recorded.asks(1.0, document(0))
        recorded.asks(4.0, posted(0, report(), is_found=is_found))
        assert recorded.told() == [None]


@given(st.text(max_size=300))
@examples(200)
def test_any_query_is_read_or_refused(query: str) -> None:
    found = read_beacon(f"{BEACON_PATH}?{query}")
    assert found is None or 0 < found.beacon.fcp_ms <= found.beacon.lcp_ms


def test_what_is_fetched_in_advance_is_no_visit_and_no_part_of_one() -> None:
    recorded = Recorded()
    recorded.asks(1.0, document(0))
    recorded.asks(1.5, document(0, "/next", is_prefetch=True))
    recorded.asks(1.6, Request(0, "/next.js", Kind.SCRIPT, body_bytes=5, is_prefetch=True))
    recorded.asks(1.7, Request(0, "/own.js", Kind.SCRIPT, body_bytes=5))
    recorded.told()
    assert [[item.path for item in found.requests] for found in recorded.visits] == [["/", "/own.js"]]


def test_requests_of_a_page_that_is_shown_again_from_the_cache_are_not_the_later_pages() -> None:
    recorded = Recorded()
    recorded.asks(1.0, document(0, "/first"))
    recorded.asks(5.0, document(0, "/second"))
    recorded.asks(9.0, Request(0, "/first.jpg", Kind.IMAGE, body_bytes=5, referrer="/first"))
    recorded.asks(9.1, Request(0, "/second.jpg", Kind.IMAGE, body_bytes=5, referrer="/second"))
    recorded.told()
    assert [[item.path for item in found.requests] for found in recorded.visits] == [
        ["/first"],
        ["/second", "/second.jpg"],
    ]


def proposing() -> tuple[PageState, list[str]]:
    """A page that was visited by honest clients, with two proposals."""
    state = PageState.of("/")
    for _ in range(4):
        state.learn(visit())
    learned = LearnedPage.of(state.memory)
    assert learned is not None
    recipes = (OrderRecipe("staged", "value"), OrderRecipe("needed", "likely"))
    state.propose([Proposal(plan_of(recipe, learned), 1.0, 0.9) for recipe in recipes])
    return state, state.names


def test_paints_of_visits_with_a_cache_or_cut_off_are_not_compared() -> None:
    state, (name, _) = proposing()
    before = state.guard.to_dict()
    cut = requests()
    for item in cut[3:]:
        item.last_byte_ms = None
    for items in (requests()[:2], cut):
        state.learn(replace(visit(items, name), beacon=Beacon(1, 1)))
    assert state.guard.to_dict() == before
    assert state.memory.partial == 2


def test_browsers_paints_decide_between_the_proposals() -> None:
    state, (late, soon) = proposing()
    paints = {SAFE: 1000.0, late: 1010.0, soon: 900.0}
    rng = random.Random(1)
    chosen = []
    for number in range(150):
        plan = state.choose(rng)
        name = SAFE if plan is None else plan.name
        lcp_ms = paints[name] * rng.uniform(0.97, 1.03)
        state.learn(replace(visit(order=name), beacon=Beacon(500, lcp_ms, "/img/two.jpg")))
        if number >= 100:
            chosen.append(name)
    settled = state.settled()
    assert settled is not None
    assert settled.name == soon
    assert chosen.count(soon) > 35
    assert state.told.visits == 150


def test_no_more_than_half_of_the_visits_try_an_order_that_few_have_seen() -> None:
    state, names = proposing()
    rng = random.Random(1)
    tried = [state.choose(rng) for _ in range(1000)]
    assert sum(plan is not None for plan in tried) < 560
    assert {plan.name for plan in tried if plan is not None} <= {*names}


def test_made_up_reports_bring_the_safe_order_at_worst() -> None:
    """One visit in five praises a bad order and slanders the safe one: honest visits outweigh that."""
    state, (worse, _) = proposing()
    rng = random.Random(2)
    for number in range(120):
        plan = state.choose(rng)
        name = SAFE if plan is None else plan.name
        honest_ms = (1400.0 if name == worse else 1000.0) * rng.uniform(0.97, 1.03)
        lies = number % 5 == 0  # from an address of its own each time
        lie_ms = 120.0 if name == worse else 60_000.0
        state.learn(replace(visit(order=name), beacon=Beacon(100, lie_ms if lies else honest_ms)))
    settled = state.settled()
    assert settled is None or settled.name != worse


def test_made_up_reports_do_not_make_the_memory_grow() -> None:
    state, _ = proposing()
    before = len(str(state.to_dict()))
    for number in range(200):
        largest = f"/made-up-{number}.jpg"
        beacon = Beacon(1 + number, 50_000, largest, number)
        state.learn(replace(visit(renamed(requests(), 3), order=f"order {number}"), beacon=beacon))
    assert len(str(state.to_dict())) < 2 * before
