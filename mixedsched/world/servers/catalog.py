"""The servers that can be arms, and where they are on this machine."""

import hashlib
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType

from mixedsched.errors import MissingPartError, UsageError, nearest_hint
from mixedsched.model.scheme import SERVER_MARK as MARK
from mixedsched.world.places import cache_folders
from mixedsched.world.servers import _caddy, _gtlsserver, _h2o, _nginx, _quic_go, _quiche
from mixedsched.world.servers.kind import Program, ServerKind, Version
from mixedsched.world.system.programs import find_program

FOLDERS_VARIABLE = "MIXEDSCHED_SERVERS"  # folders with servers in them, as in PATH
_KEPT = "servers"  # in the cache folder; scripts/setup --lab fills it
_INSIDE = ("", "bin", "sbin", "usr/bin", "usr/sbin")

KINDS: Mapping[str, ServerKind] = MappingProxyType(
    {
        kind.name: kind
        for kind in (_caddy.CADDY, _gtlsserver.GTLSSERVER, _h2o.H2O, _nginx.NGINX, _quic_go.QUIC_GO, _quiche.QUICHE)
    }
)


@dataclass(frozen=True, slots=True)
class ServerChoice:
    """An arm: a server with parameters."""

    spec: str
    kind: ServerKind
    values: Mapping[str, str]

    @property
    def files_digest(self) -> str | None:
        """A fingerprint of the files that its parameters name, so that an edited one is another arm; None without any."""
        files = [
            Path(self.values[item.name]) for item in self.kind.parameters if item.is_file and item.name in self.values
        ]
        if not files:
            return None
        return hashlib.sha256(b"\0".join(file.read_bytes() for file in files)).hexdigest()[:16]


@dataclass(frozen=True, slots=True)
class FoundServer:
    """What is on this machine of a server."""

    kind: ServerKind
    program: Program | None
    version: Version | None

    @property
    def is_usable(self) -> bool:
        return self.version is not None and not self.version.lacks

    @property
    def is_known(self) -> bool:
        """Whether what we say of its priorities was read in this version."""
        return self.version is not None and self.kind.is_known(self.version.name)


def is_server(spec: str) -> bool:
    """Whether an arm is a server, and not a scheme of ours."""
    return spec.startswith(MARK)


def read_choice(spec: str) -> ServerChoice:
    """Read "@name" or "@name:parameter=value,...". Raises UsageError for unknown ones, bad values and missing files."""
    name, _, rest = spec.removeprefix(MARK).partition(":")
    if name not in KINDS:
        raise UsageError(f"there is no server '{MARK}{name}'", fix=nearest_hint(name, KINDS))
    kind = KINDS[name]
    parameters = {item.name: item for item in kind.parameters}
    values: dict[str, str] = {}
    for assignment in filter(None, rest.split(",")):
        key, equals, text = assignment.partition("=")
        if not equals:
            raise UsageError(f"{spec}: '{assignment}' is not understood", fix="write parameter=value")
        if key not in parameters:
            fix = nearest_hint(key, parameters) if parameters else f"{MARK}{name} takes none"
            raise UsageError(f"{MARK}{name} has no parameter '{key}'", fix=fix)
        if key in values:
            raise UsageError(f"{spec}: '{key}' is given twice", fix="give it once")
        values[key] = parameters[key].read(text, name)
        if parameters[key].is_file and not Path(values[key]).is_file():
            raise UsageError(f"{spec}: there is no file {text}", fix=f"for instance {parameters[key].example}")
    return ServerChoice(spec, kind, MappingProxyType(values))


def find_server(kind: ServerKind) -> FoundServer:
    """The first program of this server that can be an arm; else the first at all, with why it cannot."""
    first: FoundServer | None = None
    for program in _candidates(kind):
        found = FoundServer(kind, program, kind.version_of(program))
        if found.is_usable:
            return found
        first = first or found
    return first or FoundServer(kind, None, None)


def require_server(kind: ServerKind) -> FoundServer:
    """As find_server. Raises MissingPartError if there is none that can be an arm."""
    found = find_server(kind)
    if found.is_usable:
        return found
    seen = f"{found.program.path} cannot be used: {found.version.lacks}" if found.program and found.version else ""
    where = f"it was looked for in {FOLDERS_VARIABLE}, in build/servers and in the PATH"
    raise MissingPartError(
        f"{kind.title}, which {MARK}{kind.name} needs, is not here", why=seen or where, fix=kind.how_to_get
    )


def _candidates(kind: ServerKind) -> Iterator[Program]:
    """What the user names comes first, then what was set up for us, then what the machine has."""
    seen = set()
    for program in _places(kind):
        if program.path not in seen and program.path.is_file() and os.access(program.path, os.X_OK):
            seen.add(program.path)
            yield program


def _places(kind: ServerKind) -> Iterator[Program]:
    named = [Path(item) for item in os.environ.get(FOLDERS_VARIABLE, "").split(os.pathsep) if item]
    for folder in named:
        if folder.name in kind.programs and folder.is_file():
            yield Program(folder.absolute(), folder.absolute().parent.parent)
        yield from _in_folder(folder.absolute(), kind)
    kept = [folder / _KEPT for folder in cache_folders()]
    for folder in kept:
        yield from _in_folder(folder, kind)
    for name in kind.programs:
        if (path := find_program(name)) is not None:
            yield Program(Path(path).absolute(), Path(path).absolute().parent.parent)
    for folder in kept:
        yield from _unpacked(folder / "root", kind)


def _in_folder(folder: Path, kind: ServerKind) -> Iterator[Program]:
    """Itself, or a folder in it that is named after the server."""
    for name in kind.programs:
        for base in (folder, folder / kind.name):
            for inside in _INSIDE:
                yield Program(base / inside / name, base / inside / ".." if inside else base)


def _unpacked(root: Path, kind: ServerKind) -> Iterator[Program]:
    """Packages of the distribution that were unpacked and not installed: their libraries are beside them."""
    libraries = os.pathsep.join(str(item) for item in (root / "usr/lib").glob("*-linux-gnu*"))
    for name in kind.programs:
        for inside in ("usr/sbin", "usr/bin"):
            yield Program(root / inside / name, root / "usr", {"LD_LIBRARY_PATH": libraries})
