"""Bytes of an exact size: every format at every size, decodable where it can be, the same for the same seed."""

from __future__ import annotations

import io
import json
from xml.etree import ElementTree as ET

import pytest
from fontTools.ttLib import TTFont
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image

from mixedsched.model.request import Kind
from mixedsched.sites.synth.assets import asset, format_name, smallest_bytes

RASTER = ("image/jpeg", "image/png", "image/gif", "image/webp", "image/avif", "image/bmp", "image/x-icon")
FONTS = ("font/woff2", "font/woff", "font/ttf", "font/otf")
MEDIA = ("video/mp4", "video/webm", "audio/mpeg", "audio/wav", "audio/ogg")
DATA = (
    "application/json",
    "application/xml",
    "application/wasm",
    "application/manifest+json",
    "text/vtt",
    "text/plain",
)
ALL = [
    *((Kind.IMAGE, mime) for mime in (*RASTER, "image/svg+xml", "text/html", "x-unknown")),
    *((Kind.FONT, mime) for mime in (*FONTS, "application/octet-stream")),
    *((Kind.MEDIA, mime) for mime in MEDIA),
    *((Kind.XHR, mime) for mime in (*DATA, "image/png", "application/octet-stream")),
    (Kind.SCRIPT, "text/javascript"),
    (Kind.STYLESHEET, "text/css"),
    (Kind.DOCUMENT, "text/html"),
]


@given(which=st.sampled_from(ALL), beyond_bytes=st.integers(0, 30_000), seed=st.integers(0, 9))
def test_a_body_has_exactly_the_bytes_asked_for(which: tuple[Kind, str], beyond_bytes: int, seed: int) -> None:
    size_bytes = smallest_bytes(*which) + beyond_bytes
    assert len(asset(*which, size_bytes, seed)) == size_bytes


@pytest.mark.parametrize(("kind", "mime"), ALL)
def test_every_size_can_be_had_even_those_at_which_padding_has_no_room(kind: Kind, mime: str) -> None:
    least_bytes = smallest_bytes(kind, mime)
    for size_bytes in (*range(12), *range(max(0, least_bytes - 2), least_bytes + 30), 255, 256, 257):
        assert len(asset(kind, mime, size_bytes, 1)) == size_bytes


@pytest.mark.parametrize("mime", RASTER)
@pytest.mark.parametrize("beyond_bytes", [0, 1, 2, 5, 21, 500, 20_000])
def test_images_decode(mime: str, beyond_bytes: int) -> None:
    body = asset(Kind.IMAGE, mime, smallest_bytes(Kind.IMAGE, mime) + beyond_bytes, 3)
    with Image.open(io.BytesIO(body)) as image:
        image.load()
        assert (image.get_format_mimetype() or "").replace("x-ms-", "").replace("vnd.microsoft.", "x-") == mime


def test_an_image_has_the_pixels_asked_for_where_they_fit() -> None:
    def size_px(size_bytes: int) -> tuple[int, int]:
        with Image.open(
            io.BytesIO(asset(Kind.IMAGE, "image/jpeg", size_bytes, 1, width_px=640, height_px=480))
        ) as image:
            return image.size

    assert size_px(40_000) == (640, 480)
    assert size_px(300_000) == (640, 480)
    assert size_px(900) == (160, 120)  # halved until its stripes fit


def test_most_of_an_image_is_picture_not_padding() -> None:
    body = asset(Kind.IMAGE, "image/jpeg", 50_000, 1)
    padding = body.count(b" ") - 50_000 // 256
    assert padding < 0.05 * len(body)


@pytest.mark.parametrize("mime", FONTS)
@pytest.mark.parametrize("size_bytes", [700, 1500, 5000, 30_000, 70_001])
def test_fonts_open_and_have_the_letter_a(mime: str, size_bytes: int) -> None:
    font = TTFont(io.BytesIO(asset(Kind.FONT, mime, size_bytes, 1)))
    assert ord("a") in font.getBestCmap()


@given(size_bytes=st.integers(smallest_bytes(Kind.FONT, "font/woff2"), 120_000))
def test_a_woff2_is_never_longer_than_what_it_unpacks_to(size_bytes: int) -> None:
    # Chromium refuses such fonts
    body = asset(Kind.FONT, "font/woff2", size_bytes, 1)
    assert int.from_bytes(body[8:12], "big") == len(body)
    assert int.from_bytes(body[16:20], "big") >= len(body)


@given(size_bytes=st.integers(4, 3000), seed=st.integers(0, 99))
def test_texts_parse(size_bytes: int, seed: int) -> None:
    json.loads(asset(Kind.XHR, "application/json", size_bytes, seed))
    json.loads(asset(Kind.OTHER, "application/manifest+json", size_bytes, seed))
    ET.fromstring(asset(Kind.XHR, "application/xml", size_bytes, seed))
    if size_bytes >= smallest_bytes(Kind.IMAGE, "image/svg+xml"):
        ET.fromstring(asset(Kind.IMAGE, "image/svg+xml", size_bytes, seed))


def test_the_kind_decides_where_the_content_type_does_not_go_with_it() -> None:
    assert format_name(Kind.IMAGE, "text/html", 5000) == "png"
    assert format_name(Kind.IMAGE, "application/octet-stream", 50) == "gif"  # too short for a PNG
    assert format_name(Kind.SCRIPT, "application/json", 100) == "script"
    assert format_name(Kind.FONT, "binary/octet-stream", 9000) == "woff2"
    assert format_name(Kind.XHR, "image/svg+xml; charset=utf-8", 900) == "svg"
    assert format_name(Kind.XHR, "video/mp2t", 900) == "octets"


def test_the_same_seed_gives_the_same_bytes_and_another_one_others() -> None:
    for kind, mime in ALL:
        assert asset(kind, mime, 6000, 1) == asset(kind, mime, 6000, 1)
    assert asset(Kind.IMAGE, "image/webp", 6000, 1) != asset(Kind.IMAGE, "image/webp", 6000, 2)


def test_sizes_and_pixels_that_cannot_be_are_refused() -> None:
    with pytest.raises(ValueError, match="-1 bytes"):
        asset(Kind.IMAGE, "image/png", -1, 1)
    with pytest.raises(ValueError, match="0 x 9"):
        asset(Kind.IMAGE, "image/png", 900, 1, width_px=0, height_px=9)
