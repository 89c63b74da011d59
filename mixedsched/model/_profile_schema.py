"""The schema of a profile file, key by key."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Discriminator, Field, Tag, model_validator

from mixedsched.model.profile import FULL_PACKET_BYTES, NO_LOSS, GilbertElliott, Loss, RandomLoss

MIN_RATE_BPS = 1_000
MAX_RATE_BPS = 100_000_000_000
MAX_DELAY_MS = 60_000
MAX_QUEUE_BYTES = 10_000_000_000
MAX_BURST_BYTES = 1_000_000_000
MAX_OVERHEAD_BYTES = 200

_Ratio = Annotated[float, Field(ge=0, le=1)]
_RatioBelowOne = Annotated[float, Field(ge=0, lt=1)]
_Rate = Annotated[int, Field(ge=MIN_RATE_BPS, le=MAX_RATE_BPS)]
_Milliseconds = Annotated[float, Field(ge=0, le=MAX_DELAY_MS)]
_Name = Annotated[str, Field(min_length=1)]

Side = Literal["down", "up"]


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", allow_inf_nan=False, strict=True)


class _NoLoss(_Strict):
    model: Literal["none"]

    def loss(self) -> Loss:
        return NO_LOSS


class _RandomLoss(_Strict):
    model: Literal["random"]
    ratio: _RatioBelowOne

    def loss(self) -> Loss:
        return RandomLoss(self.ratio)


class _GilbertElliott(_Strict):
    model: Literal["gilbert-elliott"]
    p: _Ratio
    r: _Ratio
    bad_loss_ratio: _Ratio = 1.0
    good_loss_ratio: _RatioBelowOne = 0.0

    @model_validator(mode="after")
    def _lets_something_pass(self) -> _GilbertElliott:
        if self.r == 0 and self.p > 0 and self.bad_loss_ratio == 1:
            raise ValueError("with r = 0 nothing ever passes once the chain is bad; give r above 0")
        return self

    def loss(self) -> Loss:
        return GilbertElliott(self.p, self.r, self.bad_loss_ratio, self.good_loss_ratio)


def _says_its_model(value: Any) -> Any:
    """Check the key that tells the models apart first, with an error in our own words."""
    _require_table(value)
    if "model" in value and isinstance(value["model"], str):
        return value
    what = "must be a text" if "model" in value else "is missing"
    raise ValueError(f'model {what}: give "none", "random" or "gilbert-elliott"')


def _require_table(value: Any) -> None:
    if not isinstance(value, dict):
        raise ValueError("this must be a table")  # noqa: TRY004 (pydantic wants a ValueError)


_Loss = Annotated[
    _NoLoss | _RandomLoss | _GilbertElliott, Field(discriminator="model"), BeforeValidator(_says_its_model)
]


class _LossByDirection(_Strict):
    down: _Loss = _NoLoss(model="none")
    up: _Loss = _NoLoss(model="none")


_LOSS_KEYS = frozenset().union(*(model.model_fields for model in (_NoLoss, _RandomLoss, _GilbertElliott)))
_SIDES = frozenset(_LossByDirection.model_fields)


def _one_way_of_giving_loss(value: Any) -> Any:
    _require_table(value)
    if value.keys() & _LOSS_KEYS and value.keys() & _SIDES:
        raise ValueError("give one loss for both directions in [loss], or [loss.down] and [loss.up]")
    return value


def _loss_form(table: dict[str, Any]) -> str:
    """Whether a table [loss] is one loss or a table of them; as a tag in parentheses, which error messages leave out."""
    return "(one)" if table.keys() & _LOSS_KEYS else "(by direction)"


_LossTable = Annotated[
    Annotated[_Loss, Tag("(one)")] | Annotated[_LossByDirection, Tag("(by direction)")],
    Discriminator(_loss_form),
    BeforeValidator(_one_way_of_giving_loss),
]


class _OfDirection(_Strict):
    """Keys that apply to both directions, or to one. None: not given."""

    queue_bytes: int | None = Field(default=None, ge=FULL_PACKET_BYTES, le=MAX_QUEUE_BYTES)
    queue_bdp: float | None = Field(default=None, gt=0, le=1000)
    aqm: Literal["drop-tail", "codel"] | None = None
    codel_target_ms: float | None = Field(default=None, ge=0.001, le=MAX_DELAY_MS)
    codel_interval_ms: float | None = Field(default=None, ge=0.001, le=MAX_DELAY_MS)
    burst_bytes: int | None = Field(default=None, ge=0, le=MAX_BURST_BYTES)
    jitter_ms: _Milliseconds | None = None
    jitter_reorders: bool | None = None
    reorder_ratio: _Ratio | None = None
    duplicate_ratio: _Ratio | None = None
    packet_overhead_bytes: int | None = Field(default=None, ge=0, le=MAX_OVERHEAD_BYTES)

    @model_validator(mode="after")
    def _makes_sense(self) -> _OfDirection:
        if self.queue_bytes is not None and self.queue_bdp is not None:
            raise ValueError("give queue_bytes or queue_bdp, not both")
        if self.burst_bytes is not None and 0 < self.burst_bytes < FULL_PACKET_BYTES:
            raise ValueError(f"burst_bytes must be 0 or hold a full packet, {FULL_PACKET_BYTES} bytes")
        return self


class OneDirection(_OfDirection):
    """A table [down] or [up]."""

    delay_ms: _Milliseconds | None = None


class ProfileFile(_OfDirection):
    """A whole file."""

    name: _Name
    description: str
    source: str
    rate_down_bps: _Rate | None = None
    rate_up_bps: _Rate | None = None
    trace_down: _Name | None = None
    trace_up: _Name | None = None
    rtt_ms: _Milliseconds
    loss: _LossTable = _LossByDirection()
    down: OneDirection = OneDirection()
    up: OneDirection = OneDirection()

    @model_validator(mode="after")
    def _one_pace(self) -> ProfileFile:
        for side in ("down", "up"):
            if getattr(self, f"rate_{side}_bps") is not None and getattr(self, f"trace_{side}") is not None:
                raise ValueError(f"give rate_{side}_bps or trace_{side}, not both")
        return self

    @model_validator(mode="after")
    def _codel_is_on(self) -> ProfileFile:
        kinds = {side: getattr(self, side).aqm or self.aqm for side in ("down", "up")}
        for table, says, is_on in (
            ("", self, "codel" in kinds.values()),
            ("down: ", self.down, kinds["down"] == "codel"),
            ("up: ", self.up, kinds["up"] == "codel"),
        ):
            if not is_on and (says.codel_target_ms is not None or says.codel_interval_ms is not None):
                raise ValueError(f'{table}codel_target_ms and codel_interval_ms need aqm = "codel"')
        return self

    @model_validator(mode="after")
    def _delays_add_up(self) -> ProfileFile:
        down_ms, up_ms = self.down.delay_ms, self.up.delay_ms
        if down_ms is not None and up_ms is not None and abs(down_ms + up_ms - self.rtt_ms) > 1e-6:
            raise ValueError(f"rtt_ms is {self.rtt_ms:g}, but the two delay_ms are {down_ms + up_ms:g} together")
        for side, delay_ms in (("down", down_ms), ("up", up_ms)):
            if delay_ms is not None and delay_ms > self.rtt_ms:
                raise ValueError(f"{side}.delay_ms {delay_ms:g} is more than the whole rtt_ms of {self.rtt_ms:g}")
        return self

    def loss_of(self, side: Side) -> Loss:
        """Its own, or the one for both."""
        given = self.loss
        return (getattr(given, side) if isinstance(given, _LossByDirection) else given).loss()

    def of(self, side: Side, key: str, default: Any) -> Any:
        """The value given for a direction, else for both, else the default."""
        values = (getattr(getattr(self, side), key), getattr(self, key))
        return next((value for value in values if value is not None), default)

    def delay_ms(self, side: Side) -> float:
        """The delay as given; else what the other direction leaves of the round trip; else half of it."""
        own, other = (self.down, self.up) if side == "down" else (self.up, self.down)
        if own.delay_ms is not None:
            return own.delay_ms
        return self.rtt_ms / 2 if other.delay_ms is None else self.rtt_ms - other.delay_ms
