"""`p+` and `s+`: parallel and serial delivery with a head start for important responses (Wijnants et al. 2018)."""

from mixedsched.core.schedulers import _marx
from mixedsched.core.schedulers._marx import Rank, is_delayed, kind_of, rank_of
from mixedsched.core.schedulers._queue import Fifo, Queue
from mixedsched.core.schedulers._tree import WEIGHT_MAX, DependencyTree, Group, TreePlace
from mixedsched.core.schedulers.firefox import BACKGROUND, FOLLOWERS, GROUPS, SPECULATIVE
from mixedsched.model.mapping import PriorityMapping
from mixedsched.model.request import Flag, Kind, Request
from mixedsched.model.scheme import Parameter, Scheme, Values

HIGH, MIDDLE, LOW = "high", "middle", "low"
_FULL, _LEAST = 256, 1

CHAIN = Parameter(
    "chain",
    "order inside the sequential groups: of request (the published code) or dfifo's levels first (the paper's table)",
    default="fifo",
    choices=("fifo", "dfifo"),
)
LINGER = Parameter(
    "linger",
    "for how many packets the middle group stays at weight 1 after the high group has drained (the published code removes "
    "finished responses after 50)",
    default=0,
    high=1000,
    whole=True,
)


class RankedFifo(Fifo):
    """The heaviest member first, all of it; among equals the lowest number."""

    @staticmethod
    def weight(rank: int) -> int:
        """The weight of a rank, 0 being the first."""
        return WEIGHT_MAX - rank

    def enter(self, member: int, weight: int) -> None:
        self.push(member, -weight)


class HeadStartTree(DependencyTree):
    """Groups high (256), middle and low (1). While high has something to send, middle has the weight of low; else 256."""

    def __init__(self, groups: tuple[Group, ...], linger_packets: int) -> None:
        super().__init__(groups)
        self._linger_packets = linger_packets
        self._lingering = 0

    def _enter(self, stream_id: int, placement: TreePlace) -> None:
        super()._enter(stream_id, placement)
        if placement.parent == HIGH:
            self._lingering = 0
            self.set_weight(MIDDLE, _LEAST)

    def _leave(self, stream_id: int, placement: TreePlace) -> None:
        super()._leave(stream_id, placement)
        if placement.parent == HIGH and not self.is_group_active(HIGH):
            self._lingering = self._linger_packets
            if not self._lingering:
                self.set_weight(MIDDLE, _FULL)

    def sent(self, stream_id: int, size_bytes: int, again_bytes: int = 0) -> None:
        super().sent(stream_id, size_bytes, again_bytes)
        if self._lingering:
            self._lingering -= 1
            if not self._lingering:
                self.set_weight(MIDDLE, _FULL)


def _chain(values: Values) -> type[Queue]:
    return Fifo if values["chain"] == "fifo" else RankedFifo


def _create_parallel(values: Values) -> HeadStartTree:
    groups = (Group(HIGH, _FULL, discipline=_chain(values)), Group(MIDDLE, _FULL), Group(LOW, _LEAST))
    return HeadStartTree(groups, int(values["linger"]))


def _place_parallel(request: Request, _mapping: PriorityMapping | None, values: Values) -> TreePlace:
    match rank := rank_of(request, values):
        case Rank.HIGHEST | Rank.HIGH:
            return TreePlace(HIGH, RankedFifo.weight(rank))
        case Rank.NORMAL:
            return TreePlace(MIDDLE, 183)
        case _:
            return TreePlace(LOW, 110)


def _create_serial(values: Values) -> HeadStartTree:
    chain = _chain(values)
    inner = tuple(Group(item.name, item.weight, LOW if item.parent == "root" else item.parent) for item in GROUPS)
    groups = (Group(HIGH, _FULL, discipline=chain), Group(MIDDLE, _FULL, discipline=chain), Group(LOW, _LEAST), *inner)
    return HeadStartTree(groups, int(values["linger"]))


def _place_serial(request: Request, _mapping: PriorityMapping | None, values: Values) -> TreePlace:
    kind, hints = kind_of(request, values), request.hints
    chained = RankedFifo.weight(rank_of(request, values))
    if kind is Kind.SCRIPT:
        return TreePlace(MIDDLE if is_delayed(request) or Flag.IN_HEAD not in hints else HIGH, chained)
    if Flag.PRELOAD in hints:
        return TreePlace(SPECULATIVE)
    match kind:
        case Kind.STYLESHEET:
            return TreePlace(HIGH, chained)
        case Kind.XHR:
            return TreePlace(MIDDLE, chained)
        case Kind.DOCUMENT | Kind.IMAGE | Kind.FONT:
            return TreePlace(FOLLOWERS)
        case _:
            return TreePlace(BACKGROUND)


SCHEMES = (
    Scheme(
        name="p+",
        description="Documents, style sheets, fonts and blocking scripts one after another; late scripts, then images and "
        "the rest, each group in equal turns. Nearly strict: a group leaks 1/257 of the capacity to each one below it.",
        source=f"{_marx.SOURCE}, p+ (Parallel+ of Wijnants et al. 2018)",
        needs=_marx.NEEDS,
        create=_create_parallel,
        place=_place_parallel,
        parameters=(CHAIN, LINGER, _marx.SVG),
    ),
    Scheme(
        name="s+",
        description="Style sheets and head scripts one after another, then other scripts and XHR one after another, then all "
        "the rest in Firefox's groups. Documents and fonts wait with the images.",
        source=f"{_marx.SOURCE}, s+ (Serial+ of Wijnants et al. 2018)",
        needs="kind, and from the manifest: in_head, async, defer, preload (else inferred from Chromium's priority)",
        create=_create_serial,
        place=_place_serial,
        parameters=(CHAIN, LINGER, _marx.SVG),
    ),
)
