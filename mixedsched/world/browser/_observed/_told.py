"""The worker's answer to "observe", checked: what DevTools and the page told. Ticks are ms of the machine's monotonic clock."""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, ConfigDict

from mixedsched.model.request import ChromiumPriority


class _Told(BaseModel):
    model_config = ConfigDict(frozen=True, extra="ignore")


class ToldInitiator(_Told):
    type: str
    url: str | None = None
    line: int | None = None
    column: int | None = None


class ToldRequest(_Told):
    """A request as DevTools' Network events tell it."""

    index: int
    url: str
    method: str
    type: str
    priority: ChromiumPriority
    final_priority: ChromiumPriority
    is_preload: bool
    has_body: bool
    request_headers: dict[str, str]
    initiator: ToldInitiator
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


class ToldElement(_Told):
    """A script, link, image or frame element when it was first seen. defer, module, rel, media, lazy: where it has such."""

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


class ToldImage(_Told):
    url: str
    lazy: bool
    visible: bool


class ToldFont(_Told):
    """The font that some visible text asks for, as CSS writes it."""

    families: str
    weight: str
    style: str


class ToldFace(_Told):
    """A web font that was loaded."""

    family: str
    weight: str
    style: str
    url: str


class ToldPaint(_Told):
    """The largest paint so far. origin_ms: wall time of its document's beginning."""

    at_ms: float
    origin_ms: float
    url: str | None
    element: str | None


class ToldMoments(_Told):
    """Of the last document; ms from origin_ms, which is wall time."""

    origin_ms: float
    fcp_ms: float | None
    dom_content_loaded_ms: float | None
    load_ms: float | None


class Told(_Told):
    """The whole answer."""

    ended: Literal["quiet", "limit", "interrupted"]
    final_url: str
    main_frame_id: str
    navigations: list[str]
    requests: list[ToldRequest]
    watched_until_tick_ms: float
    elements: list[ToldElement]
    blocking: list[str]
    images: list[ToldImage]
    used_fonts: list[ToldFont]
    font_faces: list[ToldFace]
    paint: ToldPaint | None
    moments: ToldMoments | None
    title: str
    notes: list[str]
    viewport_px: tuple[int, int]
    chromium: str
    screenshot_base64: str | None
