"""What there is to know of a server that can be an arm."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from mixedsched.errors import UsageError
from mixedsched.world.servers.answers import Answer

HEADERS = "headers"  # the parameter that names a file of priority headers, as `tune` ships it


@dataclass(frozen=True, slots=True)
class Abilities:
    """What of a site a server can replay. Without one of them, see `fitting`."""

    hosts: bool = True  # other answers for other hosts
    queries: bool = True  # other answers for other queries of a path, or other spellings of it; any bytes in it
    fields: bool = True  # header fields of the site's own, and those that let other hosts read an answer
    codings: bool = True  # files that are stored encoded
    statuses: bool = True  # others than 200, and 404 for what does not exist
    delays: bool = False  # answers that take time to be made
    methods: bool = False  # other methods than GET
    types: bool = True  # any media type for any path, not only by the ending of its name
    says_types: bool = True  # any media type at all
    heeds_queries: bool = False  # a query with u= or i= sets the response's priority
    target_most: int | None = None  # characters of host, path and query by which answers may differ; None: any number


@dataclass(frozen=True, slots=True)
class ServerParameter:
    """One that a user may give behind the name: `@nginx:http3_stream_buffer_size=1m`."""

    name: str
    description: str
    pattern: str  # of its values
    example: str
    is_file: bool = False

    def read(self, text: str, server: str) -> str:
        """The value. Raises UsageError. A file becomes an absolute path; whether it is there is seen by `read_choice`."""
        if not re.fullmatch(self.pattern, text):
            raise UsageError(f"@{server}: {self.name}={text} is not possible", fix=f"for instance {self.example}")
        return str(Path(text).absolute()) if self.is_file else text


@dataclass(frozen=True, slots=True)
class Program:
    """A server's program on this machine."""

    path: Path
    root: Path = Path("/usr")  # below which its own files lie
    environment: Mapping[str, str] = field(default_factory=dict)  # what it needs beyond ours, such as libraries


@dataclass(frozen=True, slots=True)
class Order:
    """What a server is to serve, and where."""

    program: Program
    folder: Path  # for its configuration and temporary files; empty, and its own
    host: str
    port: int
    certificate: Path
    key: Path
    hosts: Sequence[str]  # of the site
    answers: Sequence[Answer]
    values: Mapping[str, str]  # of its parameters, those that were given
    bursts: bool  # whether flights of packets may leave in one system call

    def write(self, name: str, text: str) -> Path:
        """A file in its folder."""
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
        return path

    def shipped(self) -> Path | None:
        """The user's file of header rules, under a name in its folder: servers take some signs of names for patterns or
        variables. None if there is no such file.
        """
        if HEADERS not in self.values:
            return None
        link = self.folder / "shipped"
        link.symlink_to(self.values[HEADERS])
        return link


@dataclass(frozen=True, slots=True)
class Launch:
    """How to start it. words: the command; it must stay in the foreground, in one process or with children that end with it."""

    words: tuple[str, ...]
    environment: Mapping[str, str] = field(default_factory=dict)
    logs: tuple[Path, ...] = ()  # files that it writes complaints to, besides its output


@dataclass(frozen=True, slots=True)
class Version:
    """Of an installed server. lacks: why it cannot be an arm; empty if it can."""

    name: str
    lacks: str = ""


@dataclass(frozen=True, slots=True)
class ServerKind:
    """A server that can be an arm."""

    name: str  # without the @
    title: str
    programs: tuple[str, ...]  # names that its program may have
    priorities: str  # what it does with priorities, in one sentence
    source: str  # where that is known from
    stand_in: str  # the scheme of ours that comes nearest, for simulation
    how_to_get: str
    read_versions: tuple[str, ...]  # beginnings of versions that this was read in
    version_of: Callable[[Program], Version]
    prepare: Callable[[Order], Launch]
    abilities: Abilities = Abilities()
    parameters: tuple[ServerParameter, ...] = ()

    def is_known(self, version: str) -> bool:
        """Whether what is said of its priorities was read in this version."""
        return any(version == known or version.startswith(f"{known}.") for known in self.read_versions)


def headers_parameter(server: str, file: str) -> ServerParameter:
    """The parameter for a file of header rules in a server's own words."""
    return ServerParameter(
        HEADERS, f"priority headers for {server}, as tune ships them", r"[^\0\r\n]+", f"{HEADERS}=ship/{file}", True
    )
