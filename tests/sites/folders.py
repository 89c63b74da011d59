"""Small sites and recipes, written to temporary folders."""

from __future__ import annotations

import gzip
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from mixedsched.sites.opening import load_site
from mixedsched.sites.site import Site

RECIPES = Path(__file__).parents[2] / "sites"
HOSTS = ["shop.test", "cdn.test", "fonts.test"]

Files = Mapping[str, str | bytes]


def write_files(folder: Path, files: Files) -> Path:
    """Write name -> content below a folder, which it returns."""
    for name, content in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content.encode() if isinstance(content, str) else content)
    return folder


def resource(path: str, size_bytes: int, **more: Any) -> dict[str, Any]:
    """A manifest entry that hangs on the document "html"."""
    return {
        "id": path,
        "path": path,
        "kind": "image",
        "body_bytes": size_bytes,
        "found_by": "html",
        "found_when": "complete",
        **more,
    }


def manifest(*resources: dict[str, Any], **more: Any) -> dict[str, Any]:
    """A manifest of a two-byte document and these resources."""
    html = {"id": "html", "path": "/", "kind": "document", "body_bytes": 2, "flags": ["main"]}
    return {
        "format": "mixedsched.page/1",
        "name": "shop",
        "hosts": ["shop.test"],
        "entry": "/",
        "resources": [html, *resources],
        **more,
    }


def built(folder: Path, description: dict[str, Any], files: Files) -> Path:
    """A folder in built form: page.json, and www with an index.html of two bytes and these files."""
    write_files(folder / "www", {"index.html": "hi", **files})
    (folder / "page.json").write_text(json.dumps(description))
    return folder


def recipe_text(name: str = "shop", contents: str = 'kind = "npm"\npackage = "theme"\n', head: str = "") -> str:
    return (
        f'format = "mixedsched.site/1"\nname = "{name}"\ntitle = "T"\ndescription = "D"\nlicence = "MIT"\n'
        f'source = "S"\nhosts = ["{name}.test"]\n{head}\n[recipe]\n{contents}'
    )


def site_of(folder: Path, files: dict[tuple[int, str], str | bytes], **more: Any) -> Site:
    """A site of these files by host and path; what is not told of a resource is worked out from its name."""
    entries = more.pop("entries", {})
    zipped = more.pop("zipped", ())
    resources = []
    for (host, path), content in files.items():
        name = f"{host}{path if not path.endswith('/') else path + 'index.html'}".partition("?")[0]
        body = content.encode() if isinstance(content, str) else content
        body = gzip.compress(body, mtime=0) if (host, path) in zipped else body
        target = folder / "www" / name
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(body)
        entry = {
            "id": f"{host}{path}",
            "host": host,
            "path": path,
            "file": name,
            "kind": "stylesheet" if path.endswith(".css") else "other",
            "body_bytes": len(body),
            **({"encoding": "gzip"} if (host, path) in zipped else {}),
            **entries.get((host, path), {}),
        }
        if (host, path) == (0, "/"):
            resources.append({**entry, "kind": "document", "flags": ["main"]})
        else:
            resources.append({**resource(path, len(body)), "found_by": "0/", **entry})
    manifest = {
        "format": "mixedsched.page/1",
        "name": "shop",
        "hosts": HOSTS,
        "entry": "/",
        "resources": resources,
        **more,
    }
    (folder / "page.json").write_text(json.dumps(manifest))
    return load_site(folder)


def page(head: str = "", body: str = "") -> str:
    return f"<!DOCTYPE html><html><head>{head}</head><body>{body}</body></html>"
