"""A site as a plain list of answers, which configurations of servers are made of."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from mixedsched.model.request import Kind
from mixedsched.world.server.site import ServedSite, SiteEntry

# Those that our own server adds to every file of a site, so that pages may use them as they do there.
_OF_EVERY_FILE = (("cache-control", "max-age=3600"), ("access-control-allow-origin", "*"), ("timing-allow-origin", "*"))
# What a server works out by itself.
_SERVERS_OWN = frozenset(
    {"content-length", "transfer-encoding", "connection", "keep-alive", "date", "etag", "last-modified"}
    | {"accept-ranges", "server", "alt-svc", "content-encoding", "content-type", "age"}
)
GET = "GET"


@dataclass(frozen=True, slots=True)
class Answer:
    """One answer of a site."""

    method: str
    host: str
    target: str  # path and query, as requests have them
    file: Path | None  # None: without content
    mime: str
    encoding: str | None  # how the file is stored
    status: int
    delay_ms: float
    fields: tuple[tuple[str, str], ...]  # all others, in order
    has_own_fields: bool  # whether the site sets any
    kind: Kind | None  # what it is to the page

    @property
    def path(self) -> str:
        return self.target.partition("?")[0]

    @property
    def all_fields(self) -> tuple[tuple[str, str], ...]:
        """With its type and coding."""
        coding = () if self.encoding is None else (("content-encoding", self.encoding),)
        return (("content-type", self.mime), *coding, *self.fields)


def answers_of(site: ServedSite) -> list[Answer]:
    """All of them, in the site's order; of several for one request the first. Without 304s, which fresh browsers never get."""
    found: dict[tuple[str, str, str], Answer] = {}
    for method, host, target, entry in _entries(site):
        found.setdefault((method, host, target), _answer(method, host, target, entry))
    return list(found.values())


def _entries(site: ServedSite) -> Iterator[tuple[str, str, str, SiteEntry]]:
    if site.recorded is None:
        for host, of_host in site.entries.items():
            for target, entry in of_host.items():
                yield GET, host, target, entry
        return
    for item in site.recorded:
        if item.if_none_match is None:
            yield item.method, item.host, item.target, item.entry


def _answer(method: str, host: str, target: str, entry: SiteEntry) -> Answer:
    own = [
        (name.decode("latin-1").lower(), [value.decode("latin-1") for value in values])
        for name, values in entry.headers
    ]
    replaced = {name for name, _ in own}
    fields = [] if entry.bare else [field for field in _OF_EVERY_FILE if field[0] not in replaced]
    fields += [(name, value) for name, values in own for value in values if name not in _SERVERS_OWN]
    types = [value for name, values in own for value in values if name == "content-type"]
    return Answer(
        method,
        host,
        target,
        entry.file,
        types[0] if types else entry.mime,
        entry.encoding,
        entry.status,
        entry.delay_ms,
        tuple(fields),
        any(name not in _SERVERS_OWN for name in replaced),
        entry.kind,
    )
