"""The scheme `adaptive` after so many visits, as something that loads are played with."""

from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Self

from mixedsched.core.learning.plan import with_plan
from mixedsched.core.learning.state import PageState
from mixedsched.core.schedulers import SCHEMES
from mixedsched.lab.learning.school import page_of_visit, teach
from mixedsched.lab.learning.search import adaptive_scheme
from mixedsched.lab.play.scenario import Scenario
from mixedsched.lab.play.task import Taught
from mixedsched.model.scheme import ConfiguredScheme, MappingLoader, configure

ADAPTIVE = "adaptive"
STATES_KEPT = 8


def is_adaptive(spec: str) -> bool:
    """Whether a scheme as users write it is the one that learns."""
    return spec.partition(":")[0] == ADAPTIVE


def asks_for_beacons(spec: str) -> bool:
    """Whether a scheme as users write it learns from paints that browsers report. Raises UsageError for wrong parameters."""
    return is_adaptive(spec) and adaptive_scheme(spec).values["beacons"] == "yes"


@dataclass(frozen=True, slots=True)
class TaughtScheme:
    """`adaptive`, which plays `visits` visits to learn from before the load that is told. churn: the share of URLs that are new
    at each visit. beacons: whether visitors' browsers tell their paints."""

    spec: str
    visits: int
    churn: float = 0.0
    beacons: bool = False

    @classmethod
    def of(cls, spec: str, visits: int, churn: float = 0.0, *, beacons: bool = False) -> Self:
        """beacons: also where the spec does not ask for them."""
        return cls(spec, visits, churn, beacons or asks_for_beacons(spec))

    @property
    def code(self) -> str:
        return f"{self.spec} after {self.visits} visits, churn {self.churn:g}, beacons {self.beacons}"

    def configured(self, load_mapping: MappingLoader) -> ConfiguredScheme:
        """Before any visit."""
        return configure(self.spec, SCHEMES, load_mapping)

    def taught(self, scenario: Scenario, seed: int, scheme: ConfiguredScheme) -> Taught:
        """Play the visits, or remember them: with a seed they are the same for every load."""
        state = _taught(_ByIdentity(scenario), self, seed)
        page = page_of_visit(scenario.page, self.churn, seed, self.visits + 1)
        return Taught(with_plan(scheme, state.settled()), page, _facts(self, state))


def _facts(scheme: TaughtScheme, state: PageState) -> dict[str, Any]:
    """What was learned, for the record of the load."""
    settled = state.settled()
    best = next((item for item in state.proposals if item.plan is settled), None)
    return {
        "visits": scheme.visits,
        "churn": scheme.churn,
        "beacons": scheme.beacons,
        "learned": {
            "order": "safe" if best is None else best.plan.name,
            "why": "nothing promises more than the safe order" if best is None else best.plan.why,
            "expected_lcp_ratio": 1.0 if best is None else round(best.lcp_ratio, 4),
            "expected_fcp_ratio": 1.0 if best is None else round(best.fcp_ratio, 4),
            "left": dict(state.guard.left),
            "roles": len(state.memory.roles),
            "networks": [item.name for item in state.classes],
        },
    }


class _ByIdentity:
    """A scenario as a key: two equal ones of the same page would take longer to compare than to remember twice."""

    def __init__(self, scenario: Scenario) -> None:
        self.scenario = scenario

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _ByIdentity) and self.scenario is other.scenario

    def __hash__(self) -> int:
        return id(self.scenario)


@lru_cache(STATES_KEPT)
def _taught(scenario: _ByIdentity, scheme: TaughtScheme, seed: int) -> PageState:
    return teach(scenario.scenario, scheme.visits, churn=scheme.churn, seed=seed, beacons=scheme.beacons)
