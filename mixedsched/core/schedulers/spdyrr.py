"""`spdyrr`: strict levels, with turns inside a level."""

from mixedsched.core.schedulers import _marx
from mixedsched.core.schedulers._fair import WeightedFair
from mixedsched.core.schedulers._levels import Level, StrictLevels
from mixedsched.core.schedulers._queue import RoundRobin
from mixedsched.core.schedulers.rr import OTHER_WEIGHT, WEIGHTS
from mixedsched.model.mapping import PriorityMapping
from mixedsched.model.request import Request
from mixedsched.model.scheduler import Scheduler
from mixedsched.model.scheme import Parameter, Scheme, Values


def _create(values: Values) -> Scheduler[Level]:
    return StrictLevels(len(_marx.Rank), RoundRobin if values["inside"] == "rr" else WeightedFair)


def _place(request: Request, _mapping: PriorityMapping | None, values: Values) -> Level:
    weight = WEIGHTS.get(request.kind, OTHER_WEIGHT) if values["inside"] == "wrr" else 1
    return Level(_marx.rank_of(request, values), weight)


SCHEMES = (
    Scheme(
        name="spdyrr",
        description="dfifo's five strict levels; inside one, responses take turns packet by packet. A better one interrupts at "
        "the next packet.",
        source=f"{_marx.SOURCE}, spdyrr (after SPDY)",
        needs=_marx.NEEDS,
        create=_create,
        place=_place,
        parameters=(
            Parameter(
                "inside",
                "turns inside a level: equal (the published code) or with the weights of wrr (the paper's table)",
                default="rr",
                choices=("rr", "wrr"),
            ),
            _marx.SVG,
        ),
    ),
)
