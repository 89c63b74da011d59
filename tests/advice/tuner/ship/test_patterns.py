"""Paths in one spelling, and patterns of them."""

from __future__ import annotations

import re
from urllib.parse import quote, unquote_to_bytes

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mixedsched.advice.tuner.ship.patterns import canonical, fits, pieces
from mixedsched.advice.tuner.ship.servers import of_decoded, of_target

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
