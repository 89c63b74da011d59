"""A live page becomes a site: several watched loads, fused and written."""

from mixedsched.sites.live.fuse import Fused, fuse
from mixedsched.sites.live.loads import Loads, Observes, Plan, name_of, observe_all, require_page
from mixedsched.sites.live.write import write_loads

__all__ = ["Plan", "Loads", "Observes", "Fused", "fuse", "name_of", "observe_all", "require_page", "write_loads"]
