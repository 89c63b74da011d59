"""The metrics of simulated loads, flat, as studies store them: all of them, or paints alone, which are there sooner."""

from collections.abc import Mapping
from dataclasses import dataclass

from mixedsched.core.sim.load import PlayedLoad
from mixedsched.core.sim.record import Recorder
from mixedsched.errors import PageLoadError
from mixedsched.lab.play.scenario import Scenario
from mixedsched.lab.play.task import PaintReader, Task


@dataclass(frozen=True, slots=True)
class SimulatedValues:
    """A load that was played, or could not be finished."""

    values: Mapping[str, float]  # by key, as of Recorder.values, and "loss_pct"; none of a load that failed
    error: str = ""  # why it failed


class ValuesReader:
    """The metrics of whole loads."""

    until = None

    def __init__(self, scenario: Scenario) -> None:
        self._recorder = Recorder(scenario.page, model=scenario.model)

    def read(self, _: Task, load: PlayedLoad | PageLoadError) -> SimulatedValues:
        if isinstance(load, PageLoadError):
            return SimulatedValues({}, str(load))
        return SimulatedValues(self._recorder.values(load) | _loss(load))


def _loss(load: PlayedLoad) -> dict[str, float]:
    """The share of packets to the client that never arrived; {} on a rung that has none to lose."""
    lost = load.facts.get("packets_lost")
    if lost is None:
        return {}
    sent = lost + load.facts["packets_seen"]
    return {"loss_pct": round(100 * lost / sent, 4) if sent else 0.0}


class PaintValuesReader:
    """The estimated paints of loads that end with the last of them."""

    def __init__(self, scenario: Scenario) -> None:
        self._paints = PaintReader(scenario)
        self.until = self._paints.until

    def read(self, task: Task, load: PlayedLoad | PageLoadError) -> SimulatedValues:
        paints = self._paints.read(task, load)
        return SimulatedValues({}, str(load)) if paints is None else SimulatedValues(paints.to_dict())
