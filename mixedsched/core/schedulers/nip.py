"""`nip`: non-incremental EPS, whole responses by urgency."""

from mixedsched.core.schedulers._base import Siblings
from mixedsched.core.schedulers._gupta import HIGH_MEDIA, URGENCIES, BlockQueue, by_mapping
from mixedsched.model.scheme import Scheme

SCHEMES = (
    Scheme(
        name="nip",
        description="Whole responses in order of urgency, ties in order of request; one that has begun is finished first. "
        "Urgencies come from the mapping, its incremental flags are ignored.",
        source="Gupta & Bartos, arXiv 2404.13460; mappings not recovered; ties, no interruption as in the sequel's queue",
        needs="kind and Chromium priority (urgency)",
        create=lambda _: Siblings(BlockQueue(), lambda placement: placement.urgency),
        place=by_mapping,
        parameters=(HIGH_MEDIA, URGENCIES),
        default_mapping="gupta2024",
    ),
)
