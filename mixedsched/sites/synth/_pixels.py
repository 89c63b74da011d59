"""Pictures whose number of bytes can be steered: coloured stripes under more or less grain."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Final

import numpy as np
import numpy.typing as npt
from PIL import Image

Pixels = npt.NDArray[np.uint8]
Encode = Callable[[float], bytes]

_POOL_BYTES = 1 << 22  # of noise, drawn once; a picture takes a stretch of it
_POOL_SEED = 20240426
_STRIPE_PX = 40
GOOD_SHARE: Final = 0.97  # a picture that fills this much of its file is not made again; the rest is padding
_TRIES = 9
_FIRST_AMOUNT = 0.1  # what natural sizes take, about
_STEP = 3.0
LEVELS: Final = 16  # of drawings
MAX_PIXELS = 4_000_000  # more make decoders slow, and say nothing new


@dataclass(frozen=True, slots=True)
class Canvas:
    """Size of a picture, and the seed of what is on it."""

    width_px: int
    height_px: int
    seed: int

    def halved(self) -> Canvas:
        return Canvas(max(1, self.width_px // 2), max(1, self.height_px // 2), self.seed)

    @property
    def is_least(self) -> bool:
        return self.width_px == self.height_px == 1


def natural_canvas(size_bytes: int, bytes_per_pixel: float, seed: int) -> Canvas:
    """A picture of the size in pixels that real ones of size_bytes have, three to two, MAX_PIXELS at the most."""
    pixels = min(max(1.0, size_bytes / bytes_per_pixel), MAX_PIXELS)
    height_px = max(1, round((pixels / 1.5) ** 0.5))
    return Canvas(max(1, round(pixels / height_px)), height_px, seed)


def noise(canvas: Canvas, channels: int = 1) -> Pixels:
    """Evenly distributed bytes, of the shape (height, width, channels), without the last for one channel."""
    count = canvas.width_px * canvas.height_px * channels
    start = random.Random(canvas.seed).randrange(max(1, _POOL_BYTES - count))
    flat = np.resize(_pool()[start:], count)  # longer ones repeat, too far apart for any decoder
    shape = (canvas.height_px, canvas.width_px, channels)
    return flat.reshape(shape[:2] if channels == 1 else shape)


@lru_cache(maxsize=1)
def _pool() -> Pixels:
    return np.frombuffer(random.Random(_POOL_SEED).randbytes(_POOL_BYTES), dtype=np.uint8)


def grainy(canvas: Canvas) -> Callable[[float], Image.Image]:
    """A photograph-like picture for each amount of grain, 0 to 1."""
    picture = Image.fromarray(_stripes(canvas), "RGB")
    grain = Image.fromarray(noise(canvas), "L").convert("RGB")
    return lambda amount: Image.blend(picture, grain, amount)


def _stripes(canvas: Canvas) -> Pixels:
    """Slanted stripes that run softly from one colour of the seed to another, of the shape (height, width, 3)."""
    wave = (1 + np.sin(np.arange(canvas.height_px + canvas.width_px) * (np.pi / _STRIPE_PX))) / 2
    colours = _between(canvas.seed, wave)
    diagonals = np.add.outer(np.arange(canvas.height_px), np.arange(canvas.width_px))
    return colours[diagonals]


def _between(seed: int, wave: npt.NDArray[np.float64]) -> Pixels:
    """Colours of three bytes for each value from 0 to 1, between two of the seed."""
    rng = random.Random(seed)
    first, second = (np.array([rng.randrange(40, 216) for _ in range(3)]) for _ in range(2))
    return (first + np.outer(wave, second - first)).astype(np.uint8)


def speckled(canvas: Canvas) -> Callable[[float], Pixels]:
    """A drawing-like picture of LEVELS levels, for each share of its pixels that are speckles, 0 to 1."""
    grain = noise(canvas) % LEVELS
    order = noise(replace(canvas, seed=canvas.seed + 1), 2).view(np.uint16)[..., 0]  # the lower ones are speckled first
    rows, columns = np.arange(canvas.height_px), np.arange(canvas.width_px)
    flat = (np.add.outer(rows, columns) // _STRIPE_PX % LEVELS).astype(np.uint8)
    return lambda share: np.where(order < share * (1 << 16), grain, flat)


def palette(seed: int) -> bytes:
    """LEVELS colours from one of the seed to another, three bytes each."""
    wave = np.linspace(0, 1, LEVELS)
    return _between(seed, wave).tobytes()


def fullest(encode: Encode, room_bytes: int) -> bytes | None:
    """The longest found of the encodings that fit into room_bytes; None if even the one of amount 0 does not.

    encode: takes an amount from 0 to 1; more of it gives more bytes, roughly. Few tries: it is by interpolation.
    """
    best = encode(0.0)
    if len(best) > room_bytes:
        return None
    low, low_bytes = 0.0, len(best)
    high, high_bytes = _FIRST_AMOUNT, 0  # no bytes: not tried, or it fits
    aim_bytes = (1 + GOOD_SHARE) / 2 * room_bytes
    for _turn in range(_TRIES):
        if len(best) >= GOOD_SHARE * room_bytes or low >= 1:
            break
        amount = high
        if high_bytes:
            share = (aim_bytes - low_bytes) / (high_bytes - low_bytes)
            amount = low + min(max(share, 0.02), 0.98) * (high - low)
        tried = encode(amount)
        if len(tried) > room_bytes:
            high, high_bytes = amount, len(tried)
            continue
        best = max(best, tried, key=len)
        low, low_bytes = amount, len(tried)
        if not high_bytes:
            high = min(1.0, amount * _STEP)
    return best
