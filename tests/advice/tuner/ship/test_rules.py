"""From wanted values to few rules."""

from __future__ import annotations

import random

from hypothesis import given
from hypothesis import strategies as st

from mixedsched.advice.tuner.ship.patterns import Pattern, Wish, canonical, fits_canonical, rules_for, value_of

FIRST, LAST = "u=1, i=?0", "u=5, i"


def wanted(**values: str) -> list[Wish]:
    """Wishes by name of file below /img."""
    return [Wish(f"/img/{name}.jpg", value, is_needed=True) for name, value in values.items()]


def test_many_files_of_a_folder_are_one_rule() -> None:
    assert rules_for(wanted(a=LAST, b=LAST, c=LAST)) == (Pattern("/img/*.jpg", LAST),)


def test_an_exception_goes_in_front() -> None:
    rules = rules_for(wanted(hero=FIRST, a=LAST, b=LAST, c=LAST))
    assert rules == (Pattern("/img/hero.jpg", FIRST), Pattern("/img/*.jpg", LAST))


def test_numbered_files_are_one_family() -> None:
    """Narrower than the folder, in which others need nothing."""
    logo = Wish("/img/logo.jpg", FIRST, is_needed=False)
    assert rules_for([*wanted(p1=LAST, p2=LAST, p31=LAST), logo]) == (Pattern("/img/p*.jpg", LAST),)


def test_what_needs_no_header_is_told_what_the_browser_asks_anyway_where_that_saves_rules() -> None:
    logo = Wish("/img/logo.jpg", FIRST, is_needed=False)
    assert rules_for([*wanted(a=LAST), logo]) == (Pattern("/img/a.jpg", LAST),)
    rules = rules_for([*wanted(a=LAST, b=LAST, c=LAST), logo])
    assert rules == (Pattern("/img/logo.jpg", FIRST), Pattern("/img/*.jpg", LAST))
    same = Wish("/img/logo.jpg", LAST, is_needed=False)
    assert rules_for([*wanted(a=LAST, b=LAST), same]) == (Pattern("/img/*.jpg", LAST),)


def test_no_pattern_means_a_document() -> None:
    """Not even one that should get the same."""
    page = Wish("/img/view", LAST, is_needed=True, is_document=True)
    bare = [Wish(f"/img/{name}", LAST, is_needed=True) for name in "ab"]
    rules = rules_for([page, *bare])
    assert all(item.match == page.path or not fits_canonical(item.match, page.path) for item in rules)
    assert value_of(rules, "/img/view") == LAST


def test_a_single_file_is_named_and_a_name_with_a_hash_outlives_the_next_build() -> None:
    assert rules_for([Wish("/js/app.js", LAST, is_needed=True)]) == (Pattern("/js/app.js", LAST),)
    assert rules_for([Wish("/js/app-3f9c8d12.js", LAST, is_needed=True)]) == (Pattern("/js/app-*.js", LAST),)
    assert rules_for([Wish("/js/app.BwK3x9aQ.js", LAST, is_needed=True)]) == (Pattern("/js/app.*.js", LAST),)
    assert rules_for([Wish("/js/background-image.js", LAST, is_needed=True)]) == (
        Pattern("/js/background-image.js", LAST),
    )


def test_a_hash_stays_where_another_file_would_be_meant() -> None:
    wishes = [Wish("/js/app-3f9c8d12.js", LAST, is_needed=True), Wish("/js/app-admin.js", FIRST, is_needed=False)]
    assert rules_for(wishes) == (Pattern("/js/app-3f9c8d12.js", LAST),)


def test_paths_that_want_different_values_are_touched_by_nothing() -> None:
    unclear = Wish("/img/scaled.jpg", None, is_needed=False)
    assert value_of(rules_for([*wanted(a=LAST, b=LAST), unclear]), unclear.path) is None


NAMES = st.text("ab-_.%/ \u00e9*", min_size=0, max_size=5)
ENDINGS = st.sampled_from(["", ".jpg", ".js", ".html", "-0123abcd.js"])
PATHS = st.builds(
    lambda folder, name, ending: canonical(f"/{folder}{name}{ending}"),
    st.sampled_from(["", "i/", "i/j/"]),
    NAMES,
    ENDINGS,
)
VALUES = st.sampled_from([FIRST, LAST, "u=3, i"])
WISHES = st.lists(
    st.builds(Wish, PATHS, VALUES, st.booleans(), st.booleans()), max_size=14, unique_by=lambda item: item.path
)


@given(WISHES)
def test_rules_give_every_path_what_it_should_get_and_nothing_else(wishes: list[Wish]) -> None:
    rules = rules_for(wishes)
    for item in wishes:
        told = value_of(rules, item.path)
        assert told == item.value or (told is None and not item.is_needed)
        if item.is_document:
            assert not any("*" in rule.match and fits_canonical(rule.match, item.path) for rule in rules)
    assert len(rules) <= sum(item.is_needed for item in wishes)


@given(WISHES, st.randoms(use_true_random=False))
def test_rules_do_not_depend_on_the_order_of_the_page(wishes: list[Wish], rng: random.Random) -> None:
    turned = list(wishes)
    rng.shuffle(turned)
    values = [value_of(rules_for(turned), item.path) for item in wishes]
    assert values == [value_of(rules_for(wishes), item.path) for item in wishes]
