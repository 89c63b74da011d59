"""`mixed`: a queue of whole responses before an urgency-weighted interleaver."""

from mixedsched.core.schedulers._base import StreamTable
from mixedsched.core.schedulers._gupta import ALPHA, HIGH_MEDIA, MEDIUM_SCRIPT, BlockQueue, UrgencyShares, by_mapping
from mixedsched.model.priority import Priority
from mixedsched.model.scheme import Parameter, Scheme


class Mixed(StreamTable[Priority]):
    """N responses whole, by urgency, before any I response; I responses share what is left.

    interrupts: whether an N response that arrives while I responses are being sent goes at the next packet. Otherwise it
    waits until no I response can send, as the paper's loop literally says; one that has begun continues.
    """

    def __init__(self, alpha: float, interrupts: bool) -> None:
        super().__init__()
        self._blocks = BlockQueue()
        self._shares = UrgencyShares(alpha)
        self._interrupts = interrupts
        self._draining_shares = False  # only used when N may not interrupt

    def _enter(self, stream_id: int, placement: Priority) -> None:
        (self._shares if placement.incremental else self._blocks).enter(stream_id, placement.urgency)

    def _leave(self, stream_id: int, placement: Priority) -> None:
        (self._shares if placement.incremental else self._blocks).leave(stream_id)

    def _forget(self, stream_id: int) -> None:
        self._shares.forget(stream_id)
        self._blocks.forget(stream_id)

    def pick(self) -> int | None:
        if self._draining_shares and self._shares and not self._blocks.is_in_progress:
            return self._shares.first()
        stream_id = self._blocks.first()
        return self._shares.first() if stream_id is None else stream_id

    def sent(self, stream_id: int, size_bytes: int, again_bytes: int = 0) -> None:  # noqa: ARG002 - repeats cost capacity too
        placement = self._placements[stream_id]
        (self._shares if placement.incremental else self._blocks).sent(stream_id, size_bytes)
        self._draining_shares = placement.incremental and not self._interrupts

    def is_steady(self) -> bool:
        return bool(self._blocks) and not (self._shares and self._draining_shares)


SCHEMES = (
    Scheme(
        name="mixed",
        description="Non-incremental responses first, whole and by urgency; when none waits, all incremental ones interleaved "
        "with shares by urgency. The mapping says which response is which.",
        source="Gupta & Bartos, Enhancing QoE in HTTP/3 using EPS Framework, arXiv 2404.17439, Algorithm 1 and Table I",
        needs="kind and Chromium priority (urgency and N/I)",
        create=lambda values: Mixed(float(values["alpha"]), interrupts=values["n_interrupts_i"] == "yes"),
        place=by_mapping,
        parameters=(
            ALPHA,
            HIGH_MEDIA,
            MEDIUM_SCRIPT,
            Parameter(
                "n_interrupts_i",
                "whether a new non-incremental response interrupts running incremental ones (the prose) or waits (the loop)",
                default="yes",
                choices=("yes", "no"),
            ),
        ),
        default_mapping="gupta2024",
    ),
)
