"""`ip`: incremental EPS, all responses at once with shares by urgency."""

from mixedsched.core.schedulers._base import Siblings
from mixedsched.core.schedulers._gupta import ALPHA, HIGH_MEDIA, UrgencyShares, by_mapping
from mixedsched.model.scheme import Scheme

SCHEMES = (
    Scheme(
        name="ip",
        description="All responses interleaved, each with a share of the capacity that grows with its urgency (alpha says how "
        "much). Urgencies come from the mapping, its incremental flags are ignored.",
        source="Gupta & Bartos, arXiv 2403.04074; shares w' = alpha/(u + r_u) + (1 - alpha)/n",
        needs="kind and Chromium priority (urgency)",
        create=lambda values: Siblings(UrgencyShares(float(values["alpha"])), lambda placement: placement.urgency),
        place=by_mapping,
        parameters=(ALPHA, HIGH_MEDIA),
        default_mapping="gupta2024",
    ),
)
