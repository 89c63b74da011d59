"""A folder of links whose names are a site's paths, for servers that serve a folder and take no other configuration."""

import contextlib
from collections.abc import Iterable
from pathlib import Path
from urllib.parse import unquote

from mixedsched.world.servers.answers import GET, Answer

INDEX = "index.html"


def file_path(answer: Answer) -> str:
    """The path of its file in the folder, as such servers look for it."""
    return answer.path.lstrip("/") + (INDEX if answer.path.endswith("/") else "")


def make_tree(folder: Path, answers: Iterable[Answer]) -> Path:
    """Links to the files of all answers that a folder can hold; see `fitting` for those that it cannot."""
    folder.mkdir(exist_ok=True)
    for answer in answers:
        if answer.method != GET or answer.file is None or answer.status != 200:
            continue
        name = file_path(answer)
        for spelt in dict.fromkeys((name, unquote(name))):  # some servers undo percent-encoding, others do not
            path = folder / spelt.lstrip("/")
            if ".." in path.parts or "\0" in spelt:
                continue
            with contextlib.suppress(OSError):  # another answer has the name, or has it as a folder: the first counts
                path.parent.mkdir(parents=True, exist_ok=True)
                path.symlink_to(answer.file)
    return folder


def ending(path: str) -> str:
    """Of a file's name, in lower case and without its dot; empty if it has none."""
    name = path.rpartition("/")[2]
    return name.rpartition(".")[2] if "." in name else ""
