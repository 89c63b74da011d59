"""`adaptive`: the order that a page's earlier visits have taught; without a memory, the safe one of `inferred`."""

from mixedsched.core.schedulers._turns import LevelTurns
from mixedsched.core.schedulers._wire_rules import turn_of
from mixedsched.model.scheme import LEARNING, Scheme

SCHEMES = (
    Scheme(
        name="adaptive",
        description="Learns a page's best order from ordinary visits, and never needs a manifest: what earlier visits showed "
        "to be waited for goes first, as a plan that simulation of the learned page found and a guard has let stand. "
        "A page that was never seen is delivered as by inferred.",
        source="this project: docs/adaptive.md",
        needs="kind, size, Chromium's signal; a memory of earlier visits (serve --memory, simulate --visits)",
        create=lambda _: LevelTurns(),
        place=lambda request, _mapping, _values: turn_of(request),
        group=LEARNING,
    ),
)
