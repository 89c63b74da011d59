"""A small study of pages that are played in milliseconds: three sites, two links, three arms."""

import json
from pathlib import Path
from typing import Any

from mixedsched.lab.study.definition import Study
from mixedsched.model.page import PAGE_FORMAT

ARMS = ("sequential", "mixed", "mixed:high_media=N")
SITES = ("one", "two", "three")
PLACES, LOADS_OF_BLOCK = 6, 3


def write_pages(folder: Path, names: tuple[str, ...] = SITES) -> None:
    """Pages of a document, a style sheet, a script and a hero, of different sizes."""
    folder.mkdir(parents=True, exist_ok=True)
    for number, name in enumerate(names, start=1):
        resources = [
            _resource("document", "document", None, 2_000 * number),
            _resource("style", "stylesheet", "document", 6_000, flags=["in_head"]),
            _resource("script", "script", "document", 9_000 * number),
            _resource("hero", "image", "document", 20_000, flags=["hero"]),
        ]
        page = {"format": PAGE_FORMAT, "name": name, "resources": resources}
        (folder / f"{name}.json").write_text(json.dumps(page))


def _resource(name: str, kind: str, found_by: str | None, size_bytes: int, **more: Any) -> dict[str, Any]:
    found = {} if found_by is None else {"found_by": found_by, "found_when": "complete"}
    return {
        "id": name,
        "path": f"/{name}",
        "kind": kind,
        "chromium_priority": None,
        "body_bytes": size_bytes,
        **found,
        **more,
    }


def small_study(folder: Path, **changed: Any) -> Study:
    """Over a link with losses and one without, with pages of `folder`."""
    write_pages(folder / "pages")
    tables = {
        "format": "mixedsched.study/1",
        "name": "small",
        "rung": "stack",
        "sites": ["pages"],
        "links": ["wifi-lossy", "cable"],
        "arms": list(ARMS),
        "baseline": "sequential",
        "blocks": 2,
        "variation": True,
    }
    return Study.from_dict({**tables, **changed}, folder)


def quick_study(folder: Path, **changed: Any) -> Study:
    """The same, played in a hundredth of the time, with one block in each place."""
    return small_study(folder, **{"rung": "pipe", "variation": False, **changed})
