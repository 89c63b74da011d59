"""The worker's answer to "observe", checked: what DevTools and the page reported. Ticks are monotonic ms of the machine."""

from typing import Literal

from pydantic import BaseModel, ConfigDict

from mixedsched.model.request import ChromiumPriority


class _Part(BaseModel):
    model_config = ConfigDict(frozen=True, extra="ignore")


class ReportedInitiator(_Part):
    type: str
    url: str | None = None
    line: int | None = None
    column: int | None = None


class ReportedRequest(_Part):
    """A request according to DevTools' Network events."""

    index: int
    url: str
    method: str
    type: str
    priority: ChromiumPriority
    final_priority: ChromiumPriority
    is_preload: bool
    has_body: bool
    request_headers: dict[str, str]
    initiator: ReportedInitiator
    document_url: str
    frame_id: str | None
    redirected_from: int | None
    asked_tick_ms: float
    asked_wall_ms: float
    decoded_bytes: int
    status: int
    mime: str
    protocol: str
    response_headers: dict[str, str]
    from_cache: bool
    sent_tick_ms: float | None
    first_byte_tick_ms: float | None
    complete_tick_ms: float | None
    is_finished: bool
    failure: str | None
    after_scroll: bool = False


class ReportedElement(_Part):
    """A script, link, image or frame element when it was first seen, with those attributes that its kind has."""

    tag: str
    url: str
    in_head: bool
    after_image: bool
    is_async: bool = False
    defer: bool = False
    module: bool = False
    rel: str = ""
    media: str = ""
    lazy: bool = False


class ReportedImage(_Part):
    url: str
    lazy: bool
    visible: bool


class ReportedFont(_Part):
    """The font that some visible text asks for, as CSS writes it."""

    families: str
    weight: str
    style: str


class ReportedFace(_Part):
    """A web font that was loaded."""

    family: str
    weight: str
    style: str
    url: str


class ReportedPaint(_Part):
    """The largest paint so far. origin_ms: wall time at which its document began."""

    at_ms: float
    origin_ms: float
    url: str | None
    element: str | None


class ReportedMoments(_Part):
    """Of the last document; ms from origin_ms, which is wall time."""

    origin_ms: float
    fcp_ms: float | None
    dom_content_loaded_ms: float | None
    load_ms: float | None


class LoadReport(_Part):
    """The whole answer."""

    ended: Literal["quiet", "limit", "interrupted"]
    final_url: str
    main_frame_id: str
    navigations: list[str]
    requests: list[ReportedRequest]
    watched_until_tick_ms: float
    elements: list[ReportedElement]
    blocking: list[str]
    images: list[ReportedImage]
    used_fonts: list[ReportedFont]
    font_faces: list[ReportedFace]
    paint: ReportedPaint | None
    moments: ReportedMoments | None
    title: str
    notes: list[str]
    viewport_px: tuple[int, int]
    chromium: str
    screenshot_base64: str | None
