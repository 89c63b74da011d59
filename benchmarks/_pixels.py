"""How far two pictures differ."""

from __future__ import annotations

from io import BytesIO

import numpy as np
from PIL import Image

from mixedsched.errors import InputError

_TOLERANCE = 24  # of 255 in any channel: less is how letters were smoothed, or an image decoded


def pixel_difference(one: bytes, other: bytes, *, tolerance: int = _TOLERANCE) -> float:
    """The share of pixels, 0..1, that differ by more than `tolerance` in some channel between two PNGs.

    Where one is larger, what the other does not have differs. Raises InputError for what is no picture.
    """
    first, second = _pixels(one), _pixels(other)
    height, width = (max(a, b) for a, b in zip(first.shape[:2], second.shape[:2], strict=True))
    common_height, common_width = (min(a, b) for a, b in zip(first.shape[:2], second.shape[:2], strict=True))
    distance = np.abs(first[:common_height, :common_width] - second[:common_height, :common_width]).max(axis=2)
    outside = height * width - common_height * common_width
    return float((np.count_nonzero(distance > tolerance) + outside) / (height * width))


def _pixels(picture: bytes) -> np.ndarray[tuple[int, int, int], np.dtype[np.int16]]:
    try:
        with Image.open(BytesIO(picture)) as image:
            return np.asarray(image.convert("RGB"), dtype=np.int16)
    except (OSError, ValueError, Image.DecompressionBombError) as error:
        raise InputError("this is no picture that can be compared", why=str(error)) from error
