"""A live page in the lab: which arms there are, what is told of its loads, and what voids them."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mixedsched.errors import UsageError
from mixedsched.lab._live import Journal, files_name, rules_of, why_absent
from mixedsched.lab._served import planned_arms, served_arms
from mixedsched.lab._validity import application_fault
from mixedsched.lab.live import Changing, live_view
from mixedsched.lab.model import Run, RunStatus
from mixedsched.lab.plan import refuse_not_live
from mixedsched.report.compare import live_lines
from mixedsched.sites.application import LiveOptions, open_application
from mixedsched.sites.site import Origins, ResponseSettings
from mixedsched.world.edge.rules import parse_rules
from tests.live_app import live_app

HOME = "https://localhost"
PAGE = f"{HOME}/"


def run(sizes: Mapping[str, int], arm: str = "eps", status: int = 200, **fields: object) -> Run:
    """A load that asked for these URLs and got so many bytes."""
    requests = [{"url": url, "status": status, "resource_bytes": size, "finished": True} for url, size in sizes.items()]
    return Run(1, 1, arm, 0, RunStatus.OK, page_load={"requests": requests}, **fields)  # type: ignore[arg-type]


# Arms


def test_one_scheme_with_rules_is_compared_without_and_with_them(tmp_path: Path) -> None:
    rules = tmp_path / "rules.txt"
    rules.write_text("/a.css u=0")
    options = LiveOptions(rules=rules)
    with live_app() as app:
        site = open_application(app.url, options)
    served = served_arms(planned_arms(["eps"], None, options, against_itself=False), site)
    assert [item.arm.label for item in served] == ["eps", "eps (rules)"]
    assert [item.site.application.rules for item in served if item.site.application] == [None, rules]
    assert served[0].site_digest != served[1].site_digest
    several = served_arms(planned_arms(["eps", "sequential"], None, options, against_itself=False), site)
    assert [item.site.application.rules for item in several if item.site.application] == [rules, rules]
    alike = served_arms(planned_arms(["eps"], None, options, against_itself=True), site)
    assert [item.arm.label for item in alike] == ["eps", "eps (again)"]


def test_what_a_live_page_cannot_have_is_refused() -> None:
    live = LiveOptions()
    with pytest.raises(UsageError, match="@caddy cannot stand before a live application"):
        planned_arms(["@caddy", "eps"], None, live, against_itself=False)
    for backend in ("netns", "vm"):
        with pytest.raises(UsageError, match=f"--backend {backend}"):
            refuse_not_live(PAGE, backend, None)
    with pytest.raises(UsageError, match="--origins"):
        refuse_not_live(PAGE, "relay", Origins.MERGE)


def test_edges_of_two_arms_share_no_journal_however_long_their_labels_are() -> None:
    long = "mixed:" + ",".join(f"parameter_{number}=0.5" for number in range(5))
    labels = (long, f"{long} (rules)", "eps", "EPS")
    assert len({files_name(label, "loads") for label in labels}) == len(labels)


# What loads do not repeat


def test_a_random_address_is_told_once_with_how_many_there_were() -> None:
    runs = [run({PAGE: 10, f"{HOME}/a.js?v={number}": 5, f"{HOME}/img/{number}.png": 7}) for number in (1, 20, 300)]
    told = {item.address: item for item in live_view(runs, PAGE).changing}
    assert set(told) == {"/a.js?v=*", "/img/*.png"}
    assert {(item.what, item.loads, item.values) for item in told.values()} == {(Changing.ADDRESS, 3, 3)}


def test_addresses_with_hashes_are_one_however_their_digits_are_mixed() -> None:
    hashes = ("3fa9bc12", "abcdef01", "123abcde", "00000000")
    runs = [run({PAGE: 10, f"{HOME}/assets/app.{name}.js": 5}) for name in hashes]
    (only,) = live_view(runs, PAGE).changing
    assert (only.what, only.address, only.loads, only.values) == (Changing.ADDRESS, "/assets/app.*.js", 4, 4)


def test_an_address_that_some_loads_do_without_is_told_as_it_is() -> None:
    (only,) = live_view([run({PAGE: 10}), run({PAGE: 10, f"{HOME}/advert7.png": 5})], PAGE).changing
    assert (only.what, only.address, only.loads, only.values) == (Changing.ADDRESS, "/advert7.png", 1, 1)


def test_sizes_and_statuses_that_change_are_told_with_their_range() -> None:
    runs = [run({PAGE: 10}), run({PAGE: 30}, status=500), run({PAGE: 30})]
    view = live_view(runs, PAGE)
    assert [(item.what, item.loads, item.values, item.least, item.most) for item in view.changing] == [
        (Changing.SIZE, 3, 2, 10, 30),
        (Changing.STATUS, 3, 2, 200, 500),
    ]
    assert view.size_bytes == (10, 30)


def test_what_never_ends_has_no_size() -> None:
    runs = [run({PAGE: 10, f"{HOME}/events": size}) for size in (9, 18)]
    for item in runs:
        item.page_load["requests"][1]["finished"] = False
    assert live_view(runs, PAGE).changing == ()


def test_other_origins_are_counted_apart_and_so_is_the_applications_plain_address() -> None:
    elsewhere = {"https://cdn.example.org/x.js": 0, "https://cdn.example.org/y.js": 0, "http://localhost:3000/z": 0}
    view = live_view([run({PAGE: 10, **elsewhere}), run({PAGE: 10, "data:,": 3})], PAGE)
    assert [(item.origin, item.requests, item.loads) for item in view.elsewhere] == [
        ("http://localhost:3000", 1, 1),
        ("https://cdn.example.org", 2, 1),
    ]
    assert view.requests == (1, 1)
    assert view.changing == ()


def test_the_application_s_own_time_is_told_for_each_arm() -> None:
    took = ({"path": "/a.css", "origin_ms": 99.0}, {"path": "/", "origin_ms": 4.0})
    view = live_view([run({PAGE: 1}, "eps", placements=took), run({PAGE: 1}, "mixed")], PAGE)
    assert view.application_ms == {"eps": 4.0, "mixed": None}
    assert "began to send the document: eps 4 ms" in " ".join(live_lines(view))


def test_loads_that_do_not_count_say_nothing() -> None:
    failed = replace(run({PAGE: 10}), status=RunStatus.FAILED)
    view = live_view([failed], PAGE)
    assert (view.loads, view.changing) == (0, ())
    assert live_lines(view) == ["live: no load counts, so nothing is known about differences between loads"]
    assert json.dumps(live_view([], PAGE).to_dict())


PATHS = st.sampled_from(["/", "/a.css", "/b.js?v=1", "/img/12.png", "/img/13.png", "/x/abcdef01"])
LOADS = st.lists(st.dictionaries(PATHS, st.integers(0, 9), min_size=1), min_size=1, max_size=5)


@given(LOADS, st.randoms())
def test_nothing_changes_between_equal_loads_and_the_order_of_loads_does_not_matter(loads, random) -> None:  # type: ignore[no-untyped-def]
    runs = [run({HOME + path: size for path, size in load.items()}) for load in loads]
    assert live_view([runs[0]] * len(runs), PAGE).changing == ()
    view = live_view(runs, PAGE)
    random.shuffle(runs)
    assert live_view(runs, PAGE) == view
    repeated = all(load == loads[0] for load in loads)
    assert (not view.changing) == repeated


# When the application fails


def test_a_request_that_the_application_failed_voids_the_load() -> None:
    fine = {"method": "GET", "path": "/", "error": None}
    broken = {"method": "GET", "path": "/a.css", "error": "no connection"}
    assert application_fault([fine]) == ""
    assert application_fault([fine, broken]) == "application: it failed a request GET /a.css: no connection"
    assert "2 requests, for instance GET /a.css" in application_fault([broken, fine, broken])


def test_a_load_waits_for_an_application_that_does_not_listen_and_then_says_so() -> None:
    with live_app() as app:
        application = open_application(app.url, LiveOptions()).application
        assert application is not None
        assert asyncio.run(why_absent(application)) == ""
    said = asyncio.run(why_absent(application, limit_s=0.1))
    assert said == f"nothing answers at http://localhost:{app.port} (Connection refused)"


def test_a_journal_is_read_as_whole_lines_and_keeps_nothing_of_clients(tmp_path: Path) -> None:
    journal = Journal(tmp_path / "edge.jsonl")
    assert journal.take() == []
    journal.file.write_text('{"path": "/", "client": "127.0.0.1", "user_agent": "x", "origin_ms": 2.0}\n{"path": "/a')
    assert journal.take() == [{"path": "/", "origin_ms": 2.0}]
    with journal.file.open("a") as file:
        file.write('.css"}\n')
    assert journal.take() == [{"path": "/a.css"}]
    assert journal.take() == []


# Editions


def test_an_edition_s_priorities_are_rules_for_its_edge_before_the_operator_s_own(tmp_path: Path) -> None:
    rules = tmp_path / "rules.txt"
    rules.write_text("/* u=7\n")
    with live_app() as app:
        site = open_application(app.url, LiveOptions(rules=rules))
    assert rules_of(site) == "/* u=7\n"
    settings = {
        (0, "/a.js?visit=1"): ResponseSettings(headers=(("priority", ("u=5",)),)),
        (0, "/a.css"): ResponseSettings(headers=(("cache-control", ("no-store",)),)),
    }
    edition = replace(site, settings=settings)
    assert rules_of(edition) == "/a.js u=5\n/* u=7\n", "with any query, as that may change"
    assert parse_rules(rules_of(edition), "rules").value_for("/a.js?visit=2") == b"u=5"
