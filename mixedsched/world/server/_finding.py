"""Finds the entry of a site that answers a request: in its list of files or its recording, never in the file system."""

import ipaddress
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol
from urllib.parse import quote

from mixedsched.core.h3.response import RequestHead
from mixedsched.world.server._replay import Replay, one_spelling
from mixedsched.world.server.site import RecordedAnswer, SiteEntry

_INDEX = "index.html"
_PATH_SAFE = "/:@!$&'()*+,;=-._~"
_QUERY_SAFE = _PATH_SAFE + "?%[]|^`{}"  # characters that are percent-encoded already stay so


@dataclass(frozen=True, slots=True)
class Redirect:
    """A folder's name without its slash leads to the folder. location: a path of the same host."""

    location: str


class Addresses:
    """The paths of one host.

    entries: by path as listed, with query where one matters. They are matched in this order: the target as it is; the path
    without its query; the same path in another percent-encoding; for a folder, its index.html; for a folder's name without
    the slash at its end, a redirect there.
    """

    def __init__(self, entries: Mapping[str, SiteEntry]) -> None:
        self._listed = dict(entries)
        self._spelt: dict[str, SiteEntry] = {}
        for path, entry in entries.items():
            spelling = one_spelling(path)
            if "?" not in path and spelling is not None:
                self._spelt.setdefault(spelling, entry)
        for spelling, entry in tuple(self._spelt.items()):
            folder, _, name = spelling.rpartition("/")
            if name == _INDEX:
                self._spelt.setdefault(f"{folder}/", entry)
        self._folders = {spelling[:-1] for spelling in self._spelt if spelling.endswith("/") and spelling != "/"}

    def find(self, target: str) -> SiteEntry | Redirect | None:
        """The entry for a request's path and query."""
        path, mark, query = target.partition("?")
        for listed in (target, path):
            if listed in self._listed:
                return self._listed[listed]
        spelling = one_spelling(path)
        if spelling is None:
            return None
        if spelling in self._spelt:
            return self._spelt[spelling]
        # A location that begins with // would name another host.
        if spelling in self._folders and not spelling.startswith("//"):
            sent_query = quote(query.encode("latin-1", "replace"), safe=_QUERY_SAFE)
            return Redirect(quote(f"{spelling}/", safe=_PATH_SAFE) + mark + sent_query)
        return None


class Finder(Protocol):
    """Finds the entry for a request; None if there is none."""

    @property
    def knows_methods(self) -> bool:
        """Whether there may be entries for other methods than GET and HEAD."""

    def find(self, head: RequestHead) -> SiteEntry | Redirect | None: ...


class ListedEntries:
    """Entries as they are listed.

    entries: by host name, then by path, with query where one matters. A host that is not listed is answered as `main_host`.
    """

    knows_methods = False

    def __init__(self, entries: Mapping[str, Mapping[str, SiteEntry]], main_host: str) -> None:
        self._hosts = {host: Addresses(of_host) for host, of_host in entries.items()}
        self._main = self._hosts[main_host]

    def find(self, head: RequestHead) -> SiteEntry | Redirect | None:
        return self._hosts.get(_host_name(head.authority), self._main).find(head.path)


class RecordedEntries:
    """Answers of a recording. Under an IP address or a local name, as when a person looks at it, the main host answers.

    A HEAD gets the answer to a GET.
    """

    knows_methods = True

    def __init__(self, recorded: Sequence[RecordedAnswer], hosts: Sequence[str], main_host: str) -> None:
        self._replay = Replay(recorded)
        self._hosts = frozenset(hosts)
        self._main = main_host

    def find(self, head: RequestHead) -> SiteEntry | None:
        host = _host_name(head.authority)
        if host not in self._hosts and _is_local(host):
            host = self._main
        method = "GET" if head.method == "HEAD" else head.method
        known = head.field(b"if-none-match") if method == "GET" else None
        return self._replay.find(method, host, head.path, known)


def _host_name(authority: str) -> str:
    """The host of an authority, without its port; lower case."""
    name, colon, port = authority.rpartition(":")
    return (name if colon and port.isdecimal() else authority).lower().removesuffix(".")


def _is_local(host: str) -> bool:
    if host == "localhost" or host.endswith(".localhost"):
        return True
    try:
        ipaddress.ip_address(host.strip("[]"))
    except ValueError:
        return False
    return True
