"""A site: what the server serves. Its manifest is a page description with a few keys more; its files lie under www."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from types import MappingProxyType
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from mixedsched.errors import PageError, SiteError
from mixedsched.page import Page
from mixedsched.sites._paths import confined, default_file
from mixedsched.sites._responses import ResponseSettings, read_rules, settings_of
from mixedsched.sites._wire import mime_of_file

MANIFEST_NAME = "page.json"
ROOT_NAME = "www"

Encoding = Literal["gzip"]


class Origins(StrEnum):
    """What becomes of a site's hosts: keep serves each under its name, merge serves all their files from the first."""

    KEEP = "keep"
    MERGE = "merge"


@dataclass(frozen=True, slots=True)
class Site:
    """A complete page with its files, ready to serve.

    hosts: names it is reached under, the page's own first; resources name theirs by index. entry: path of the page.
    root: where the site's files are from; the compressed copies of a plain folder lie elsewhere, so only `files` tells
    what is sent. files: (host index, path with query) -> file, for the page's resources and for whatever else may be
    asked for, absolute and free of links. mimes: content type of each. encodings: content-encoding of those that have one.
    settings: what the site sets for the responses of some. origins: what is to become of its hosts, unless whoever opens it
    says otherwise. credentials: of paths for which the manifest says so, whether requests carry any. connections: how many a
    load takes, if the manifest says so. merged_hosts, notes: hosts that were merged into the first, and what that could not do.
    """

    name: str
    description: str
    source: str
    licence: str
    hosts: tuple[str, ...]
    entry: str
    root: Path
    page: Page
    files: Mapping[tuple[int, str], Path]
    mimes: Mapping[tuple[int, str], str]
    encodings: Mapping[tuple[int, str], Encoding]
    title: str = ""
    settings: Mapping[tuple[int, str], ResponseSettings] = field(default_factory=dict)
    origins: Origins = Origins.KEEP
    credentials: Mapping[tuple[int, str], bool] = field(default_factory=dict)
    connections: int | None = None
    merged_hosts: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()

    @property
    def url(self) -> str:
        """What a browser opens, without a port."""
        return f"https://{self.hosts[0]}{self.entry}"


class Served(BaseModel):
    """One file behind one address. file: relative to the root, by default what the path says. credentials: whether browsers
    ask for it with cookies, where neither its kind nor the documents tell (scripts that fetch)."""

    model_config = ConfigDict(frozen=True, extra="ignore")

    host: int = Field(default=0, ge=0)
    path: str = Field(pattern="^/")
    file: str | None = None
    mime: str | None = None
    body_bytes: int = Field(ge=0)
    encoding: Encoding | None = None
    credentials: bool | None = None
    id: str = ""

    @property
    def name(self) -> str:
        return self.id or self.path


class Manifest(BaseModel):
    """The keys of page.json beyond the page itself.

    also_served: files that a load may ask for, but need not. responses: see read_rules. origins, connections: as in Site.
    """

    model_config = ConfigDict(frozen=True, extra="ignore")

    title: str = ""
    description: str = ""
    licence: str = ""
    source: str = ""
    hosts: tuple[str, ...] = Field(min_length=1)
    entry: str = Field(default="/", pattern="^/")
    resources: tuple[Served, ...]
    also_served: tuple[Served, ...] = ()
    responses: Any = ()
    origins: Origins = Origins.KEEP
    connections: int | None = Field(default=None, ge=1)


def site_name_of(text: str) -> str:
    """A name that may stand in a host name: lower-case letters, digits and hyphens."""
    kept = "".join(sign if sign.isascii() and sign.isalnum() else "-" for sign in text.lower())
    return kept.strip("-")[:63].strip("-") or "site"


def site_of(data: Any, root: Path, origin: str, encoded_root: Path | None = None) -> Site:
    """Check a manifest against its files and make the site.

    data: the manifest as JSON gives it. encoded_root: where files with an encoding lie, by default root as well.
    origin: how errors call the manifest. Raises SiteError.
    """
    try:
        page = Page.from_dict(data, origin)
        manifest = Manifest.model_validate(data)
    except PageError as error:
        raise SiteError(error.what, why=error.why, fix=error.fix) from error
    except ValidationError as error:
        finding = error.errors(include_url=False)[0]
        where = ".".join(str(step) for step in finding["loc"])
        raise SiteError(f"{origin} is refused", why=f"{where}: {finding['msg']}", fix="correct it") from error
    _check_hosts(manifest.hosts, origin)
    rules = read_rules(manifest.responses, origin)
    files, mimes, encodings = _check_files(manifest, root, encoded_root or root, origin)
    if (0, manifest.entry) not in files:
        raise SiteError(f"{origin} has no file for its entry '{manifest.entry}'", fix="list it among the resources")
    return Site(
        name=page.name,
        description=manifest.description,
        source=manifest.source,
        licence=manifest.licence,
        hosts=manifest.hosts,
        entry=manifest.entry,
        root=root,
        page=page,
        files=MappingProxyType(files),
        mimes=MappingProxyType(mimes),
        encodings=MappingProxyType(encodings),
        title=manifest.title or page.name,
        settings=MappingProxyType(settings_of(rules, manifest.hosts, files, origin)),
        origins=manifest.origins,
        credentials=MappingProxyType(_told_credentials(manifest)),
        connections=manifest.connections,
    )


def _told_credentials(manifest: Manifest) -> dict[tuple[int, str], bool]:
    listed = (*manifest.resources, *manifest.also_served)
    return {(item.host, item.path): item.credentials for item in listed if item.credentials is not None}


def _check_hosts(hosts: Iterable[str], origin: str) -> None:
    seen = set()
    for host in hosts:
        labels = host.split(".")
        fine = all(label and label == site_name_of(label) for label in labels)
        if not fine or host in seen:
            why = "it is listed twice" if host in seen else "that is no lower-case host name"
            raise SiteError(f"{origin} names the host '{host}'", why=why, fix="write names such as shop.test")
        seen.add(host)


def _check_files(
    manifest: Manifest, root: Path, encoded_root: Path, origin: str
) -> tuple[dict[tuple[int, str], Path], dict[tuple[int, str], str], dict[tuple[int, str], Encoding]]:
    files: dict[tuple[int, str], Path] = {}
    mimes: dict[tuple[int, str], str] = {}
    encodings: dict[tuple[int, str], Encoding] = {}
    for served in (*manifest.resources, *manifest.also_served):
        what = f"{origin}: resource '{served.name}'"
        key = served.host, served.path
        if served.host >= len(manifest.hosts):
            raise SiteError(f"{what} is on host {served.host}", why=f"there are {len(manifest.hosts)}, counted from 0")
        if key in files:
            raise SiteError(f"{what} is refused", why=f"the path '{served.path}' is listed twice", fix="list it once")
        file = served.file if served.file is not None else default_file(served.path)
        path = confined(root if served.encoding is None else encoded_root, file, what)
        size_bytes = path.stat().st_size
        if size_bytes != served.body_bytes:
            raise SiteError(
                f"{what} should have {served.body_bytes} bytes",
                why=f"its file '{file}' has {size_bytes}",
                fix="put the right file there, or correct body_bytes",
            )
        files[key] = path.resolve()  # the server follows no link
        mimes[key] = served.mime or mime_of_file(file)
        if served.encoding is not None:
            encodings[key] = served.encoding
    return files, mimes, encodings
