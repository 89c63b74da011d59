"""mixedsched, the HTTP/3 prioritization lab: which order of bytes gives visitors the fastest page?

The names in `__all__` are the library, described in docs/library.md; everything else may change. Each is imported when it is
first used, so that `import mixedsched` takes no time.

    >>> import mixedsched as ms
    >>> page = ms.load_page("davies-meenan")
    >>> ms.simulate(page, "mixed", link="4g").finished_ms
    4393.878
"""

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from mixedsched.core.schedulers import schemes
    from mixedsched.core.sim.pipe import PipeOptions
    from mixedsched.errors import MixedschedError
    from mixedsched.lab.comparison import Comparison
    from mixedsched.lab.experiment import Experiment, compare
    from mixedsched.lab.play.simulation import SimulatedLoad, simulate
    from mixedsched.lab.study.definition import Study
    from mixedsched.lab.study.results import StudyResult
    from mixedsched.lab.study.session import run_study as study
    from mixedsched.lab.table import read_results
    from mixedsched.model.page import Page
    from mixedsched.model.profile import Profile
    from mixedsched.model.scheme import Scheme
    from mixedsched.sites.opening import open_site as load_site
    from mixedsched.sites.pages import load_page
    from mixedsched.sites.site import Site
    from mixedsched.world.catalog import load_profile as load_network

__all__ = [
    "Comparison",
    "Experiment",
    "MixedschedError",
    "Page",
    "PipeOptions",
    "Profile",
    "Scheme",
    "SimulatedLoad",
    "Site",
    "Study",
    "StudyResult",
    "compare",
    "load_network",
    "load_page",
    "load_site",
    "read_results",
    "schemes",
    "simulate",
    "study",
]

__version__ = "0.1.0"

_MODULES = {
    "Comparison": "lab.comparison",
    "Experiment": "lab.experiment",
    "MixedschedError": "errors",
    "Page": "model.page",
    "PipeOptions": "core.sim.pipe",
    "Profile": "model.profile",
    "Scheme": "model.scheme",
    "SimulatedLoad": "lab.play.simulation",
    "Site": "sites.site",
    "Study": "lab.study.definition",
    "StudyResult": "lab.study.results",
    "compare": "lab.experiment",
    "load_network": "world.catalog",
    "load_page": "sites.pages",
    "load_site": "sites.opening",
    "read_results": "lab.table",
    "schemes": "core.schedulers",
    "simulate": "lab.play.simulation",
    "study": "lab.study.session",
}
_OTHER_NAMES = {"load_network": "load_profile", "load_site": "open_site", "study": "run_study"}  # in their modules


def __getattr__(name: str) -> Any:
    if name not in _MODULES:
        raise AttributeError(f"module 'mixedsched' has no attribute '{name}'")
    module = importlib.import_module(f"{__name__}.{_MODULES[name]}")
    value = getattr(module, _OTHER_NAMES.get(name, name))
    globals()[name] = value  # the next use finds it without this function
    return value


def __dir__() -> list[str]:
    return [*__all__, "__version__"]
