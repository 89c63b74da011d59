"""A live page becomes a site: several watched loads, fused and written."""

from mixedsched.sites.live.fuse import Fused, fuse, write_loads
from mixedsched.sites.live.loads import Loads, Observes, Plan, observe_all, require_page

__all__ = ["Plan", "Loads", "Observes", "Fused", "fuse", "observe_all", "require_page", "write_loads"]
