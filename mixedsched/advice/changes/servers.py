"""The web servers that sites run: what acts on them, and how one says it there. The facts are in servers.toml."""

import tomllib
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Literal

from mixedsched.advice.changes.waste import WasteKind
from mixedsched.errors import UsageError, nearest_hint
from mixedsched.sites.site import Site

OTHER = "other"


@dataclass(frozen=True, slots=True)
class WebServer:
    """A kind of web server."""

    name: str
    title: str
    """As people write it."""
    fields: tuple[str, ...]
    """Beginnings of its `server` response field, in lower case."""
    priority: Literal["acts", "behind", "rewrite", "nothing"]
    """What a `priority` response field does that the server is configured to send."""
    priority_words: str
    compression: str
    """What to write in its configuration, or where to look, to compress text."""
    caching: str
    """The same to let browsers keep files."""
    first_byte: str
    """The same to answer sooner."""

    def remedy(self, kind: WasteKind) -> str:
        """What to do on this server about a waste; "" where it is not the server's affair."""
        lines = {
            WasteKind.COMPRESSION: self.compression,
            WasteKind.CACHING: self.caching,
            WasteKind.FIRST_BYTE: self.first_byte,
        }
        return lines.get(kind, "")


@cache
def web_servers() -> tuple[WebServer, ...]:
    """All that are known, in the order of the file."""
    text = files("mixedsched.advice.changes").joinpath("servers.toml").read_text(encoding="utf-8")
    tables = tomllib.loads(text)
    return tuple(WebServer(name, **{**facts, "fields": tuple(facts["fields"])}) for name, facts in tables.items())


def web_server(name: str) -> WebServer | None:
    """The one of that name; None for "other". Raises UsageError for a name that is not known."""
    if name == OTHER:
        return None
    known = {item.name: item for item in web_servers()}
    if name not in known:
        raise UsageError(f"nothing is known of the server '{name}'", fix=nearest_hint(name, [*known, OTHER]))
    return known[name]


def web_server_of_field(field: str) -> WebServer | None:
    """The one that a `server` response field names, such as "nginx/1.31.4"; None if it is none that is known."""
    text = field.strip().lower()
    return next((item for item in web_servers() if text.startswith(item.fields)), None)


def recorded_server(site: Site) -> WebServer | None:
    """The one that a recording names in the `server` field of its document."""
    settings = site.settings.get(site.page.main.key)
    fields = dict(settings.headers) if settings is not None else {}
    return web_server_of_field("".join(fields.get("server", ())[:1]))
