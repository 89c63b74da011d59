"""The measured distributions: `distributions.toml`, checked."""

from __future__ import annotations

import tomllib
from functools import lru_cache
from importlib.resources import files
from itertools import pairwise
from typing import Annotated, Literal

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
    """What holds of a kind on pages of any size; distributions.toml says what each means."""

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


@lru_cache(maxsize=1)
def distributions() -> Distributions:
    """The distributions that come with the package."""
    return Distributions.model_validate(tomllib.loads(files(__package__).joinpath(FILE_NAME).read_text("utf-8")))
