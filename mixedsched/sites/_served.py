"""Entries of a manifest: what is answered for one address, and what there is besides the page itself."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated, Any, Self

from pydantic import BaseModel, ConfigDict, Field, model_validator

from mixedsched.model.codings import Coding
from mixedsched.sites._responses import Headers, HeaderValue, PriorityField, ResponseSettings, Status, check_answer

NOT_MODIFIED = 304
_GET = "GET"


class Origins(StrEnum):
    """What becomes of a site's hosts: keep serves each under its name, merge serves all their files from the first."""

    KEEP = "keep"
    MERGE = "merge"


class Served(BaseModel):
    """One answer. file: relative to the root, by default what the path says. credentials: whether browsers ask for it with
    cookies, where neither its kind nor the documents tell (scripts that fetch).

    encoding: the coding that the file is in; body_bytes is its size as it is. status, headers, priority: of the answer, as in
    the table of responses. method: of the request. if_none_match: of a request that was answered with 304.
    """

    model_config = ConfigDict(frozen=True, extra="ignore")

    host: int = Field(default=0, ge=0)
    path: str = Field(pattern="^/")
    file: str | None = None
    mime: HeaderValue | None = None
    body_bytes: int = Field(ge=0)
    encoding: Coding | None = None
    credentials: bool | None = None
    status: Annotated[Status, Field(strict=True)] = 200
    headers: Headers | None = None
    priority: PriorityField | None = None
    method: str = Field(default=_GET, pattern=r"^[A-Z][A-Z0-9!#$%&'*+.^_`|~-]*$")
    if_none_match: str | None = None
    id: str = ""

    @model_validator(mode="after")
    def _is_possible(self) -> Self:
        if self.method in {"HEAD", "CONNECT", "TRACE"}:
            raise ValueError(f"there is no answering {self.method} from a file")
        if self.if_none_match is None:
            check_answer(self.status, self.headers or {})
        elif self.status != NOT_MODIFIED or self.method != _GET or self.body_bytes or self.file is not None:
            raise ValueError("if_none_match goes with status 304, method GET, body_bytes 0 and no file")
        else:
            check_answer(None, self.headers or {})
        return self

    @property
    def name(self) -> str:
        return self.id or self.path

    @property
    def is_plain(self) -> bool:
        """Whether it answers a GET without conditions."""
        return self.method == _GET and self.if_none_match is None

    def settings(self, *, replay: bool) -> ResponseSettings:
        """What the entry itself sets. replay: whether its headers are all there are to be."""
        headers = dict(self.headers or {})
        if self.priority is not None:
            headers["priority"] = (self.priority,)
        return ResponseSettings(self.status, 0.0, tuple(headers.items()), replay and self.headers is not None)


class Manifest(BaseModel):
    """The keys of page.json beyond the page itself.

    also_served: files that a load may ask for, but need not. responses: see read_rules. origins, connections, replay: as in
    Site.
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
    replay: bool = False

    @model_validator(mode="after")
    def _has_what_its_kind_may_have(self) -> Self:
        if self.replay:
            return self
        for served in (*self.resources, *self.also_served):
            if not served.is_plain:
                raise ValueError(f"'{served.name}' answers other requests than plain GETs, which only goes with replay")
        return self

    @property
    def listed(self) -> tuple[Served, ...]:
        return *self.resources, *self.also_served
