"""The result of a simulated page load, the same for both rungs."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from mixedsched.model.page import Page

Rung = Literal["pipe", "stack"]

MICROSECONDS_PER_MILLISECOND = 1000  # simulated time is whole microseconds


@dataclass(frozen=True, slots=True)
class ResourceTimes:
    """One response: when its request left, when its first byte and all of it were there. In ms since navigation."""

    id: str
    requested_ms: float
    first_byte_ms: float
    complete_ms: float


@dataclass(frozen=True, slots=True)
class Delivery:
    """One packet of a response, at the moment when its data was handed to HTTP/3."""

    id: str
    at_ms: float


@dataclass(frozen=True, slots=True)
class PlayedLoad:
    """One page under one scheme, played."""

    page: Page
    scheme: str
    """Name and parameters, as asked for."""
    rung: Rung
    send_buffer_bytes: int
    resources: tuple[ResourceTimes, ...]
    """In order of request; of a load that was only played until some were complete, those that were by then."""
    order: tuple[tuple[str, int], ...]
    """Response packets as they were sent, run by run: (resource id, packets)."""
    hol_bytes: int = 0
    """Stream data that arrived but had to wait for a lost packet of its own stream."""
    deliveries: tuple[Delivery, ...] = ()
    """Packet by packet, kept only where that says more than `order` (jitter)."""
    facts: Mapping[str, Any] = field(default_factory=dict)
    """Facts that only this rung knows (link, seed, losses ...), each under its JSON key."""

    @property
    def finished_ms(self) -> float:
        """When the last response was complete."""
        return max(item.complete_ms for item in self.resources)

    @property
    def packets(self) -> int:
        """Response packets sent, repeats included."""
        return sum(count for _, count in self.order)

    def times(self) -> dict[str, ResourceTimes]:
        """By resource id."""
        return {item.id: item for item in self.resources}
