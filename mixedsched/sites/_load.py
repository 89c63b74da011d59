"""From a folder to a site: one that was built, or any with an index.html."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from mixedsched.errors import SiteError
from mixedsched.sites._paths import shown
from mixedsched.sites._plain import INDEX_NAME, load_plain
from mixedsched.sites._responses import SETTINGS_NAME
from mixedsched.sites._site import MANIFEST_NAME, ROOT_NAME, Site, file_problems, site_of


def load_site(directory: Path, build_dir: Path | None = None) -> Site:
    """Read a built site, or take a plain folder with an index.html as one.

    Every file is checked: it lies inside the root, links followed, can be read, and is as large as the manifest says. A
    plain folder is analysed on the spot and reached as FOLDERNAME.test. build_dir: where compressed copies of its texts
    are kept, as build_dir/plain-FINGERPRINT; the folder itself is never written to. Without build_dir its texts are sent
    as they are. Raises SiteError.
    """
    try:
        if (directory / MANIFEST_NAME).is_file():
            return _load_built(directory)
        if (directory / INDEX_NAME).is_file():
            return load_plain(directory, build_dir)
        why = _why_no_site(directory)
    except OSError as error:
        why = str(error)
    raise SiteError(
        f"'{shown(directory)}' is no site",
        why=shown(why),
        fix="name the folder of a built site, or one with an index.html, that you may read",
    )


def built_problems(directory: Path) -> list[SiteError]:
    """All that is wrong with the manifest and the files of a built site; [] also for a folder that is none.

    Where load_site stops at the first missing file or wrong size, these are all of them.
    """
    if not (directory / MANIFEST_NAME).is_file():
        return []
    origin = shown(directory / MANIFEST_NAME)
    try:
        return file_problems(_read_manifest(directory), directory / ROOT_NAME, origin)
    except SiteError as error:
        return [error]
    except OSError as error:
        return [SiteError(f"{origin} cannot be read", why=error.strerror or str(error))]


def _why_no_site(directory: Path) -> str:
    if not directory.is_dir():
        return "there is no such folder"
    if (directory / INDEX_NAME).exists():
        return f"its {INDEX_NAME} is no file"
    return f"it has neither {MANIFEST_NAME} nor {INDEX_NAME}"


def _load_built(directory: Path) -> Site:
    origin = shown(directory / MANIFEST_NAME)
    if (directory / SETTINGS_NAME).exists():
        raise SiteError(
            f"'{shown(directory)}' has both {MANIFEST_NAME} and {SETTINGS_NAME}",
            why=f"{SETTINGS_NAME} is for plain folders",
            fix=f"write its entries under 'responses' in {MANIFEST_NAME}",
        )
    return site_of(_read_manifest(directory), directory / ROOT_NAME, origin)


def _read_manifest(directory: Path) -> Any:
    try:
        return json.loads((directory / MANIFEST_NAME).read_bytes())
    except (ValueError, RecursionError) as error:
        raise SiteError(f"{shown(directory / MANIFEST_NAME)} is not JSON", why=str(error), fix="correct it") from error
