"""What may be tried for a page, and how far from plain EPS that is."""

from __future__ import annotations

import random

import pytest

from mixedsched.advice.tuner._canonical import everything
from mixedsched.advice.tuner._proposals import anyone, crossed, informed, mutated, neighbour, simpler
from mixedsched.advice.tuner._stack import Params
from mixedsched.advice.tuner.candidate import Candidate, departures, deviations
from mixedsched.advice.tuner.objective import BASELINES
from mixedsched.advice.tuner.space import DEFAULT_SCHEMES, Space, read_schemes, targets_of
from mixedsched.core.schedulers import COMPARED
from mixedsched.errors import UsageError
from mixedsched.model.page import PAGE_FORMAT, Page
from mixedsched.model.priority import Priority
from mixedsched.model.request import ChromiumPriority, Kind
from mixedsched.world import catalog
from tests.advice.tuner.pages import made_up_page, shop


def lonely(resources: int = 1) -> Page:
    """A document, and perhaps some of its like."""
    items = [
        {"id": f"r{index}", "path": f"/{index}", "kind": "document", "body_bytes": 5000} for index in range(resources)
    ]
    return Page.from_dict({"format": PAGE_FORMAT, "name": "lonely", "resources": items})


def test_heroes_late_fonts_idle_scripts_and_distant_images_may_be_placed_apart() -> None:
    assert [target.match for target in targets_of([shop()])] == [
        "/hero.jpg",
        "/late.woff2",
        "/big.js",
        "/a.jpg",
        "/b.jpg",
    ]


def test_a_page_seen_twice_has_the_targets_of_one() -> None:
    assert targets_of([shop(), shop()]) == targets_of([shop()])


def test_a_script_without_which_the_hero_is_not_drawn_comes_right_behind_it() -> None:
    found = targets_of([shop()], ("small.js",))
    assert [(item.match, item.why) for item in found[:2]] == [
        ("/hero.jpg", "the largest paint waits for it"),
        ("/small.js", "the hero is not drawn without it"),
    ]


def test_what_is_alone_in_its_cell_needs_no_override() -> None:
    page = Page.from_dict(
        {
            "format": PAGE_FORMAT,
            "name": "one image",
            "resources": [
                {"id": "html", "path": "/", "kind": "document", "body_bytes": 5000},
                {"id": "hero", "path": "/h", "kind": "image", "body_bytes": 50_000, "flags": ["hero"],
                 "found_by": "html", "found_when": "complete"},
            ],
        }
    )  # fmt: skip
    assert targets_of([page]) == ()


def test_a_path_with_special_characters_is_matched_by_itself() -> None:
    data = shop().model_dump(mode="json")
    data["resources"][3]["path"] = "/pic[1]*.jpg?size=2"
    page = Page.from_dict(data)
    hero = targets_of([page])[0]
    assert hero.covers == ("hero.jpg",)
    assert hero.override(Priority()).fits("/pic[1]*.jpg?size=2")
    assert not hero.override(Priority()).fits("/pic1x.jpg?size=2")


def test_the_size_counts_tables_overrides_and_parameters() -> None:
    assert Space.of([lonely(4)], ("eps",)).size() == 16
    assert Space.of([lonely(4)], ("mixed",)).size() == 16 * 11 * 2
    assert Space.of([lonely()], ("sequential",)).size() == 1
    space = Space.of([shop()], ("eps", "nip"))
    assert space.size() == 2 * 16 ** len(space.cells) * 17 ** len(space.targets)


def test_a_single_response_has_no_order_whatever_the_schemes() -> None:
    for schemes in (DEFAULT_SCHEMES, ("mixed", "eps")):
        space = Space.of([lonely()], schemes)
        assert space.size() == 1
        assert [space.candidate(genome) for genome in informed(space)] == [BASELINES["eps"]]
    assert Space.of([lonely()], ("firefox", "nip")).families[0].name == "firefox"


def test_a_page_of_one_priority_has_two_orders() -> None:
    space = Space.of([lonely(4)], ("eps",))
    assert len(everything(space, 1000) or ()) == 2  # one after another, or in turns


def test_all_schemes_are_families() -> None:
    space = Space.of([shop()], read_schemes("all"))
    assert [family.name for family in space.families] == list(COMPARED)


def test_named_schemes_and_given_parameters_restrict_it() -> None:
    assert read_schemes(None) == DEFAULT_SCHEMES
    space = Space.of([shop()], read_schemes("mixed:alpha=0.5,eps"))
    assert space.candidate(space.usual(0)).scheme == "mixed:alpha=0.5"
    assert [step.name for step in space.families[0].steps] == ["n_interrupts_i"]
    with pytest.raises(UsageError):
        read_schemes("speedy")


