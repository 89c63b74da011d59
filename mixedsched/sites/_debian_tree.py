"""What is in Debian packages, unpacked side by side as if they were installed below a folder of ours."""

from __future__ import annotations

import io
import os
import shutil
import subprocess
import tarfile
from collections.abc import Sequence
from pathlib import Path, PurePosixPath

from mixedsched.errors import MissingPartError, SiteError
from mixedsched.sites._debian import DebianFile
from mixedsched.world.system.programs import find_program, with_path


def unpack(files: Sequence[DebianFile], tree: Path, wanted: Sequence[str] = ()) -> None:
    """Write the contents of packages below the folder `tree`.

    wanted: patterns of files of the first package that are enough, matched from the end folder by folder, as in
    "html/*.css"; links are always taken. They are made to point into the tree, absolute ones too, whatever the machine
    itself has at that place.
    Raises MissingPartError without dpkg-deb, SiteError for what is no package or holds what no package should.
    """
    if find_program("dpkg-deb") is None:
        raise MissingPartError(
            "dpkg-deb is missing",
            why="the contents of this site are Debian packages",
            fix="use it on Debian or Ubuntu, or install dpkg",
        )
    links: dict[PurePosixPath, str] = {}
    for index, file in enumerate(files):
        _unpack_one(file, tree, () if index else wanted, links)
    # Last, so that nothing is written through a link.
    for place, target in sorted(links.items()):
        link_inside(tree, place, target)


def _unpack_one(file: DebianFile, tree: Path, wanted: Sequence[str], links: dict[PurePosixPath, str]) -> None:
    command = with_path(["dpkg-deb", "--fsys-tarfile", str(file.path)])
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        why = ""
        try:
            with tarfile.open(fileobj=process.stdout, mode="r|") as archive:
                for member in archive:
                    _take(archive, member, tree, wanted, links)
            shutil.copyfileobj(process.stdout, io.BytesIO())  # padding, so that the writer comes to its end
        except (tarfile.TarError, EOFError) as error:
            why = str(error)
            process.stdout.close()  # so that the writer does not wait for a reader
        complaint = "; ".join(process.stderr.read().decode(errors="replace").splitlines())
    if why or process.returncode != 0:
        raise SiteError(
            f"{file.path} cannot be unpacked",
            why=complaint or why or f"exit status {process.returncode}",
            fix="delete it, and it is downloaded again",
        )


def _take(
    archive: tarfile.TarFile,
    member: tarfile.TarInfo,
    tree: Path,
    wanted: Sequence[str],
    links: dict[PurePosixPath, str],
) -> None:
    """Write a file that is wanted, and note a link."""
    place = _inside(member.name)
    if member.issym():
        links[place] = member.linkname
    elif member.islnk():
        links[place] = f"/{_inside(member.linkname)}"
    elif member.isfile() and (not wanted or any(place.match(pattern) for pattern in wanted)):
        content = archive.extractfile(member)
        assert content is not None
        target = tree / place
        target.parent.mkdir(parents=True, exist_ok=True)
        with content, target.open("wb") as out:
            shutil.copyfileobj(content, out)


def _inside(name: str) -> PurePosixPath:
    """A name of an archive as a path relative to the tree."""
    place = PurePosixPath(name.lstrip("/"))
    if ".." in place.parts:
        raise SiteError(f"a package holds the file '{name}'", why="that leads out of it")
    return place


def link_inside(tree: Path, place: PurePosixPath, target: str) -> None:
    """Make a link in the tree, written relative to its own folder, so that the tree's root is its root."""
    folder = PurePosixPath("/") / place.parent
    aim = PurePosixPath(os.path.normpath(folder / target))
    path = tree / place
    if path.exists() or any((tree / taken).is_symlink() for taken in (place, *place.parents)):
        return  # another package was there first
    path.parent.mkdir(parents=True, exist_ok=True)
    path.symlink_to(os.path.relpath(aim, folder))
