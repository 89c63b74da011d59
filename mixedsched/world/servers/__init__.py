"""Other people's HTTP/3 servers as arms: what a site becomes in their configurations, and how they run.

Each server is one file: a `ServerKind` with what it can and cannot replay of a site, and the configuration that makes it do so.
"""

from mixedsched.world.servers.catalog import (
    KINDS,
    FoundServer,
    ServerChoice,
    find_server,
    is_server,
    read_choice,
    require_server,
)
from mixedsched.world.servers.fitting import Fit, fit_site, levelled
from mixedsched.world.servers.kind import Abilities, ServerKind, ServerParameter
from mixedsched.world.servers.running import ProgramFacts, RunningProgram, running_program

__all__ = [
    "KINDS",
    "Abilities",
    "Fit",
    "FoundServer",
    "ProgramFacts",
    "RunningProgram",
    "ServerChoice",
    "ServerKind",
    "ServerParameter",
    "find_server",
    "fit_site",
    "is_server",
    "levelled",
    "read_choice",
    "require_server",
    "running_program",
]
