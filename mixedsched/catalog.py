"""Finds mappings and network profiles by name, or by the path of a file. Adding one means adding a file."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TypeVar

from mixedsched.errors import InputError, MappingError, MissingPartError, ProfileError, nearest_hint
from mixedsched.mapping import PriorityMapping
from mixedsched.mapping_file import parse_mapping
from mixedsched.profile import Profile, parse_profile

HOME_VARIABLE = "MIXEDSCHED_HOME"

T = TypeVar("T", PriorityMapping, Profile)


def home() -> Path:
    """The project's folder, with mapping/, vm/profiles/, sites/ and lighthouse-runner/ in it."""
    named = os.environ.get(HOME_VARIABLE)
    folder = Path(named) if named else Path(__file__).resolve().parent.parent
    if not (folder / "mapping").is_dir():
        raise MissingPartError(
            f"{folder} is not mixedsched's folder",
            why="it has no mapping/ in it",
            fix=f"set {HOME_VARIABLE} to a checkout of mixedsched",
        )
    return folder


def load_mapping(name: str, switches: Mapping[str, str] | None = None) -> PriorityMapping:
    """A mapping by name (`mapping/NAME.toml`) or by the path of a file. Raises MappingError."""

    def parse(text: str, origin: str) -> PriorityMapping:
        return parse_mapping(text, origin, switches)

    return _load(name, home() / "mapping", parse, "mapping", MappingError)


def mappings() -> list[PriorityMapping]:
    """All mappings of the project, by name."""
    return [load_mapping(file.stem) for file in _files(home() / "mapping")]


def load_profile(name: str) -> Profile:
    """A network profile by name (`vm/profiles/NAME.toml`) or by the path of a file. Raises ProfileError."""
    return _load(name, _profile_folder(), parse_profile, "network profile", ProfileError)


def profiles() -> list[Profile]:
    """All network profiles of the project, by name."""
    return [load_profile(file.stem) for file in _files(_profile_folder())]


def _profile_folder() -> Path:
    return home() / "vm" / "profiles"


def _files(folder: Path) -> list[Path]:
    return sorted(folder.glob("*.toml"))


def _load(name: str, folder: Path, parse: Callable[[str, str], T], what: str, error_class: type[InputError]) -> T:
    known = {file.stem: file for file in _files(folder)}
    is_path = name.endswith(".toml") or "/" in name
    file = Path(name) if is_path else known.get(name)
    if file is None:
        raise error_class(f"there is no {what} '{name}'", fix=nearest_hint(name, known))
    try:
        text = file.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise error_class(f"cannot read {what} {file}", why=str(error)) from error
    found = parse(text, file.name)
    if not is_path and found.name != name:
        raise error_class(f"{file.name} calls itself '{found.name}'", fix="name and file name must agree")
    return found
