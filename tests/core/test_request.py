"""What headers tell of a request."""

from __future__ import annotations

import pytest

from mixedsched.priority import Priority
from mixedsched.request import ChromiumPriority, Kind, chromium_priority_of, kind_of_destination, kind_of_mime


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
