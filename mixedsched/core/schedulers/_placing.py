"""How the schemes of Gupta & Bartos and EPS place a request: by a mapping table."""

from mixedsched.model.mapping import PriorityMapping
from mixedsched.model.priority import Priority
from mixedsched.model.request import Request
from mixedsched.model.scheme import Parameter, Values

ALPHA = Parameter(
    "alpha",
    "how much urgency counts in the shares of incremental responses: 0 = all alike, 1 = urgency alone",
    default=1.0,
    low=0.0,
    high=1.0,
)
HIGH_MEDIA = Parameter(
    "high_media",
    "whether media of Chromium priority High (hero images) are delivered whole (N) or interleaved (I)",
    default="I",
    choices=("I", "N"),
    switch=True,
)


def by_mapping(request: Request, mapping: PriorityMapping | None, _values: Values) -> Priority:
    assert mapping is not None, "schemes that place by mapping name a default one"
    return mapping.priority_for(request)
