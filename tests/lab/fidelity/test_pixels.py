"""How far two pictures differ."""

from __future__ import annotations

from io import BytesIO

import pytest
from PIL import Image

from mixedsched.errors import InputError
from mixedsched.lab.fidelity import pixel_difference


def png(width_px: int, height_px: int, colour: tuple[int, int, int], *spots: tuple[int, int]) -> bytes:
    image = Image.new("RGB", (width_px, height_px), colour)
    for spot in spots:
        image.putpixel(spot, (255, 0, 0))
    file = BytesIO()
    image.save(file, "PNG")
    return file.getvalue()


def test_a_picture_does_not_differ_from_itself() -> None:
    assert pixel_difference(png(9, 9, (1, 2, 3)), png(9, 9, (1, 2, 3))) == 0


def test_the_share_of_pixels_that_differ_is_told() -> None:
    assert pixel_difference(png(10, 10, (0, 0, 0)), png(10, 10, (0, 0, 0), (1, 1), (5, 5))) == pytest.approx(0.02)


def test_small_differences_of_colour_do_not_count() -> None:
    assert pixel_difference(png(4, 4, (100, 100, 100)), png(4, 4, (110, 100, 90))) == 0
    assert pixel_difference(png(4, 4, (100, 100, 100)), png(4, 4, (110, 100, 90)), tolerance=5) == 1


def test_what_only_one_picture_has_differs() -> None:
    assert pixel_difference(png(10, 10, (0, 0, 0)), png(10, 20, (0, 0, 0))) == pytest.approx(0.5)


@pytest.mark.parametrize("rubbish", [b"", b"\x89PNG\r\n\x1a\n", b"no picture"])
def test_what_is_no_picture_is_refused(rubbish: bytes) -> None:
    with pytest.raises(InputError, match="no picture"):
        pixel_difference(rubbish, png(1, 1, (0, 0, 0)))
