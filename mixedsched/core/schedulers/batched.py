"""`batched-rr`: turns of several packets, so that a burst of losses hits fewer responses."""

from mixedsched.core.schedulers._base import Siblings
from mixedsched.core.schedulers._queue import RoundRobin
from mixedsched.core.schedulers.sander import SOURCE
from mixedsched.model.scheme import Parameter, Scheme

SCHEMES = (
    Scheme(
        name="batched-rr",
        description="All responses take turns of several packets, in order of stream ID. More packets come closer to "
        "sequential delivery, fewer to round robin.",
        source=f"{SOURCE}, proposed there, not measured; QUICHE serves a stream for 16,000 bytes in a turn",
        needs="nothing",
        create=lambda values: Siblings(RoundRobin(int(values["packets"])), int),
        place=lambda _request, _mapping, _values: 1,
        parameters=(
            Parameter(
                "packets",
                "how many packets a response sends in its turn; a multiple of the usual loss burst is advised",
                default=10,
                low=1,
                high=10_000,
                whole=True,
            ),
        ),
    ),
)
