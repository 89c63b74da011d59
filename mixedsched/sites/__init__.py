"""Sites: complete pages with all their files, built from recipes or taken from a folder.

`build` is imported when it is asked for: it needs libraries for fonts and images, for whose memory a server has no use.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from mixedsched.sites._check import Finding, Level, check_site
from mixedsched.sites._connections import Connections, expected_connections
from mixedsched.sites._described import Described
from mixedsched.sites._difference import Change, Difference, Pair, difference
from mixedsched.sites._digest import site_digest
from mixedsched.sites._for_server import served_site
from mixedsched.sites._load import built_problems, load_site
from mixedsched.sites._merge import merged
from mixedsched.sites._packages import fetch_contents, fetch_packages
from mixedsched.sites._recipe import Recipe, list_recipes
from mixedsched.sites._responses import ResponseSettings
from mixedsched.sites._served import Origins
from mixedsched.sites._site import MANIFEST_NAME, ROOT_NAME, Site

if TYPE_CHECKING:
    from mixedsched.sites._builder import build

__all__ = [
    "Site",
    "MANIFEST_NAME",
    "ROOT_NAME",
    "Origins",
    "ResponseSettings",
    "load_site",
    "site_digest",
    "merged",
    "built_problems",
    "check_site",
    "Finding",
    "Level",
    "Described",
    "difference",
    "Difference",
    "Pair",
    "Change",
    "Connections",
    "expected_connections",
    "served_site",
    "Recipe",
    "list_recipes",
    "fetch_contents",
    "fetch_packages",
    "build",
]


def __getattr__(name: str) -> Any:
    if name != "build":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return importlib.import_module(f"{__name__}._builder").build
