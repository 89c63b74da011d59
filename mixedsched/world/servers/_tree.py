"""A folder of links whose names are a site's paths, for servers that serve a folder and take no other configuration."""

import os
from collections.abc import Iterable
from pathlib import Path

from mixedsched.world.servers.answers import GET, Answer

INDEX = "index.html"


def file_path(answer: Answer) -> str:
    """The path of its file in the folder, as such servers look for it."""
    return answer.path.lstrip("/") + (INDEX if answer.path.endswith("/") else "")


def make_tree(folder: Path, answers: Iterable[Answer]) -> Path:
    """Links to the files of all answers that there can be in a folder; see `fitting` for those that there cannot."""
    for answer in answers:
        path = folder / file_path(answer)
        if answer.method == GET and answer.file is not None and answer.status == 200 and not os.path.lexists(path):
            path.parent.mkdir(parents=True, exist_ok=True)
            path.symlink_to(answer.file)
    folder.mkdir(exist_ok=True)
    return folder


def ending(path: str) -> str:
    """Of a file's name, in lower case and without its dot; empty if it has none."""
    name = path.rpartition("/")[2]
    return name.rpartition(".")[2] if "." in name else ""
