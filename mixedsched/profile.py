"""Network profiles: what a link does to packets, each direction its own. Format of `vm/profiles/*.toml`.

name = "3g"
description = "..."
source = "..."
rate_down_bps = 1_600_000      # absent: no rate limit
rate_up_bps = 768_000
rtt_ms = 300                   # half of it each way
queue_bytes = 60_000           # of each direction; or queue_bdp = 1.0, in bandwidth-delay products; absent: no limit
[loss.down]                    # absent: none
model = "random"
ratio = 0.02
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Annotated, Any, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from mixedsched.errors import ProfileError

MIN_QUEUE_BYTES = 2 * 1500  # less than two full packets is no queue
MAX_RATE_BPS = 100_000_000_000


@dataclass(frozen=True, slots=True)
class Direction:
    """One direction of a link. rate_bps, queue_bytes: None = unlimited. loss_ratio: of packets, independent of each other."""

    rate_bps: int | None
    delay_us: int
    queue_bytes: int | None
    loss_ratio: float


@dataclass(frozen=True, slots=True)
class Profile:
    """A network as a server and its client see it: `down` is from the server to the client."""

    name: str
    description: str
    source: str
    down: Direction
    up: Direction

    @property
    def rtt_ms(self) -> float:
        return (self.down.delay_us + self.up.delay_us) / 1000

    def facts(self) -> dict[str, Any]:
        """The numbers that matter, for plans, reports and other processes."""
        return {"down": asdict(self.down), "up": asdict(self.up)}

    @classmethod
    def from_facts(cls, name: str, facts: Mapping[str, Any]) -> Self:
        """The reverse of facts()."""
        return cls(name, "", "", Direction(**facts["down"]), Direction(**facts["up"]))


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid")


class _NoLoss(_Strict):
    model: Literal["none"]

    @property
    def loss_ratio(self) -> float:
        return 0.0


class _RandomLoss(_Strict):
    model: Literal["random"]
    ratio: float = Field(ge=0, lt=1)

    @property
    def loss_ratio(self) -> float:
        return self.ratio


_Loss = Annotated[_NoLoss | _RandomLoss, Field(discriminator="model")]


class _LossByDirection(_Strict):
    down: _Loss = _NoLoss(model="none")
    up: _Loss = _NoLoss(model="none")


class _ProfileFile(_Strict):
    name: str = Field(min_length=1)
    description: str
    source: str
    rate_down_bps: int | None = Field(default=None, gt=0, le=MAX_RATE_BPS)
    rate_up_bps: int | None = Field(default=None, gt=0, le=MAX_RATE_BPS)
    rtt_ms: float = Field(ge=0, le=60_000)
    queue_bytes: int | None = Field(default=None, ge=MIN_QUEUE_BYTES)
    queue_bdp: float | None = Field(default=None, gt=0)
    loss: _LossByDirection = _LossByDirection()

    @model_validator(mode="after")
    def _one_queue_size(self) -> Self:
        if self.queue_bytes is not None and self.queue_bdp is not None:
            raise ValueError("give queue_bytes or queue_bdp, not both")
        return self

    def queue_of(self, rate_bps: int | None) -> int | None:
        """The queue of a direction; one in bandwidth-delay products never holds less than two packets."""
        if self.queue_bdp is None:
            return self.queue_bytes
        if rate_bps is None:
            return None
        return max(MIN_QUEUE_BYTES, round(self.queue_bdp * rate_bps / 8 * self.rtt_ms / 1000))


def parse_profile(text: str, origin: str) -> Profile:
    """Read a profile file. origin: what errors call it. Raises ProfileError for anything absurd."""
    try:
        file = _ProfileFile.model_validate(tomllib.loads(text))
    except tomllib.TOMLDecodeError as error:
        raise ProfileError(f"{origin} is not TOML", why=str(error)) from error
    except ValidationError as error:
        findings = error.errors(include_url=False)
        why = "; ".join(f"{'.'.join(str(step) for step in item['loc'])}: {item['msg']}" for item in findings)
        raise ProfileError(f"{origin} is refused", why=why) from error
    delay_us = round(file.rtt_ms * 500)
    return Profile(
        name=file.name,
        description=file.description,
        source=file.source,
        down=Direction(file.rate_down_bps, delay_us, file.queue_of(file.rate_down_bps), file.loss.down.loss_ratio),
        up=Direction(file.rate_up_bps, delay_us, file.queue_of(file.rate_up_bps), file.loss.up.loss_ratio),
    )
