"""`ip`: incremental EPS, all responses at once with shares by urgency."""

from mixedsched.core.schedulers._base import StreamTable
from mixedsched.core.schedulers._placing import ALPHA, HIGH_MEDIA, by_mapping
from mixedsched.core.schedulers._shares import UrgencyShares
from mixedsched.model.priority import Priority
from mixedsched.model.scheme import Scheme


class WeightedIncremental(StreamTable[Priority]):
    """All ready responses interleaved packet by packet; more urgent ones have the larger share."""

    def __init__(self, alpha: float) -> None:
        super().__init__()
        self._shares = UrgencyShares(alpha)

    def _enter(self, stream_id: int, placement: Priority) -> None:
        self._shares.enter(stream_id, placement.urgency)

    def _leave(self, stream_id: int, placement: Priority) -> None:
        self._shares.leave(stream_id, placement.urgency)

    def _forget(self, stream_id: int) -> None:
        self._shares.forget(stream_id)

    def pick(self) -> int | None:
        return self._shares.first()

    def sent(self, stream_id: int, size_bytes: int, again_bytes: int = 0) -> None:  # noqa: ARG002 - repeats cost capacity too
        self._shares.sent(stream_id, self._placements[stream_id].urgency, size_bytes)


SCHEMES = (
    Scheme(
        name="ip",
        description="All responses interleaved, each with a share of the capacity that grows with its urgency (alpha says how "
        "much). Urgencies come from the mapping, its incremental flags are ignored.",
        source="Gupta & Bartos, arXiv 2403.04074; shares w' = alpha/(u + r_u) + (1 - alpha)/n",
        needs="kind and Chromium priority (urgency)",
        create=lambda values: WeightedIncremental(float(values["alpha"])),
        place=by_mapping,
        parameters=(ALPHA, HIGH_MEDIA),
        default_mapping="gupta2024",
    ),
)
