"""Finds mappings, network profiles and browser models by name, or by the path of a file. Adding one means adding a file."""

import stat
from collections.abc import Callable, Mapping
from functools import lru_cache
from pathlib import Path
from typing import TypeVar

from mixedsched.errors import BrowserModelError, InputError, MappingError, ProfileError, nearest_hint
from mixedsched.model.browser_model import IDEAL, BrowserModel, parse_browser_model
from mixedsched.model.mapping import PriorityMapping
from mixedsched.model.mapping_file import parse_mapping
from mixedsched.model.profile import Profile
from mixedsched.model.profile_file import parse_profile
from mixedsched.world.places import home

MAX_FILE_BYTES = 1_000_000  # of a profile or a mapping
MAX_TRACE_BYTES = 32_000_000  # room for all lines that a trace may have

T = TypeVar("T", PriorityMapping, Profile, BrowserModel)


def load_mapping(name: str, switches: Mapping[str, str] | None = None) -> PriorityMapping:
    """A mapping by name (`mapping/NAME.toml`) or by the path of a file. Raises MappingError."""

    chosen = tuple(sorted((switches or {}).items()))

    def parse(text: str, origin: str) -> PriorityMapping:
        return _parsed_mapping(text, origin, chosen)

    return _load(name, home() / "mapping", parse, "mapping", MappingError)


@lru_cache(64)
def _parsed_mapping(text: str, origin: str, switches: tuple[tuple[str, str], ...]) -> PriorityMapping:
    """The same text is always the same mapping, and to parse one takes milliseconds; each file is still read anew."""
    return parse_mapping(text, origin, dict(switches))


def mappings() -> list[PriorityMapping]:
    """All mappings of the project, by name."""
    return [load_mapping(file.stem) for file in _files(home() / "mapping")]


def load_profile(name: str) -> Profile:
    """A network profile by name (`vm/profiles/NAME.toml`) or by the path of a file. Raises ProfileError."""
    is_path = name.endswith(".toml") or "/" in name
    folder = Path(name).parent if is_path else _profile_folder()

    def read_trace(trace: str) -> str:
        return _read_trace(folder, trace)

    def parse(text: str, origin: str) -> Profile:
        return parse_profile(text, origin, read_trace)

    return _load(name, _profile_folder(), parse, "network profile", ProfileError)


def profiles() -> list[Profile]:
    """All network profiles of the project, by name."""
    return [load_profile(file.stem) for file in _files(_profile_folder())]


def load_browser_model(name: str) -> BrowserModel:
    """A browser model: `ideal`, a name (`results/calibration/NAME.toml`) or the path of a file. Raises BrowserModelError."""
    if name == IDEAL.name:
        return IDEAL
    return _load(
        name, home() / "results" / "calibration", parse_browser_model, "browser model", BrowserModelError, (IDEAL.name,)
    )


def _read_trace(folder: Path, name: str) -> str:
    """A trace in the profile's folder or below it, and nowhere else: profiles may come from other people."""
    what = f"the trace {name}"
    try:
        file = (folder / name).resolve()
        is_inside = file.is_relative_to(folder.resolve())
    except (OSError, ValueError, RuntimeError) as error:  # ValueError: a NUL in it; RuntimeError: a loop of links
        raise ProfileError(f"cannot read {what}", why=_reason(error), fix="name a file beside the profile") from error
    if not is_inside:
        raise ProfileError(f"{what} is refused", why="it lies outside the profile's folder")
    return read_text(file, MAX_TRACE_BYTES, what, ProfileError)


def read_text(file: Path, max_bytes: int, what: str, error_class: type[InputError]) -> str:
    """The text of a regular file of limited size (anything else may never end or begin), without a byte order mark."""
    try:
        mode = file.stat().st_mode
        if not stat.S_ISREG(mode):
            why = "it is a folder" if stat.S_ISDIR(mode) else "it is a pipe, a device or a socket, not a regular file"
            raise error_class(f"cannot read {what}", why=why)
        with file.open("rb") as opened:
            content = opened.read(max_bytes + 1)
        if len(content) > max_bytes:
            raise error_class(f"cannot read {what}", why=f"it is larger than {max_bytes // 1_000_000} MB")
        return content.decode("utf-8-sig")
    except (OSError, ValueError) as error:
        raise error_class(f"cannot read {what}", why=_reason(error)) from error


def _reason(error: Exception) -> str:
    if isinstance(error, UnicodeDecodeError):
        return f"it is not UTF-8: {error.reason} at byte {error.start + 1}"
    return (error.strerror if isinstance(error, OSError) else None) or str(error)


def _profile_folder() -> Path:
    return home() / "vm" / "profiles"


def _files(folder: Path) -> list[Path]:
    return sorted(folder.glob("*.toml"))


def _load(
    name: str,
    folder: Path,
    parse: Callable[[str, str], T],
    what: str,
    error_class: type[InputError],
    built_in: tuple[str, ...] = (),
) -> T:
    known: dict[str, Path] = {file.stem: file for file in _files(folder)}
    is_path = name.endswith(".toml") or "/" in name
    file = Path(name) if is_path else known.get(name)
    if file is None:
        raise error_class(f"there is no {what} '{name}'", fix=nearest_hint(name, [*built_in, *known]))
    text = read_text(file, MAX_FILE_BYTES, f"{what} {file}", error_class)
    found = parse(text, file.name)
    if not is_path and found.name != name:
        raise error_class(f"{file.name} calls itself '{found.name}'", fix="name and file name must agree")
    return found
