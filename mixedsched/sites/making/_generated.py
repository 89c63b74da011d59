"""Generated pages whose discovery is well understood, the same bytes on every run. Nothing travels compressed there.

Each is an HTML document and a list of its resources (`templates/NAME.html`, `NAME.toml`). The keys of a resource:

host, path, kind, flags, priority   as in a manifest; host 0 and no flags by default
bytes        length of its file
numbers      first and last number in the place of {number}; a `tag` of the page for each is among the {images} of the document
mark         of a script, which it leaves in its window
text         template of a style sheet
size_px      of a photograph; other images are tiles of noise
seed         of images and fonts; of the first one, where there are numbers
after        id of the resource that is complete when this one is found; otherwise the document names it
"""

import tomllib
from collections.abc import Iterator, Mapping, Sequence
from importlib.resources import files
from pathlib import Path
from typing import Any

from mixedsched.sites.site.paths import default_file
from mixedsched.sites.site.wire import mime_of_file
from mixedsched.sites.synth.fonts import striped_font
from mixedsched.sites.synth.pictures import noise_tile, striped_photo
from mixedsched.sites.synth.texts import marked_script, pad_text


def write_generated(page: str, www: Path, hosts: Sequence[str]) -> list[dict[str, Any]]:
    """Write a page into www; return its resources as manifest entries."""
    described = tomllib.loads(_template(f"{page}.toml"))
    listed = [item for entry in described["resources"] for item in _each(entry)]
    tags = (
        described["tag"].format(path=item["path"][1:], url=_url(item, hosts)) for item in listed if "numbers" in item
    )
    html = _template(f"{page}.html").format(images="\n".join(tags), hosts=hosts)
    entries = []
    for item in listed:
        file = f"{described['folders'][item['host']]}/{default_file(item['path'])}".lstrip("/")
        if not (www / file).exists():
            (www / file).parent.mkdir(exist_ok=True)
            (www / file).write_bytes(_body(item, html))
        entries.append(
            {
                "id": item["path"].lstrip("/") or "html",
                "host": item["host"],
                "path": item["path"],
                "file": file,
                "kind": item["kind"],
                "mime": mime_of_file(file),
                "body_bytes": item["bytes"],
                "chromium_priority": item.get("priority"),
                "incremental": None,
                **_found(item, html, hosts),
                "flags": item.get("flags", []),
            }
        )
    return entries


def _each(entry: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    first, last = entry.get("numbers", (0, 0))
    for number in range(first, last + 1):
        path, seed = entry["path"].format(number=number), entry.get("seed", 0) + number - first
        yield {"host": 0, **entry, "path": path, "seed": seed}


def _url(item: Mapping[str, Any], hosts: Sequence[str]) -> str:
    return f"https://{hosts[item['host']]}{item['path']}" if item["host"] else str(item["path"])


def _body(item: Mapping[str, Any], html: str) -> bytes:
    match item["kind"]:
        case "document":
            return pad_text(html, "<!--", "-->", item["bytes"])
        case "stylesheet":
            return pad_text(_template(item["text"]), "/*", "*/", item["bytes"])
        case "script":
            return marked_script(item["mark"], item["bytes"])
        case "font":
            return striped_font(item["bytes"], item["seed"])
        case _ if "size_px" in item:
            width_px, height_px = item["size_px"]
            return striped_photo(width_px, height_px, item["bytes"], item["seed"])
        case _:
            return noise_tile(item["bytes"], item["seed"])


def _found(item: Mapping[str, Any], html: str, hosts: Sequence[str]) -> dict[str, Any]:
    """The keys that say what finds a resource, and when."""
    if item["path"] == "/":
        return {"found_by": None, "found_when": "start"}
    if "after" in item:
        return {"found_by": item["after"], "found_when": "complete"}
    url = _url(item, hosts)
    spelling = next(text for text in (url, url.removeprefix("https:"), url[1:]) if f'"{text}"' in html)
    at_bytes = html.index(f'"{spelling}"') + len(spelling) + 2
    return {"found_by": "html", "found_when": "bytes", "found_at_bytes": at_bytes}


def _template(name: str) -> str:
    return files(__package__).joinpath("templates", name).read_text("utf-8")
