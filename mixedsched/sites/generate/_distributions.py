"""The measured distributions (`distributions.toml`, checked), and drawing from them."""

import math
import random
import tomllib
from collections.abc import Sequence
from functools import lru_cache
from importlib.resources import files
from itertools import pairwise
from typing import Annotated, Literal, TypeVar

from pydantic import AfterValidator, BaseModel, ConfigDict, Field

from mixedsched.model.request import ChromiumPriority, Kind

FILE_NAME = "distributions.toml"

Finder = Literal["main", "document", "stylesheet", "script"]
FoundLater = Literal["bytes", "complete"]


def _rising(values: tuple[float, ...]) -> tuple[float, ...]:
    if any(low > high for low, high in pairwise(values)):
        raise ValueError("quantiles must not fall")
    return values


Quantiles = Annotated[tuple[float, ...], Field(min_length=2), AfterValidator(_rising)]


class _Table(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class KindInClass(_Table):
    """How often a kind occurs in pages of a class, and how long its bodies are."""

    share_pct: float = Field(gt=0, le=100)
    body_bytes: Quantiles


class SizeClass(_Table):
    """Pages of about one size. body_bytes: of the whole page. own_host_pct: of requests, to its own host."""

    description: str
    resources: Quantiles
    body_bytes: Quantiles
    main_bytes: Quantiles
    hosts: Quantiles
    own_host_pct: Quantiles
    kinds: dict[Kind, KindInClass]


class KindFacts(_Table):
    """Facts of a kind on pages of any size; distributions.toml says what each means."""

    folder: str
    least_bytes: int
    signals: tuple[tuple[ChromiumPriority, float], ...] = Field(min_length=1)
    mimes: tuple[tuple[str, float, int], ...] = Field(min_length=1)
    found: tuple[tuple[Finder, FoundLater, float], ...] = Field(min_length=1)
    at_pct: Quantiles
    delay_ms: Quantiles


class Distributions(_Table):
    """All that is drawn from. source: who measured what. hero_rank_pct: of the hero among images, the longest first."""

    source: str
    hero_rank_pct: Quantiles
    classes: dict[str, SizeClass]
    kinds: dict[Kind, KindFacts]
    least_bytes_by_mime: dict[str, int]


@lru_cache(maxsize=1)
def distributions() -> Distributions:
    """The distributions that come with the package."""
    return Distributions.model_validate(tomllib.loads(files(__package__).joinpath(FILE_NAME).read_text("utf-8")))


T = TypeVar("T")


def from_quantiles(quantiles: Sequence[float], points: Sequence[float], rng: random.Random) -> float:
    """A value from between quantiles, interpolated evenly. points: where they stand, from 0 to 1."""
    place = rng.random()
    return _interpolated(quantiles, points, place)


def size_from_quantiles(quantiles: Sequence[float], points: Sequence[float], rng: random.Random) -> float:
    """A value from between quantiles, which must be positive, interpolated by ratio."""
    logs = [math.log(value) for value in quantiles]
    return math.exp(from_quantiles(logs, points, rng))


def _interpolated(quantiles: Sequence[float], points: Sequence[float], place: float) -> float:
    index = max(0, min(len(points) - 2, sum(point <= place for point in points) - 1))
    low, high = points[index], points[index + 1]
    share = (place - low) / (high - low)
    return quantiles[index] + share * (quantiles[index + 1] - quantiles[index])


def by_shares(shares: Sequence[tuple[T, float]], count: int, rng: random.Random) -> list[T]:
    """`count` labels in random order, as often as their shares say: each count is at most one off.

    Systematic sampling: over many draws each label has exactly its share.
    """
    whole = sum(share for _, share in shares)
    start = rng.random()
    drawn, reached, index = [], shares[0][1], 0
    for number in range(count):
        aim = (number + start) / count * whole
        while aim >= reached and index < len(shares) - 1:
            index += 1
            reached += shares[index][1]
        drawn.append(shares[index][0])
    rng.shuffle(drawn)
    return drawn


def apportioned(weights: Sequence[float], total: int, least: Sequence[int]) -> list[int]:
    """Whole numbers about in proportion to weights (each > 0) that sum up to total, none below its least.

    Where the least ones alone exceed the total, 1 is the least for all. Raises ValueError if there is not even 1 for each.
    """
    if total < len(weights):
        raise ValueError(f"{len(weights)} cannot share {total}: each needs at least 1")
    if not weights:
        return _spread([], total, [])
    if sum(least) > total:
        least = [1] * len(weights)
    whole = sum(weights)
    beyond = [max(0.0, weight / whole * total - low) for weight, low in zip(weights, least, strict=True)]
    return _spread(beyond, total - sum(least), least)


def _spread(shares: Sequence[float], total: int, base: Sequence[int]) -> list[int]:
    """base plus whole numbers near to shares scaled to total; largest remainders are rounded up, the first of equal ones."""
    whole = sum(shares)
    if not whole:
        if total:
            raise ValueError(f"nothing can share {total}")
        return list(base)
    exact = [share / whole * total for share in shares]
    floors = [math.floor(value) for value in exact]
    by_remainder = sorted(range(len(exact)), key=lambda index: (floors[index] - exact[index], index))
    for index in by_remainder[: total - sum(floors)]:
        floors[index] += 1
    return [low + value for low, value in zip(base, floors, strict=True)]
