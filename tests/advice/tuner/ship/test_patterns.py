"""Paths in one spelling, and patterns of them."""

from __future__ import annotations

import random
import re
from urllib.parse import quote, unquote_to_bytes

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mixedsched.advice.tuner.ship._patterns import (
    Pattern,
    Wish,
    canonical,
    fits,
    fits_canonical,
    pieces,
    rules_for,
    value_of,
)
from mixedsched.advice.tuner.ship._servers import of_decoded, of_target

PATHS = st.text(st.characters(codec="utf-8"), max_size=12).map(lambda text: f"/{text}")
SPELLINGS = ("/!$&'()+,;=:@", "/", "/!$&'()*+,;=:@[]|^")


@pytest.mark.parametrize(
    ("path", "spelling"),
    [
        ("/img/a.jpg?w=1#top", "/img/a.jpg"),
        ("/caf\u00e9.jpg", "/caf%C3%A9.jpg"),
        ("/caf%c3%a9.jpg", "/caf%C3%A9.jpg"),
        ("/%61%2Fb", "/a%2Fb"),
        ("/a*b", "/a%2Ab"),
        ("/100%", "/100%25"),
        ("/100%25", "/100%25"),
        ("/a b'c\"d", "/a%20b'c%22d"),
        ("/\ud800", "/%ED%A0%80"),
    ],
)
def test_a_path_has_one_spelling(path: str, spelling: str) -> None:
    assert canonical(path) == spelling


@given(PATHS)
def test_the_spelling_is_plain_ascii_stays_and_means_the_same(path: str) -> None:
    spelling = canonical(path)
    assert re.fullmatch(r"[!$&'()+,\-./0-9:;=@A-Z_a-z~%]*", spelling)
    assert canonical(spelling) == spelling
    bare = path.partition("#")[0].partition("?")[0]
    assert unquote_to_bytes(spelling) == unquote_to_bytes(bare)


@pytest.mark.parametrize(
    ("match", "path", "fitting"),
    [
        ("/img/*.jpg", "/img/a.jpg?x=1", True),
        ("/img/*.jpg", "/img/deep/a.jpg", True),
        ("/img/*.jpg", "/img/.jpg", True),
        ("/img/*.jpg", "/img.jpg", False),
        ("/a*a", "/a", False),
        ("*.woff2", "/fonts/x.woff2", True),
        ("/js/*", "/js/", True),
        ("/", "/", True),
        ("/", "/x", False),
        ("/a%20b", "/a b", True),
    ],
)
def test_patterns_mean_paths(match: str, path: str, fitting: bool) -> None:
    assert fits(match, path) is fitting


def test_a_pattern_has_one_star_at_most() -> None:
    with pytest.raises(ValueError, match="one \\*"):
        pieces("/*/*.js")


@st.composite
def patterns(draw: st.DrawFn) -> str:
    """Paths, and paths cut between two signs."""
    path = re.sub("[?#]", "", draw(PATHS))
    cut = draw(st.integers(1, len(path)))
    return draw(st.sampled_from([canonical(path), f"{canonical(path[:cut])}*{canonical(path[cut:])}"]))


@given(patterns(), PATHS, st.sampled_from(SPELLINGS), st.sampled_from(["", "?v=1&x=/a"]))
def test_expressions_mean_what_patterns_mean(match: str, path: str, safe: str, query: str) -> None:
    """For the path as some client spells it, and as servers decode it."""
    if "*" in match:  # near misses and hits
        head, tail = match.split("*")
        candidates = [path, head + "x" + tail, head + tail, head, "/" + tail]
    else:
        candidates = [path, match, match + "x", match[:-1]]
    for tried in candidates:
        bytes_of_path = unquote_to_bytes(canonical(tried))
        if b"/" in bytes_of_path.replace(b"/", b"", canonical(tried).count("/")):
            continue  # an encoded slash is another path to us, and to some servers the same
        target = quote(bytes_of_path, safe=safe)
        found = re.fullmatch(of_target(match) + r"(?:\?.*)?", target + query, re.DOTALL)
        assert bool(found) is fits(match, target)
        decoded = "".join(
            "\ufffd" if 0xD800 <= ord(sign) < 0xE000 else sign
            for sign in bytes_of_path.decode("utf-8", "surrogateescape")
        )
        in_python = re.sub(r"\\x\{([0-9A-F]+)\}", lambda code: re.escape(chr(int(code[1], 16))), of_decoded(match))
        assert bool(re.fullmatch(in_python, decoded, re.DOTALL)) is fits(match, target)


@given(patterns())
def test_expressions_hold_nothing_that_could_end_them(match: str) -> None:
    assert set(of_target(match)).isdisjoint("\"'`#;{}\t\r\n\0")
    assert set(of_decoded(match)).isdisjoint("\"'`#; \t\r\n\0")
    assert of_target(match).isprintable()
    assert of_decoded(match).isprintable()


# From wanted values to few rules

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
