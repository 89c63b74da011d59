"""`bucket` and `bucket-html`: Meenan's buckets."""

from __future__ import annotations

import pytest

from tests.core.schedulers.marx_rows import every_row
from tests.core.schedulers.wire import Wire, placed, placed_blindly, wire

BUCKET = {
    "main html": "[31,2]",
    "other html": "[31,2]",
    "css, head": "[63,3]",
    "css, critical": "[63,3]",
    "css, elsewhere": "[31,3]",
    "js, head": "[63,3]",
    "js, head, after first image": "[63,3]",
    "js, body": "[31,3]",
    "js, body, critical": "[63,3]",
    "js, after first image": "[31,3]",
    "js, after first image, critical": "[63,3]",
    "js, delayed, head": "[31,2]",
    "js, delayed, body": "[31,2]",
    "font": "[63,2]",
    "font, preloaded": "[31,2]",
    "xhr": "[31,3]",
    "svg": "[31,3]",
    "svg, seen": "[31,3]",
    "image, seen": "[63,1]",
    "image, other": "[31,1]",
    "video": "[31,1]",
    "rest": "[0,2]",
}
BUCKET_HTML = BUCKET | {"main html": "[63,2]", "other html": "[63,2]"}


@every_row(BUCKET)
def test_buckets(resource: str, expected: str) -> None:
    assert placed("bucket", resource) == expected


@every_row(BUCKET_HTML)
def test_bucket_html_differs_in_documents_only(resource: str, expected: str) -> None:
    assert placed("bucket-html", resource) == expected


@pytest.mark.parametrize("spec", ["bucket", "bucket-html"])
@pytest.mark.parametrize(
    "resource", ["stylesheet+async", "stylesheet+in_head+defer", "image+async+hero", "document+defer", "font+async"]
)
def test_what_is_async_or_deferred_is_shared_sequential_of_whatever_kind(spec: str, resource: str) -> None:
    assert placed(spec, resource) == "[31,2]"


@pytest.mark.parametrize(
    ("resource", "expected"),
    [
        ("other", "[31,1]"),
        ("xhr", "[31,1]"),
        ("feed", "[31,1]"),
        ("other+critical", "[63,3]"),
        ("xhr+critical", "[63,3]"),
        ("xhr@VeryLow", "[0,2]"),  # prefetch
        ("script+async", "[31,2]"),
        ("document+main", "[31,2]"),
        ("font+preload", "[31,2]"),
        ("stylesheet+critical", "[63,3]"),
        ("image+hero", "[63,1]"),
        ("media", "[31,1]"),
    ],
)
def test_figure_7_has_other_places_for_others(resource: str, expected: str) -> None:
    assert placed("bucket:table=figure7", resource) == expected


@pytest.mark.parametrize(("resource", "expected"), [("svg", "[31,1]"), ("svg+hero", "[63,1]")])
def test_an_svg_can_be_an_image_too(resource: str, expected: str) -> None:
    assert placed("bucket:svg=image", resource) == expected


@pytest.mark.parametrize(
    ("resource", "expected"),
    [
        ("document@VeryHigh", "[31,2]"),
        ("stylesheet@VeryHigh", "[63,3]"),
        ("stylesheet@Medium", "[31,3]"),
        ("stylesheet@VeryLow", "[31,3]"),
        ("script@High", "[63,3]"),
        ("script@Medium", "[31,3]"),
        ("script@Low", "[31,2]"),
        ("font@VeryHigh", "[63,2]"),
        ("font@High", "[31,2]"),
        ("image@High", "[63,1]"),
        ("image@Medium", "[63,1]"),
        ("image@Low", "[31,1]"),
        ("xhr@High", "[31,3]"),
        ("other@Low", "[0,2]"),
    ],
)
def test_without_a_manifest_chromiums_priority_stands_in(resource: str, expected: str) -> None:
    assert placed_blindly("bucket", resource) == expected


def test_better_buckets_go_first_strictly() -> None:
    assert wire("bucket", "A2:other B2:image C2:font D2:stylesheet+in_head") == "DDCCBBAA"


def test_a_sequential_and_a_shared_packet_in_turn_and_the_shared_ones_in_turn() -> None:
    assert wire("bucket", "A3:font B3:image+hero C3:image+hero") == "ABACABCBC"


def test_sequential_ones_go_one_after_another() -> None:
    assert wire("bucket", "A2:font B2:font C4:image+hero") == "ACACBCBC"


def test_shared_ones_alone_take_turns() -> None:
    assert wire("bucket", "A2:image B3:image C1:image") == "ABCABB"


def test_exclusive_ones_go_one_after_another_before_all_others_of_the_bucket() -> None:
    assert wire("bucket", "A2:font B2:image+hero C2:script+in_head D2:stylesheet+critical") == "CCDDABAB"


def test_a_newcomer_in_a_better_bucket_interrupts_and_the_alternation_goes_on_where_it_was() -> None:
    line = Wire("bucket", "A4:document+main B4:image").send(1).add("C2:stylesheet+critical")
    assert line.next() == "CC" + "BABABAB"


def test_an_exclusive_newcomer_interrupts_its_own_bucket() -> None:
    assert Wire("bucket", "A3:font B3:image+hero").send(2).add("C2:script+critical").next() == "CCABAB"


@pytest.mark.parametrize("packets", [1, 2, 3])
def test_a_half_that_has_nothing_yields_its_turns_and_the_other_one_goes_next(packets: int) -> None:
    assert Wire("bucket", "A9:image+hero").send(packets).add("B2:font").next(4) == "BABA"
    assert Wire("bucket", "A9:font").send(packets).add("B2:image+hero").next(4) == "BABA"


def test_blocked_halves_yield_too() -> None:
    line = Wire("bucket", "A9:font B9:image+hero").send(1).pause("B").send(2)
    assert line.resume("B").next(4) == "BABA"


def test_meenans_sample_in_one_page() -> None:
    page = (
        "H3:document+main S2:stylesheet+in_head J2:script+in_head F2:font V2:image+hero "
        "j2:script D2:script+defer I3:image X1:xhr P1:other"
    )
    assert wire("bucket", page) == "SSJJ" + "FVFV" + "jjX" + "HIHIHI" + "DD" + "P"
    assert wire("bucket-html", page) == "SSJJ" + "HVHVHFF" + "jjX" + "DIDII" + "P"


def test_html_waits_behind_a_script_of_its_bucket_unless_html_is_in_the_best_one() -> None:
    # The page of Davies and Meenan: a blocking script in the body that is not known to be critical.
    page = "H3:document+main T4:script I9:image"
    assert wire("bucket", page) == "TTTT" + "HIHIHI" + "I" * 6
    assert wire("bucket-html", page) == "HHH" + "TTTT" + "I" * 9
