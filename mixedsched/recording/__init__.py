"""A live page becomes a site: several watched loads, fused and written."""

from mixedsched.recording.fuse import Fused, fuse
from mixedsched.recording.loads import Loads, Observes, Plan, name_of, observe_all, require_page
from mixedsched.recording.write import write_loads

__all__ = ["Plan", "Loads", "Observes", "Fused", "fuse", "name_of", "observe_all", "require_page", "write_loads"]
