"""Finds the entry of a site that answers a request: in its list of files, or as it was recorded."""

from __future__ import annotations

import ipaddress
from collections.abc import Mapping, Sequence
from typing import Generic, Protocol, TypeVar

from mixedsched.core.h3.response import RequestHead
from mixedsched.world.server.addresses import Addresses, Redirect
from mixedsched.world.server.replay import RecordedAnswer, Replay

Entry = TypeVar("Entry")
Found_co = TypeVar("Found_co", covariant=True)


class Finder(Protocol[Found_co]):
    """Finds the entry for a request; None if there is none."""

    @property
    def knows_methods(self) -> bool:
        """Whether there may be entries for other methods than GET and HEAD."""

    def find(self, head: RequestHead) -> Found_co | Redirect | None: ...


class Listed(Generic[Entry]):
    """Entries as they are listed.

    entries: by host name, then by path, with query where one matters. A host that is not listed is answered as `main_host`.
    """

    knows_methods = False

    def __init__(self, entries: Mapping[str, Mapping[str, Entry]], main_host: str) -> None:
        self._hosts = {host: Addresses(of_host) for host, of_host in entries.items()}
        self._main = self._hosts[main_host]

    def find(self, head: RequestHead) -> Entry | Redirect | None:
        return self._hosts.get(_host_name(head.authority), self._main).find(head.path)


class Replayed(Generic[Entry]):
    """Answers of a recording. Under an IP address or a local name, as when a person looks at it, the main host answers.

    A HEAD gets the answer to a GET.
    """

    knows_methods = True

    def __init__(self, recorded: Sequence[RecordedAnswer[Entry]], hosts: Sequence[str], main_host: str) -> None:
        self._replay = Replay(recorded)
        self._hosts = frozenset(hosts)
        self._main = main_host

    def find(self, head: RequestHead) -> Entry | None:
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
