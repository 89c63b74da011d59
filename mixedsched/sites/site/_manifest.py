"""The keys of page.json beyond the page itself: what is answered for each address."""

from typing import Annotated, Any, Self

from pydantic import BaseModel, ConfigDict, Field, model_validator

from mixedsched.model.codings import Coding
from mixedsched.sites.site._site import Origins
from mixedsched.sites.site.paths import default_file
from mixedsched.sites.site.responses import Headers, HeaderValue, PriorityField, ResponseSettings, Status, check_answer
from mixedsched.sites.site.wire import mime_of_file

NOT_MODIFIED = 304
_GET = "GET"


class ManifestEntry(BaseModel):
    """One answer, of a resource of the page or of what is served besides it."""

    model_config = ConfigDict(frozen=True, extra="ignore")

    host: int = Field(default=0, ge=0)
    path: str = Field(pattern="^/")
    file: str | None = None  # relative to the root; by default what the path says
    mime: HeaderValue | None = None
    body_bytes: int = Field(ge=0)  # of the file as it is, in its coding
    encoding: Coding | None = None  # the coding that the file is in
    # Whether browsers ask for it with cookies, where neither its kind nor the documents tell (scripts that fetch).
    credentials: bool | None = None
    # Of the answer, as in the table of responses.
    status: Annotated[Status, Field(strict=True)] = 200
    headers: Headers | None = None
    priority: PriorityField | None = None
    # Of the request; if_none_match: of one that was answered with 304.
    method: str = Field(default=_GET, pattern=r"^[A-Z][A-Z0-9!#$%&'*+.^_`|~-]*$")
    if_none_match: str | None = None
    id: str = ""

    @model_validator(mode="after")
    def _is_possible(self) -> Self:
        if self.method in {"HEAD", "CONNECT", "TRACE"}:
            raise ValueError(f"{self.method} cannot be answered from a file")
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
    def file_name(self) -> str:
        """Its file, relative to the root."""
        return self.file if self.file is not None else default_file(self.path)

    @property
    def content_type(self) -> str:
        return self.mime or mime_of_file(self.file_name)

    @property
    def is_plain(self) -> bool:
        """Whether it answers a GET without conditions."""
        return self.method == _GET and self.if_none_match is None

    def settings(self, *, replay: bool) -> ResponseSettings:
        """The settings of the entry itself. replay: whether its headers are all there are to be."""
        headers = dict(self.headers or {})
        if self.priority is not None:
            headers["priority"] = (self.priority,)
        return ResponseSettings(self.status, 0.0, tuple(headers.items()), replay and self.headers is not None)


class Manifest(BaseModel):
    """page.json as the server reads it."""

    model_config = ConfigDict(frozen=True, extra="ignore")

    title: str = ""
    description: str = ""
    licence: str = ""
    source: str = ""
    hosts: tuple[str, ...] = Field(min_length=1)
    entry: str = Field(default="/", pattern="^/")
    resources: tuple[ManifestEntry, ...]
    also_served: tuple[ManifestEntry, ...] = ()  # files that a load may ask for, but need not
    responses: Any = ()  # see read_rules
    # As in Site.
    origins: Origins = Origins.KEEP
    connections: int | None = Field(default=None, ge=1)
    replay: bool = False

    @model_validator(mode="after")
    def _has_what_its_kind_may_have(self) -> Self:
        for entry in self.listed:
            if not self.replay and not entry.is_plain:
                raise ValueError(f"'{entry.name}' answers other requests than plain GETs, which only goes with replay")
        return self

    @property
    def listed(self) -> tuple[ManifestEntry, ...]:
        return *self.resources, *self.also_served
