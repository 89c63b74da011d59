"""What `lab run` is to do, and a check that it makes sense, before anything is set up."""

import shlex
import socket
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

from mixedsched.core.schedulers import SCHEMES
from mixedsched.errors import UsageError
from mixedsched.model.profile import Profile
from mixedsched.model.scheme import configure
from mixedsched.sites.serving import served_site
from mixedsched.sites.site import Site
from mixedsched.world import catalog
from mixedsched.world.emulator.backend import Address, BackendName
from mixedsched.world.emulator.kernel.testbed import SERVER_HOST
from mixedsched.world.server.site import ServedSite
from mixedsched.world.system.programs import find_program, with_path

_NEED_SERVER = ("{server}", "{port}")  # marks in a command that only a server fills in
_PACKET_LOGS = ("down.jsonl", "up.jsonl")


@dataclass(frozen=True, slots=True)
class CommandRequest:
    """What is to run, over what network, and what is at the other end: a site, a server of the user's, or nothing."""

    backend: str
    profile: Profile
    seed: int
    command: tuple[str, ...]
    site: str | None = None
    scheme: str = "eps"
    """For the site."""
    server: Address | None = None
    server_command: str | None = None
    """Starts that server; None if it runs already."""
    packet_log: Path | None = None
    served: ServedSite | None = None
    """The site, once it has been opened by `checked`."""

    @property
    def server_words(self) -> list[str]:
        """The command that starts the server, word by word; none without one. Raises UsageError if a quote is left open."""
        try:
            return shlex.split(self.server_command or "")
        except ValueError as error:
            raise UsageError("--server-command cannot be read", why=str(error), fix="close its quotes") from error


def checked(request: CommandRequest, open_site: Callable[[str], Site]) -> CommandRequest:
    """The same with the path of the command, the site opened, and the server's host as an address.

    Raises UsageError for what makes no sense, and the errors of the site.
    """
    _check_ends(request)
    if find_program(request.command[0]) is None:
        raise UsageError(f"there is no command '{request.command[0]}'", fix="check its name, or give its path")
    request = replace(request, command=tuple(with_path(request.command)))
    if request.packet_log is not None:
        _check_packet_log(request.packet_log, request.backend)
    if request.site is not None:
        configure(request.scheme, SCHEMES, catalog.load_mapping)
        request = replace(request, served=served_site(open_site(request.site)))
    if request.server is not None:
        return replace(request, server=_reachable(request.server, request.backend))
    return request


def _check_ends(request: CommandRequest) -> None:
    if request.site is not None and (request.server is not None or request.server_command is not None):
        raise UsageError("--site and a server of yours cannot both be at the other end", fix="leave one of them out")
    if request.server_command is not None and request.server is None:
        raise UsageError("--server-command needs --server", fix="say with --server HOST:PORT where it will listen")
    if request.server_command is not None and not request.server_words:
        raise UsageError("--server-command is empty", fix="leave it out if the server runs already")
    has_server = request.site is not None or request.server is not None
    if not has_server and request.backend == BackendName.RELAY:
        raise UsageError(
            "the relay needs to know its server",
            why="it runs in front of one",
            fix="give --site SITE or --server HOST:PORT",
        )
    if not has_server and any(mark in word for word in request.command for mark in _NEED_SERVER):
        raise UsageError("there is no server to fill in", fix="give --site SITE or --server HOST:PORT")


def _check_packet_log(folder: Path, backend: str) -> None:
    if backend != BackendName.RELAY:
        raise UsageError(f"{backend} keeps no log of packets", fix="use --backend relay, which does")
    there = [name for name in _PACKET_LOGS if (folder / name).exists()]
    if there:
        raise UsageError(
            f"there is a packet log in {folder} already",
            why=f"{' and '.join(there)} would be overwritten",
            fix="name another folder, or remove it",
        )


def _reachable(server: Address, backend: str) -> Address:
    """A server that the link can lead to, with the host as an IP address."""
    host, port = server
    if backend != BackendName.RELAY:
        if host != SERVER_HOST:
            raise UsageError(
                f"{host} cannot be reached through {backend}",
                why=f"nothing leaves its namespaces, and the server's has only the address {SERVER_HOST}",
                fix=f"let the server listen at {SERVER_HOST}, started by --server-command, or use --backend relay",
            )
        return server
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_DGRAM)
    except (OSError, UnicodeError) as error:
        why = (error.strerror if isinstance(error, OSError) else None) or str(error)
        raise UsageError(f"there is no host '{host}'", why=why, fix="check --server") from error
    found.sort(key=lambda entry: entry[0] != socket.AF_INET)  # a name may have both; fewer servers listen on IPv6 alone
    return str(found[0][4][0]), port
