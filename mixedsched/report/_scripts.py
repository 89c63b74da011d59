"""Scripts that documents hold."""

import base64
import hashlib
import json
from dataclasses import dataclass
from importlib import resources
from typing import Any

from markupsafe import Markup


@dataclass(frozen=True, slots=True)
class Script:
    """A script that documents hold, and the source by which their policy lets it run: no other script may."""

    text: Markup
    source: str  # for script-src


def script_json(value: Any) -> Markup:
    """A value as JSON that cannot end the script element in which it stands."""
    text = json.dumps(value, separators=(",", ":"), ensure_ascii=True)
    return Markup(text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026"))  # noqa: S704  escaped so


def script(name: str) -> Script:
    """One of the templates' files."""
    text = resources.files("mixedsched.report").joinpath("templates", name).read_text(encoding="utf-8")
    digest = base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
    return Script(Markup(text), f"'sha256-{digest}'")  # noqa: S704  our own file


PLAYER = script("player.js")
