"""The site as a value, and related terms."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path

from mixedsched.model.codings import Coding
from mixedsched.model.page import Page
from mixedsched.sites.site.responses import ResponseSettings

MANIFEST_NAME = "page.json"
ROOT_NAME = "www"

Key = tuple[int, str]  # host index, path with query


class Origins(StrEnum):
    """How a site's hosts are served: keep serves each under its name, merge serves all their files from the first."""

    KEEP = "keep"
    MERGE = "merge"


@dataclass(frozen=True, slots=True)
class Connections:
    """How many QUIC connections a load needs, and why: a sentence without a full stop."""

    count: int
    explanation: str

    def __str__(self) -> str:
        return f"{self.count}, {self.explanation}"


@dataclass(frozen=True, slots=True)
class SiteVariant:
    """A response to another request than a plain GET; only replayed sites have any."""

    id: str  # of its resource in the page, "" if it is not part of the page
    host: int
    path: str
    method: str
    file: Path | None  # None for a recorded 304
    mime: str
    encoding: Coding | None
    settings: ResponseSettings
    if_none_match: str | None = None  # the GETs that a recorded 304 answers


@dataclass(frozen=True, slots=True)
class Application:
    """A web application that runs on this machine, and how an edge in front of it is to behave."""

    origin: str  # http://HOST:PORT or https://HOST:PORT
    authority: str  # what it is asked for as Host, as without an edge
    host: str  # as which browsers know it
    ca: Path | None = None  # whom to trust about its certificate; None for the system's authorities
    verify: bool = True  # whether it must prove who it is
    rules: Path | None = None  # priorities by path
    rules_digest: str = ""  # fingerprint of these

    def facts(self, url: str) -> dict[str, str | bool]:
        """What results record about it, and what a command needs to repeat them. url: of the page, as browsers open it."""
        given = {"rules": self.rules, "origin_ca": self.ca}
        paths = {key: str(value) for key, value in given.items() if value is not None}
        return {"application": self.origin, "url": url, **paths, **({} if self.verify else {"origin_insecure": True})}


@dataclass(frozen=True, slots=True)
class Site:
    """A complete page with its files, ready to serve."""

    name: str
    description: str
    source: str
    licence: str
    # Names it is reached under, the page's own first; resources name theirs by index.
    hosts: tuple[str, ...]
    entry: str  # path of the page
    # Where the site's files are from. Compressed copies of a plain folder lie elsewhere: only `files` tells what is sent.
    root: Path
    page: Page
    # What is sent, absolute and free of links: for the page's resources, and for whatever else may be asked for.
    files: Mapping[Key, Path]
    mimes: Mapping[Key, str]
    encodings: Mapping[Key, Coding]  # of those that have a content-encoding
    title: str = ""
    settings: Mapping[Key, ResponseSettings] = field(default_factory=dict)
    origins: Origins = Origins.KEEP  # what is to become of its hosts unless the one who opens it says otherwise
    credentials: Mapping[Key, bool] = field(default_factory=dict)  # whether requests carry any, where the manifest says
    connections: int | None = None  # how many a load takes, if the manifest says so
    merged_hosts: tuple[str, ...] = ()  # hosts that were merged into the first
    notes: tuple[str, ...] = ()  # what merging could not do
    replay: bool = False  # requests are matched as in a recording, see docs/sites.md
    variants: tuple[SiteVariant, ...] = ()
    # What answers in the place of files; the page's resources are not known then.
    application: Application | None = None

    @property
    def url(self) -> str:
        """What a browser opens, without a port."""
        return f"https://{self.hosts[0]}{self.entry}"

    def status(self, key: Key) -> int:
        """The status with which a plain GET is answered."""
        return self.settings[key].status if key in self.settings else 200


def site_name_of(text: str) -> str:
    """A name that may be part of a host name: lower-case letters, digits and hyphens."""
    kept = "".join(sign if sign.isascii() and sign.isalnum() else "-" for sign in text.lower())
    return kept.strip("-")[:63].strip("-") or "site"
