"""`zeroweight`: a dependency tree in which weights 0 and 255 mean one after another, last and first."""

from mixedsched.core.schedulers import _marx
from mixedsched.core.schedulers._base import Siblings
from mixedsched.core.schedulers._fair import WeightedFair
from mixedsched.core.schedulers._marx import is_visible
from mixedsched.core.schedulers._queue import Fifo, Queue
from mixedsched.model.mapping import PriorityMapping
from mixedsched.model.request import Flag, Kind, Request
from mixedsched.model.scheme import Parameter, Scheme, Values

FIRST, LAST = 255, 0


class ZeroWeightQueue:
    """Weight 255 one after another, lowest number first; then 1 to 254 sharing by weight; then 0 one after another.

    A discipline for the children of any tree node. Source: pull request 2723 to the QUIC drafts, and Marx et al. 2019.
    """

    def __init__(self) -> None:
        self._first, self._sharing, self._last = Fifo(), WeightedFair(), Fifo()
        self._weights: dict[int, int] = {}  # of ready members

    def __len__(self) -> int:
        return len(self._weights)

    def enter(self, member: int, weight: int) -> None:
        self._weights[member] = weight
        self._of(weight).enter(member, weight)

    def leave(self, member: int) -> None:
        self._of(self._weights.pop(member)).leave(member)

    def forget(self, member: int) -> None:
        """Nothing is kept of those that are not ready."""

    def first(self) -> int | None:
        return self._front().first()

    def sent(self, member: int, size_bytes: int) -> None:
        weight = self._weights.get(member)
        if weight is not None:
            self._of(weight).sent(member, size_bytes)

    def is_steady(self) -> bool:
        return self._front().is_steady()

    def _of(self, weight: int) -> Queue:
        if weight == FIRST:
            return self._first
        return self._last if weight == LAST else self._sharing

    def _front(self) -> Queue:
        if self._first:
            return self._first
        return self._sharing or self._last


OTHER_IMAGE = Parameter(
    "other_image",
    "weight of images that are not known to be on the first screen; 0 in the first published version, 1 in the last",
    default="1",
    choices=("0", "1"),
)


def _place(request: Request, _mapping: PriorityMapping | None, values: Values) -> int:
    match request.kind:
        case Kind.DOCUMENT if Flag.MAIN in request.hints:
            return FIRST
        case Kind.DOCUMENT | Kind.STYLESHEET:
            return 254
        case Kind.SCRIPT:
            return 24
        case Kind.FONT:
            return 16
        case Kind.IMAGE:
            return 8 if is_visible(request) else int(values["other_image"])
        case _:
            return LAST


SCHEMES = (
    Scheme(
        name="zeroweight",
        description="The main document first and whole; then all with a weight at once, by weight (style sheets 254, scripts "
        "24, fonts 16, visible images 8, others 1); finally, one after another, those of weight 0.",
        source=f"{_marx.SOURCE}, zeroweight; last published version",
        needs="kind, and from the manifest: main, above_fold, hero (else inferred from Chromium's priority)",
        create=lambda _: Siblings(ZeroWeightQueue(), int),
        place=_place,
        parameters=(OTHER_IMAGE,),
    ),
)
