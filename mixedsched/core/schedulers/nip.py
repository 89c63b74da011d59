"""`nip`: non-incremental EPS, whole responses by urgency."""

from mixedsched.core.schedulers._base import StreamTable
from mixedsched.core.schedulers._blocks import BlockQueue
from mixedsched.core.schedulers._placing import HIGH_MEDIA, by_mapping
from mixedsched.model.priority import Priority
from mixedsched.model.scheme import Scheme


class NonIncremental(StreamTable[Priority]):
    """Every response in one piece: by urgency, then stream ID; never interrupted by a later, more urgent one."""

    def __init__(self) -> None:
        super().__init__()
        self._blocks = BlockQueue()

    def _enter(self, stream_id: int, placement: Priority) -> None:
        self._blocks.enter(stream_id, placement.urgency)

    def _leave(self, stream_id: int, placement: Priority) -> None:  # noqa: ARG002 - one queue for all urgencies
        self._blocks.leave(stream_id)

    def _forget(self, stream_id: int) -> None:
        self._blocks.forget(stream_id)

    def pick(self) -> int | None:
        return self._blocks.first()

    def sent(self, stream_id: int, size_bytes: int, again_bytes: int = 0) -> None:  # noqa: ARG002 - blocks are not rationed
        self._blocks.sent(stream_id)

    def is_steady(self) -> bool:
        return True


SCHEMES = (
    Scheme(
        name="nip",
        description="Whole responses in order of urgency, ties in order of request; one that has begun is finished first. "
        "Urgencies come from the mapping, its incremental flags are ignored.",
        source="Gupta & Bartos, arXiv 2404.13460; ties and no interruption as in the sequel's queue",
        needs="kind and Chromium priority (urgency)",
        create=lambda _: NonIncremental(),
        place=by_mapping,
        parameters=(HIGH_MEDIA,),
        default_mapping="gupta2024",
    ),
)
