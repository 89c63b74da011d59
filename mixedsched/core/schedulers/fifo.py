"""`fifo` and `dfifo`: one response after another, in order of request, or by Chrome's levels first."""

from mixedsched.core.schedulers import _marx
from mixedsched.core.schedulers._levels import Level, StrictLevels
from mixedsched.core.schedulers._queue import Fifo
from mixedsched.core.schedulers.sequential import Sequential
from mixedsched.model.scheme import Scheme

SCHEMES = (
    Scheme(
        name="fifo",
        description="One response after another, in the order of their requests. No sharing and no interruption.",
        source=f"{_marx.SOURCE}, fifo: a chain to which each stream is appended",
        needs="nothing",
        create=lambda _: Sequential(),
        place=lambda _request, _mapping, _values: None,
    ),
    Scheme(
        name="dfifo",
        description="Five strict levels inferred from kind and place in the page; inside one, responses in the order of their "
        "requests. A better one interrupts at the next packet, as in Chrome.",
        source=f"{_marx.SOURCE}, dfifo; a chain of exclusive insertions there, without its error after removals",
        needs=_marx.NEEDS,
        create=lambda _: StrictLevels(len(_marx.Rank), Fifo),
        place=lambda request, _mapping, values: Level(_marx.rank_of(request, values)),
        parameters=(_marx.SVG,),
    ),
)
