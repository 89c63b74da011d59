"""`adaptive`: the order learned from a page's earlier visits; without a memory, the safe one of `inferred`."""

from mixedsched.core.schedulers._turns import LevelTurns
from mixedsched.core.schedulers._wire_rules import turn_of
from mixedsched.model.scheme import LEARNING, Parameter, Scheme

SCHEMES = (
    Scheme(
        name="adaptive",
        description="Learns a page's best order from ordinary visits, without a manifest: resources that earlier visits waited "
        "for go first, in an order that was found by simulating the learned page and that a guard has not rejected. "
        "A page that was never seen is delivered as by inferred.",
        source="this project: docs/adaptive.md",
        needs="kind, size, Chromium's signal; a memory of earlier visits (serve --memory, simulate --visits)",
        create=lambda _: LevelTurns(),
        place=lambda request, _mapping, _values: turn_of(request),
        parameters=(
            Parameter(
                "beacons",
                "whether browsers report their paints at the visits that it learns from",
                default="no",
                choices=("no", "yes"),
            ),
        ),
        group=LEARNING,
    ),
)
