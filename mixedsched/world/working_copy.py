"""Folders of the project to which packages are added: the browser's worker and the sites' contents.

In a checkout, packages go into the folder itself; otherwise into a kept copy that is named after its content, so that every
version of this program has its own.
"""

import hashlib
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from mixedsched.errors import MissingPartError
from mixedsched.world import places


@dataclass(frozen=True, slots=True)
class WorkingCopy:
    """A folder of the project, with packages."""

    name: str
    """In places.home()."""
    files: str
    """A pattern for what is copied."""

    def found(self, is_ready: Callable[[Path], bool]) -> Path | None:
        """The folder if it is complete with its packages; else None."""
        source = places.home() / self.name
        if not places.is_installed():
            return source if is_ready(source) else None
        return places.find_kept(self._kept_name(), lambda folder: self._is_whole(folder) and is_ready(folder))

    def place(self) -> Path:
        """Where it belongs. Raises MissingPartError."""
        if not places.is_installed():
            return places.home() / self.name
        return places.writable_cache() / self._kept_name()

    def provide(self) -> Path:
        """The folder with all our files, to which packages can be added. Raises MissingPartError."""
        place = self.place()
        if places.is_installed() and not self._is_whole(place):
            self._copy(place)
        return place

    def others(self) -> list[Path]:
        """The copies of other versions."""
        if not places.is_installed():
            return []
        copies = (copy for folder in places.cache_folders() for copy in folder.glob(f"{self.name}-*"))
        return sorted(copy for copy in copies if copy.name != self._kept_name())

    def _kept_name(self) -> str:
        return f"{self.name}-{self._digest(places.home() / self.name)}"

    def _is_whole(self, folder: Path) -> bool:
        try:
            return self._digest(folder) == self._digest(places.home() / self.name)
        except OSError:
            return False

    def _digest(self, folder: Path) -> str:
        """A digest of our files in a folder. Raises OSError if one is missing."""
        digest = hashlib.sha256()
        for name in self._our_files():
            digest.update(name.as_posix().encode() + b"\0" + (folder / name).read_bytes() + b"\0")
        return digest.hexdigest()[:12]

    def _our_files(self) -> list[Path]:
        source = places.home() / self.name
        return sorted(path.relative_to(source) for path in source.glob(self.files) if path.is_file())

    def _copy(self, place: Path) -> None:
        try:
            for name in self._our_files():
                (place / name).parent.mkdir(parents=True, exist_ok=True)
                shutil.copyfile(places.home() / self.name / name, place / name)
        except OSError as error:
            raise MissingPartError(
                f"{place} cannot be written",
                why=error.strerror or str(error),
                fix=f"free some space, or set {places.CACHE_VARIABLE} to another folder",
            ) from error


RUNNER = WorkingCopy("lighthouse-runner", "**/*")
SITE_CONTENTS = WorkingCopy("sites", "*")
