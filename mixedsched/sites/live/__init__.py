"""A live page becomes a site: several watched loads, fused and written."""

from mixedsched.sites.live._fuse import Fused, fuse, write_loads
from mixedsched.sites.live._loads import Loads, Observes, RecordingPlan, observe_all, require_page
from mixedsched.sites.live._noticed import noticed

__all__ = [
    "RecordingPlan",
    "Loads",
    "Observes",
    "Fused",
    "fuse",
    "noticed",
    "observe_all",
    "require_page",
    "write_loads",
]
