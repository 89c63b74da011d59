"""The server that a page of `audit` has today."""

from dataclasses import replace

from mixedsched.advice.audit.session import FOLLOWS_PRIORITIES
from mixedsched.advice.changes.own_server import KeptServer, own_server
from mixedsched.errors import UsageError
from mixedsched.world.servers import is_server, read_choice, require_server

BASELINES = ("eps", "stock", "sequential", "none")


def server_of(name: str, baseline: str | None) -> KeptServer:
    """The owner's server: played by the baseline, or else as itself if installed, or else by its model. Raises UsageError."""
    found = own_server(name)
    if baseline is None:
        return found
    scheme = baseline_named(baseline)
    if is_server(scheme) and read_choice(scheme).kind.name != found.arm:
        raise UsageError(
            f"--server {name} and --baseline {baseline} contradict each other",
            why="advice would be for one server, and loads would be made with the other",
            fix="leave one of them out",
        )
    return replace(found, on=scheme) if is_server(scheme) else replace(found, model=scheme, on=scheme, version="")


def baseline_named(baseline: str) -> str:
    """The scheme of today's server, or a real server that is installed. Raises UsageError, MissingPartError."""
    if is_server(baseline):
        require_server(read_choice(baseline).kind)
        return baseline
    if baseline not in BASELINES:
        raise UsageError(
            f"there is no baseline '{baseline}'",
            fix=f"choose one of {', '.join(BASELINES)}, or a server such as @caddy",
        )
    return FOLLOWS_PRIORITIES if baseline == "none" else baseline