def test_parameters_between_colons_are_those_between_commas() -> None:
    space = Space.of([shop()], read_schemes("mixed:alpha=0.5:n_interrupts_i=no"))
    assert space == Space.of([shop()], read_schemes("mixed:alpha=0.5,n_interrupts_i=no"))
    candidate = space.candidate(space.usual(0))
    told = [(item.what, item.tuned) for item in deviations(candidate, shop())]
    assert told[1:] == [("mixed: alpha", "0.5"), ("mixed: n_interrupts_i", "no")]
    assert departures(candidate, [shop()]) == 2 + len(told[1:])
    assert len(Space.of([shop()], ("eps", "eps:")).families) == 1


def test_tree_weights_are_searched_and_by_default_as_ever() -> None:
    space = Space.of([shop()], ("firefox-tree",))
    assert {"leaders", "unblocked", "followers", "background", "urgent_start"} == {
        step.name for step in space.families[0].steps
    }
    assert space.candidate(space.usual(0)) == Candidate("firefox-tree")


def test_proposals_are_the_same_for_the_same_seed_and_can_all_be_played() -> None:
    space = Space.of([shop(), made_up_page(3)])

    def some(seed: int) -> list[str]:
        rng = random.Random(seed)
        found = informed(space)
        for _ in range(30):
            one, other = rng.choice(found), rng.choice(found)
            found += [anyone(space, rng), mutated(space, one, rng), neighbour(space, one, rng)]
            found += [crossed(space, one, other, rng), *simpler(space, one)]
        return [space.candidate(genome).code for genome in found]

    assert some(7) == some(7)
    assert some(7) != some(8)
    rng = random.Random(1)
    for _ in range(30):
        space.candidate(anyone(space, rng)).configured(catalog.load_mapping)


def test_optuna_sees_every_candidate_as_parameters_and_back() -> None:
    space = Space.of([shop()])
    params, rng = Params.of(space), random.Random(2)
    for _ in range(50):
        genome = anyone(space, rng)
        encoded = params.encode(genome)
        assert list(encoded) == list(params.distributions)
        assert params.decode(encoded) == genome


def test_plain_eps_departs_from_nothing_and_the_rest_is_counted() -> None:
    page = [shop()]
    assert departures(Candidate("eps"), page) == departures(BASELINES["eps"], page) == 0
    assert departures(BASELINES["mixed"], page) == departures(Candidate("sequential"), page) == 2
    high_images = ((ChromiumPriority.LOW, Kind.IMAGE), Priority(1, False))
    unused = ((ChromiumPriority.LOW, Kind.MEDIA), Priority(1, False))
    assert departures(Candidate("eps", (high_images, unused)), page) == 1
    assert departures(Candidate("mixed:alpha=0.5,n_interrupts_i=no"), page) == 4


def test_later_fonts_count_more_as_no_estimate_sees_the_text_that_waits() -> None:
    late_fonts = ((ChromiumPriority.VERY_HIGH, Kind.FONT), Priority(5, False))
    assert departures(Candidate("eps", (late_fonts,)), [shop()]) == 5


def test_a_document_counts_more_the_later_it_comes_and_text_counts_once() -> None:
    late_page = ((ChromiumPriority.VERY_HIGH, Kind.DOCUMENT), Priority(2, True))
    last_page = ((ChromiumPriority.VERY_HIGH, Kind.DOCUMENT), Priority(6, True))
    late_fonts = ((ChromiumPriority.VERY_HIGH, Kind.FONT), Priority(5, False))
    assert departures(Candidate("eps", (late_page,)), [shop()]) == 1 + 2
    assert departures(Candidate("eps", (last_page,)), [shop()]) == 1 + 6
    assert departures(Candidate("eps", (late_page, late_fonts)), [shop()]) == 2 + 4


def test_deviations_say_what_changed_for_whom_and_why() -> None:
    page = shop()
    space = Space.of([page])
    hero = space.targets[0].override(Priority(1, False))
    late = ((ChromiumPriority.LOW, Kind.SCRIPT), Priority(6, True))
    found = deviations(Candidate("mixed:alpha=0.5", (late,), (hero,)), page)
    assert [(item.what, item.browser, item.tuned, item.covers) for item in found] == [
        ("delivery scheme", "eps", "mixed", ()),
        ("mixed: alpha", "1", "0.5", ()),
        ("scripts of priority Low", "u=3", "u=6, i", ("big.js", "small.js")),
        ("/hero.jpg", "u=2, i", "u=1", ("hero.jpg",)),
    ]
    assert found[2].why == "no paint waits for them: later, in turns with others"
    assert found[3].why == "the largest paint waits for it; sooner, one whole response after another"
