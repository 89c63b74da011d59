"""Folders that appear whole: written aside, renamed to their name at the end."""

import contextlib
import glob
import hashlib
import shutil
import tempfile
import time
from collections.abc import Callable, Mapping
from pathlib import Path

from mixedsched.errors import SiteError
from mixedsched.sites.site.paths import is_confined, shown

_FINGERPRINT_LENGTH = 16  # hex digits
# What mkdtemp and we put behind a folder's name: behind a longer name that begins like it, there is more.
_MADE_UP, _ASIDE_SUFFIX = "?" * 8, ".unfinished"
_GIVEN_UP_S = 24 * 3600  # nothing that is being written is as old


def make_folder(target: Path, fill: Callable[[Path], None], is_good: Callable[[], bool]) -> None:
    """Make or replace the folder `target`.

    fill: writes into an empty folder, which is then renamed. is_good: whether `target`, as it is, will do: if another
    process was faster, its folder stays. Raises SiteError if it cannot be written, and what fill raises; then `target`
    is as before. What processes that were killed have left beside it is removed a day later, by the next one.
    """
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        _sweep(target)
        aside = Path(tempfile.mkdtemp(prefix=f".{target.name}-", suffix=_ASIDE_SUFFIX, dir=target.parent))
    except OSError as error:
        raise _unwritable(target, error) from error
    try:
        fresh = aside / "new"
        fresh.mkdir()
        fill(fresh)
        if not is_good():
            _put_in_place(fresh, target, aside / "old", is_good)
    except OSError as error:
        raise _unwritable(target, error) from error
    finally:
        shutil.rmtree(aside, ignore_errors=True)


def keep_files(bodies: Mapping[str, bytes], prefix: str, build_dir: Path) -> Path:
    """Write files to build_dir/PREFIXFINGERPRINT, unless just these are there; that folder. bodies: by path in it.

    Raises SiteError if they cannot be written.
    """
    digest = hashlib.sha256()
    for path, body in sorted(bodies.items()):
        digest.update(f"{len(path.encode())} {path} {len(body)} ".encode() + body)
    target = build_dir / f"{prefix}{digest.hexdigest()[:_FINGERPRINT_LENGTH]}"

    def is_good() -> bool:
        return all(is_confined(target, path) and (target / path).read_bytes() == body for path, body in bodies.items())

    def fill(folder: Path) -> None:
        for path, body in bodies.items():
            (folder / path).parent.mkdir(parents=True, exist_ok=True)
            (folder / path).write_bytes(body)

    if bodies and not is_good():
        make_folder(target, fill, is_good)
    return target


def require_writable(target: Path) -> None:
    """Raise SiteError unless the folder `target` could be made: a trial folder is made where it would be, and removed.

    Permissions alone do not tell: some file systems refuse everybody.
    """
    try:
        place = next(folder for folder in target.absolute().parents if folder.exists())
        Path(tempfile.mkdtemp(prefix=f".{target.name}-", dir=place)).rmdir()
    except OSError as error:
        raise _unwritable(target, error) from error


def _sweep(target: Path) -> None:
    """Remove what earlier calls for this folder have left, and put back what one had moved away for good."""
    for aside in target.parent.glob(f".{glob.escape(target.name)}-{_MADE_UP}{_ASIDE_SUFFIX}"):
        with contextlib.suppress(OSError):  # another process sweeps, too; or it is not ours
            if time.time() - aside.lstat().st_mtime < _GIVEN_UP_S:
                continue
            if not target.exists() and not target.is_symlink() and (aside / "old").exists():
                (aside / "old").rename(target)
            shutil.rmtree(aside)


def _put_in_place(fresh: Path, target: Path, old: Path, is_good: Callable[[], bool]) -> None:
    try:
        if target.exists() or target.is_symlink():
            target.rename(old)
        fresh.rename(target)
    except BaseException as error:
        if (old.exists() or old.is_symlink()) and not target.exists():  # what was there stays, also on Ctrl-C
            old.rename(target)
        if not (isinstance(error, OSError) and is_good()):
            raise


def _unwritable(target: Path, error: OSError) -> SiteError:
    return SiteError(
        f"{shown(target)} cannot be written",
        why=shown(error.strerror or error),
        fix="free the space, or make its folder writable",
    )
