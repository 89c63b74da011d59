"""An observed load is held against the manifest of its site."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from mixedsched.lab.fidelity import Fidelity, compare
from mixedsched.lab.fidelity._compare import order_correlation
from mixedsched.model.page import Resource
from mixedsched.model.request import Flag, Kind
from mixedsched.sites.opening import load_site
from mixedsched.sites.site import Site
from mixedsched.sites.synth import synthesise
from mixedsched.world.browser.observation import Initiator, Observation, ObservedRequest
from tests.sites.synth.pages import page, resource

HERO = resource("hero", "image", 600, flags=["hero"], chromium_priority="High")


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Site:
    folder = tmp_path_factory.mktemp("site") / "made-up"
    synthesise(page(5000, HERO, resource("app", "script", 700), resource("data", "xhr", 80)), folder)
    return load_site(folder)


def request_for(site: Site, item: Resource, index: int) -> ObservedRequest:
    """What a load that is all as it should be has of a resource."""
    return ObservedRequest(
        index=index,
        url=f"https://{site.hosts[item.host]}{item.path}",
        method="GET",
        kind=item.kind,
        resource_type="",
        destination=None,
        priority=item.chromium_priority,
        final_priority=item.chromium_priority,
        urgency=item.chromium_priority.rank,
        incremental=item.incremental,
        request_headers=(),
        status=200,
        protocol="h3",
        mime=item.mime,
        response_headers=(),
        encoding=None,
        sent_bytes=item.body_bytes,
        decoded_bytes=item.body_bytes,
        asked_ms=10.0 * index,
        sent_ms=10.0 * index,
        first_byte_ms=10.0 * index,
        complete_ms=10.0 * index,
        initiator=Initiator("parser"),
        document_url=site.url,
        flags=item.flags | ({Flag.ABOVE_FOLD} if Flag.HERO in item.flags else frozenset()),
    )


def _seen(site: Site, requests: Sequence[ObservedRequest], lcp_url: str = "https://made-up.test/hero") -> Observation:
    return Observation(
        url=site.url,
        final_url=site.url,
        form_factor="mobile",
        requests=tuple(requests),
        ended="quiet",
        notes=(),
        title="",
        viewport_px=(412, 823),
        lcp_url=lcp_url,
        lcp_element="img",
        fcp_ms=None,
        lcp_ms=None,
        dom_content_loaded_ms=None,
        load_ms=None,
        chromium_version="156",
    )


def told(site: Site, lcp_url: str = "https://made-up.test/hero", **of: dict[str, Any] | None) -> Fidelity:
    """Of a load in which some requests were otherwise; None for one that was not made."""
    requests = [
        replace(request_for(site, item, index), **(of.get(item.id) or {}))
        for index, item in enumerate(site.page.resources)
        if of.get(item.id, {}) is not None
    ]
    return compare(site, _seen(site, requests, lcp_url))


def test_a_load_as_it_should_be_has_no_findings(site: Site) -> None:
    fidelity = told(site)
    assert fidelity.findings == ()
    assert (fidelity.share, fidelity.order_correlation, fidelity.sent_correlation) == (1, 1, 1)
    assert fidelity.is_good


@pytest.mark.parametrize(
    ("of", "what", "wanted", "got"),
    [
        (None, "request", "requested", "not requested"),
        ({"status": 0}, "request", "requested", "not answered"),
        ({"status": 404}, "status", "answered", "status 404"),
        ({"kind": Kind.IMAGE}, "kind", "script", "image"),
        ({"urgency": 3}, "priority", "High", "Low"),
        ({"incremental": True}, "incremental", "no", "yes"),
        ({"sent_bytes": 1}, "size", "700", "1"),
    ],
)
def test_each_deviation_is_told(site: Site, of: dict[str, Any] | None, what: str, wanted: str, got: str) -> None:
    (finding,) = told(site, app=of).findings
    assert (finding.id, finding.what, finding.wanted, finding.got) == ("app", what, wanted, got)


def test_addresses_that_differ_in_an_empty_query_are_two(tmp_path: Path) -> None:
    synthesise(page(5000, resource("marked", "script", 700, path="/?")), tmp_path / "made-up")
    fidelity = told(load_site(tmp_path / "made-up"))
    assert (fidelity.requested, fidelity.share) == (2, 1)


def test_another_number_of_connections_is_told(site: Site) -> None:
    seen = _seen(site, [request_for(site, item, index) for index, item in enumerate(site.page.resources)])
    assert compare(site, seen, 1).findings == ()
    assert [(one.id, one.what, one.got) for one in compare(site, seen, 2).findings] == [("made-up", "connections", "2")]


def test_only_kind_priority_and_being_asked_for_count_for_the_share(site: Site) -> None:
    assert told(site, app={"incremental": True}).share == 1
    assert told(site, app={"urgency": 3}).share == 0.75
    assert told(site, app=None).share == 0.75


def test_the_order_is_that_in_which_the_page_asked(site: Site) -> None:
    fidelity = told(site, app={"asked_ms": 40.0}, data={"asked_ms": 5.0})
    assert fidelity.order_correlation == pytest.approx(0.4)
    assert fidelity.sent_correlation == 1


def test_an_image_that_is_not_on_the_first_screen_is_told(site: Site) -> None:
    assert [item.what for item in told(site, hero={"flags": frozenset()}).findings] == ["above_fold"]


def test_a_hero_that_is_not_the_largest_paint_is_told(site: Site) -> None:
    (finding,) = told(site, lcp_url="https://made-up.test/other").findings
    assert (finding.id, finding.what, finding.got) == ("hero", "hero", "https://made-up.test/other")


@pytest.mark.parametrize(
    ("places", "coefficient"), [([1, 2], None), ([1, 2, 3], 1.0), ([3, 2, 1], -1.0), ([1, 3, 2, 4], 0.8)]
)
def test_orders_are_correlated_by_rank(places: list[float], coefficient: float | None) -> None:
    assert order_correlation(places) == (None if coefficient is None else pytest.approx(coefficient))
