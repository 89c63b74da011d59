"""One simulated load as a value: what the library's `simulate` gives, and what `simulate --json` prints."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from mixedsched.core.sim.load import PageLoad, ResourceTimes
from mixedsched.core.sim.pipe import PipeOptions
from mixedsched.core.sim.record import Recorder
from mixedsched.lab.play.scenario import Scenario
from mixedsched.lab.play.task import NamedScheme, Task, play_whole
from mixedsched.model.browser_model import BrowserModel
from mixedsched.model.page import Page
from mixedsched.model.profile import Profile
from mixedsched.world import catalog


@dataclass(frozen=True, slots=True)
class SimulatedLoad:
    """One page under one scheme, played in virtual time."""

    load: PageLoad
    model: BrowserModel
    # Of the browser that played the page, for its estimated paints.

    @property
    def page(self) -> Page:
        return self.load.page

    @property
    def scheme(self) -> str:
        """With parameters, as asked for."""
        return self.load.scheme

    @property
    def finished_ms(self) -> float:
        """When the last response was complete, since navigation."""
        return self.load.finished_ms

    @property
    def resources(self) -> tuple[ResourceTimes, ...]:
        """When each resource was requested, begun and complete, in order of request."""
        return self.load.resources

    @property
    def estimate_ms(self) -> dict[str, float]:
        """Estimated paints: `fcp`, `lcp` and `si`, in ms since navigation."""
        estimate: dict[str, float] = self.to_dict()["estimate_ms"]
        return estimate

    def to_dict(self) -> dict[str, Any]:
        """The JSON object of `simulate --json`."""
        return Recorder(self.load.page, model=self.model).record(self.load)


def simulate(
    page: Page | str,
    scheme: str,
    *,
    link: Profile | PipeOptions | str | None = None,
    seed: int = 1,
    mapping: str | None = None,
    browser_model: BrowserModel | str = "ideal",
    congestion_control: str = "cubic",
) -> SimulatedLoad:
    """Play one page under one scheme. The same arguments always give the same load.

    Args:
        page: A page, or what `load_page` takes.
        scheme: Name and parameters, as on the command line: "mixed:alpha=0.5".
        link: A network profile or its name: two real QUIC connections are played over it (rung `stack`). None, or PipeOptions:
            an ideal paced pipe (rung `pipe`), by default that of Marx et al. 2019.
        seed: Of the network's losses and jitter.
        mapping: Name or file of a priority table, instead of the scheme's own.
        browser_model: `ideal`, the name of a calibrated model such as `chromium`, or a file.
        congestion_control: Of both ends on rung `stack`: "cubic" or "reno".

    Raises:
        MixedschedError: UsageError, MappingError, ProfileError, PageError or BrowserModelError for bad arguments;
            PageLoadError if the network does not let the page come to its end.
    """
    if isinstance(page, str):
        from mixedsched.sites.pages import load_page  # here, because most pages are given as such

        page = load_page(page)
    model = catalog.load_browser_model(browser_model) if isinstance(browser_model, str) else browser_model
    network = catalog.load_profile(link) if isinstance(link, str) else link or PipeOptions()
    scenario = Scenario(page, network, model=model, congestion_control=congestion_control)
    return SimulatedLoad(play_whole(Task(scenario, NamedScheme(scheme, mapping), seed)), model)
