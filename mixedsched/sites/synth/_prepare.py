"""A page as its files can have it: every address is there once and may stand in a link, every content type does its work."""

import re
from dataclasses import dataclass
from urllib.parse import quote

from mixedsched.errors import PageError
from mixedsched.model.page import Page, Resource
from mixedsched.model.request import Kind
from mixedsched.sites.site.responses import why_unfit
from mixedsched.units import format_bytes

MAX_TOTAL_BYTES = 1_000_000_000
_SAFE = "!$%&'()*+,/:;=?@-._~[]"
_DOT_SEGMENT = re.compile(r"(?<=/)(\.{1,2}|%2e|%2e%2e|\.%2e|%2e\.)(?=[/?]|$)", re.IGNORECASE)
_NO_SCRIPT = ("image/", "audio/", "video/", "text/csv")
_USUAL_MIMES = {
    Kind.DOCUMENT: "text/html",
    Kind.STYLESHEET: "text/css",
    Kind.SCRIPT: "text/javascript",
    Kind.FONT: "font/woff2",
    Kind.IMAGE: "image/png",
    Kind.MEDIA: "video/mp4",
    Kind.XHR: "application/json",
}
_FRAMES_SHOW = frozenset(
    {"text/html", "text/plain", "image/svg+xml", "application/json", "text/xml", "application/xml"}
)


@dataclass(frozen=True, slots=True)
class SynthesisDeviation:
    """A property that differs from the page."""

    id: str
    what: str
    """`priority`, `path` ..."""
    wanted: str
    made: str
    """Its values: `wanted` by the page, `made` by synthesis."""
    reason: str


def prepare(page: Page) -> tuple[list[Resource], list[SynthesisDeviation]]:
    """The resources with addresses and content types that work, and what was changed for it.

    Raises PageError if the files would be too large to be written.
    """
    total_bytes = sum(item.body_bytes for item in page.resources)
    if total_bytes > MAX_TOTAL_BYTES:
        raise PageError(
            f"page '{page.name}' has {format_bytes(total_bytes)} of bodies",
            why=f"at most {format_bytes(MAX_TOTAL_BYTES)} are written",
            fix="make the large ones smaller",
        )
    deviations: list[SynthesisDeviation] = []
    taken: set[tuple[int, str]] = set()
    prepared = []
    for item in page.resources:
        path = _free_path(item, taken)
        taken.add((item.host, path))
        mime = _working_mime(item, is_main=item is page.main)
        if path != item.path:
            is_twin = path != _linkable(item.path)
            reason = "another resource has this address" if is_twin else "such an address cannot be asked for"
            deviations.append(SynthesisDeviation(item.id, "path", item.path, path, reason))
        if mime != item.mime:
            unfit = why_unfit("content-type", item.mime)
            reason = "no header field can have this value" if unfit else f"Chromium would not take it as {item.kind}"
            deviations.append(SynthesisDeviation(item.id, "mime", item.mime, mime, reason))
        prepared.append(item.model_copy(update={"path": path, "mime": mime}))
    return prepared, deviations


def _free_path(item: Resource, taken: set[tuple[int, str]]) -> str:
    path = _linkable(item.path)
    if (item.host, path) not in taken:
        return path
    joint = "&" if "?" in path else "?"
    number = 2
    while (item.host, f"{path}{joint}{number}") in taken:
        number += 1
    return f"{path}{joint}{number}"


def _linkable(path: str) -> str:
    """The path as a browser sends it: encoded, without fragment and dot segments."""
    text = quote(path.partition("#")[0], safe=_SAFE)
    text = re.sub(r"%(?![0-9A-Fa-f]{2})", "%25", text)
    text, mark, query = text.partition("?")
    text += mark + query.replace("'", "%27")  # browsers leave it in paths
    return "/" + _DOT_SEGMENT.sub("_", "/" + text.lstrip("/"))[1:]


def _working_mime(item: Resource, *, is_main: bool) -> str:
    essence = item.mime.partition(";")[0].strip().lower()
    if why_unfit("content-type", item.mime):
        return _USUAL_MIMES.get(item.kind, "application/octet-stream")
    match item.kind:
        case Kind.DOCUMENT if is_main and essence != "text/html":
            return "text/html"
        case Kind.DOCUMENT if essence not in _FRAMES_SHOW:
            return "text/html"
        case Kind.STYLESHEET if essence != "text/css":
            return "text/css"
        case Kind.SCRIPT if essence.startswith(_NO_SCRIPT):
            return "text/javascript"
        case _:
            return item.mime
