"""`rr` and `wrr`: all responses at once, with equal shares or shares by kind."""

from types import MappingProxyType

from mixedsched.core.schedulers import _marx
from mixedsched.core.schedulers._base import Siblings
from mixedsched.core.schedulers._fair import WeightedFair
from mixedsched.core.schedulers._tree import DEFAULT_WEIGHT
from mixedsched.model.request import Kind
from mixedsched.model.scheme import Scheme

WEIGHTS = MappingProxyType(
    {Kind.DOCUMENT: 256, Kind.STYLESHEET: 256, Kind.SCRIPT: 24, Kind.FONT: 16}  # everything else: OTHER_WEIGHT
)
OTHER_WEIGHT = 8

SCHEMES = (
    Scheme(
        name="rr",
        description="All responses take turns and get equally many bytes. What HTTP/2 does by default, and Edge did before "
        "Chromium; the baseline of the study.",
        source=f"{_marx.SOURCE}, rr",
        needs="nothing",
        create=lambda _: Siblings(WeightedFair(), int),
        place=lambda _request, _mapping, _values: DEFAULT_WEIGHT,
    ),
    Scheme(
        name="wrr",
        description="All responses take turns, with more bytes for documents and style sheets (256) than for scripts (24), "
        "fonts (16) and the rest (8). Nothing interrupts: a heavy newcomer only gets most of the capacity.",
        source=f"{_marx.SOURCE}, wrr (their reading of Safari; safari-wrr is another one)",
        needs="kind",
        create=lambda _: Siblings(WeightedFair(), int),
        place=lambda request, _mapping, _values: WEIGHTS.get(request.kind, OTHER_WEIGHT),
    ),
)
