"""What headers tell of a request."""

from __future__ import annotations

import pytest

from mixedsched.model.page import derive_chromium_priority
from mixedsched.model.priority import Priority
from mixedsched.model.request import (
    ChromiumPriority,
    Flag,
    Kind,
    Request,
    chromium_priority_of,
    infer_flags,
    kind_of_destination,
    kind_of_mime,
)

VERY_HIGH, HIGH, MEDIUM, LOW, VERY_LOW = ChromiumPriority


@pytest.mark.parametrize(
    ("destination", "kind"),
    [
        ("document", Kind.DOCUMENT),
        ("iframe", Kind.DOCUMENT),
        ("style", Kind.STYLESHEET),
        ("font", Kind.FONT),
        ("script", Kind.SCRIPT),
        ("worker", Kind.SCRIPT),
        ("image", Kind.IMAGE),
        ("video", Kind.MEDIA),
        ("empty", Kind.XHR),
        ("manifest", Kind.OTHER),
        ("something-new", None),
        (None, None),
    ],
)
def test_the_destination_tells_the_kind(destination: str | None, kind: Kind | None) -> None:
    assert kind_of_destination(destination) is kind


@pytest.mark.parametrize(
    ("mime", "kind"),
    [
        ("text/html; charset=utf-8", Kind.DOCUMENT),
        ("TEXT/CSS", Kind.STYLESHEET),
        ("application/font-woff", Kind.FONT),
        ("font/woff2", Kind.FONT),
        ("image/svg+xml", Kind.IMAGE),
        ("video/mp4", Kind.MEDIA),
        ("application/json", Kind.XHR),
        ("application/wasm", Kind.OTHER),
        ("", Kind.OTHER),
    ],
)
def test_without_a_destination_the_content_type_does(mime: str, kind: Kind) -> None:
    assert kind_of_mime(mime) is kind


def test_urgency_tells_chromiums_priority() -> None:
    read = [chromium_priority_of(Priority(urgency)) for urgency in range(8)]
    assert read[:5] == list(ChromiumPriority)
    assert set(read[5:]) == {ChromiumPriority.VERY_LOW}


@pytest.mark.parametrize(
    ("kind", "priority", "flags"),
    [
        ("document", VERY_HIGH, set()),  # a frame; the navigation is tested below
        ("stylesheet", VERY_HIGH, {"in_head", "critical"}),
        ("stylesheet", HIGH, {"in_head", "critical"}),  # fetchpriority=low in the head
        ("stylesheet", MEDIUM, {"late_body"}),
        ("stylesheet", VERY_LOW, {"late_body"}),  # media=print: blocks nothing
        ("script", HIGH, {"in_head", "critical"}),
        ("script", MEDIUM, {"late_body", "after_first_image"}),
        ("script", LOW, {"async"}),
        ("script", VERY_LOW, {"async"}),  # a worker
        ("font", VERY_HIGH, set()),
        ("font", HIGH, {"preload"}),
        ("image", HIGH, {"above_fold"}),
        ("image", MEDIUM, {"above_fold"}),
        ("image", LOW, set()),
        ("xhr", HIGH, set()),
        ("xhr", VERY_LOW, set()),
        ("media", LOW, set()),
        ("other", LOW, set()),
    ],
)
def test_without_a_manifest_flags_are_what_explains_chromiums_priority(
    kind: str, priority: ChromiumPriority, flags: set[str]
) -> None:
    assert infer_flags(Kind(kind), priority, is_first=False) == flags
    request = Request(stream_id=4, path="/", kind=Kind(kind), chromium_priority=priority)
    assert request.hints == flags


def test_the_first_request_of_a_connection_is_the_navigation_if_it_is_a_document() -> None:
    hints = [
        Request(stream_id=stream_id, path="/", kind=kind, chromium_priority=VERY_HIGH).hints
        for stream_id, kind in ((0, Kind.DOCUMENT), (4, Kind.DOCUMENT), (0, Kind.FONT))
    ]
    assert hints == [{Flag.MAIN, Flag.CRITICAL}, set(), set()]


@pytest.mark.parametrize("flags", [frozenset(), frozenset({Flag.DEFER})])
def test_a_manifest_is_believed_even_if_it_tells_nothing(flags: frozenset[Flag]) -> None:
    assert Request(0, "/", Kind.SCRIPT, chromium_priority=HIGH, flags=flags).hints == flags


@pytest.mark.parametrize(
    ("kind", "priority"),
    [
        ("document", VERY_HIGH),
        ("stylesheet", VERY_HIGH),
        ("stylesheet", MEDIUM),
        ("font", VERY_HIGH),
        ("font", HIGH),
        ("script", HIGH),
        ("script", MEDIUM),
        ("script", LOW),
        ("image", MEDIUM),
        ("image", LOW),
        ("xhr", HIGH),
        ("media", LOW),
        ("other", LOW),
    ],
)
def test_what_is_inferred_would_get_the_same_priority_again(kind: str, priority: ChromiumPriority) -> None:
    flags = infer_flags(Kind(kind), priority, is_first=False)
    assert derive_chromium_priority(Kind(kind), flags) is priority
