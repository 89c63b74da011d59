"""A request as the server knows it before it places the response: kind, Chromium priority, signal, hints."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from types import MappingProxyType

from mixedsched.model.priority import Priority


class Kind(StrEnum):
    """Kinds of resources, as page files name them."""

    DOCUMENT = "document"
    STYLESHEET = "stylesheet"
    FONT = "font"
    SCRIPT = "script"
    IMAGE = "image"
    MEDIA = "media"
    XHR = "xhr"
    OTHER = "other"


class ChromiumPriority(StrEnum):
    """Blink's ResourceLoadPriority, as DevTools and Lighthouse name it."""

    VERY_HIGH = "VeryHigh"
    HIGH = "High"
    MEDIUM = "Medium"
    LOW = "Low"
    VERY_LOW = "VeryLow"

    @property
    def rank(self) -> int:
        """0 (VeryHigh) .. 4 (VeryLow), which is also the urgency that Chromium signals for it."""
        return _RANKS.index(self)


_RANKS = tuple(ChromiumPriority)


class Flag(StrEnum):
    """Facts about a resource's role in its page that are not in headers."""

    MAIN = "main"
    IN_HEAD = "in_head"
    ASYNC = "async"
    DEFER = "defer"
    PRELOAD = "preload"
    LATE_BODY = "late_body"
    AFTER_FIRST_IMAGE = "after_first_image"
    CRITICAL = "critical"
    ABOVE_FOLD = "above_fold"
    HERO = "hero"
    LAZY = "lazy"


# Fetch standard's request destinations. Favicons and SVG sprites arrive as "image", which they are to a scheduler.
_KIND_BY_DESTINATION: Mapping[str, Kind] = MappingProxyType(
    {
        **dict.fromkeys(("document", "iframe", "frame", "fencedframe", "object", "embed"), Kind.DOCUMENT),
        **dict.fromkeys(("style", "xslt"), Kind.STYLESHEET),
        "font": Kind.FONT,
        **dict.fromkeys(
            ("script", "worker", "sharedworker", "serviceworker", "audioworklet", "paintworklet"), Kind.SCRIPT
        ),
        "image": Kind.IMAGE,
        **dict.fromkeys(("audio", "video", "track"), Kind.MEDIA),
        "empty": Kind.XHR,
        **dict.fromkeys(("manifest", "report"), Kind.OTHER),
    }
)


def kind_of_destination(destination: str | None) -> Kind | None:
    """The kind that a sec-fetch-dest value means; None if the field is absent or unusable."""
    return _KIND_BY_DESTINATION.get(destination) if destination is not None else None


_KIND_BY_MIME_TYPE: Mapping[str, Kind] = MappingProxyType(
    {
        "text/html": Kind.DOCUMENT,
        "application/xhtml+xml": Kind.DOCUMENT,
        "text/css": Kind.STYLESHEET,
        "text/javascript": Kind.SCRIPT,
        "application/javascript": Kind.SCRIPT,
        "application/x-javascript": Kind.SCRIPT,
        "application/json": Kind.XHR,
    }
)
_KIND_BY_MIME_CLASS = {"font": Kind.FONT, "image": Kind.IMAGE, "audio": Kind.MEDIA, "video": Kind.MEDIA}


def kind_of_mime(mime: str) -> Kind:
    """The kind a content type suggests; OTHER where it suggests none. Parameters such as charset are ignored."""
    essence = mime.partition(";")[0].strip().lower()
    if essence in _KIND_BY_MIME_TYPE:
        return _KIND_BY_MIME_TYPE[essence]
    if "font" in essence:  # application/font-woff and friends
        return Kind.FONT
    return _KIND_BY_MIME_CLASS.get(essence.partition("/")[0], Kind.OTHER)


def chromium_priority_of(signal: Priority) -> ChromiumPriority:
    """Blink's priority behind an EPS signal: u=0..4 is VeryHigh..VeryLow, anything later counts as VeryLow.

    Source: Chromium's net/quic and net/http mapping (urgency = HIGHEST - priority); absent means u=3, thus Low.
    """
    return _RANKS[min(signal.urgency, len(_RANKS) - 1)]


@dataclass(frozen=True, slots=True)
class Request:
    """One request, as known when its response is placed."""

    stream_id: int
    path: str
    kind: Kind
    signal: Priority = Priority()
    """The merged client signal (PRIORITY_UPDATE over `priority` field over defaults)."""
    signalled: bool = False
    """Whether the client sent any signal; without one Chromium means Low, non-incremental."""
    chromium_priority: ChromiumPriority = ChromiumPriority.LOW
    mime: str = "application/octet-stream"
    body_bytes: int = 0
    """`mime` and `body_bytes` are the response's: the server has it."""
    flags: frozenset[Flag] | None = None
    """From the page's manifest; None without one."""
    navigates: bool = False
    """Whether it belongs to a navigation: the browser requests a page to show, not a part of one."""
    is_found: bool = True
    """Whether there is something under its path: its response is no error."""
    referrer: str | None = None
    """Path (with query) of the document or style sheet that the client names as referrer, on the same host."""
    update: Priority | None = None
    """The client's PRIORITY_UPDATE after its request had arrived; None without one."""
    asked: Priority | None = None
    """What the client had wanted before `update`; None without one."""
    is_prefetch: bool = False
    """Whether the browser fetches it in advance, for a page that may be shown later."""
    is_unsent: bool = False
    """Whether the site has a body that is not sent: the client has it already (304), or asked for the head alone."""

    @property
    def hints(self) -> frozenset[Flag]:
        """The resource's flags: from the manifest, else inferred from Chromium's signal."""
        if self.flags is not None:
            return self.flags
        return infer_flags(self.kind, self.chromium_priority, is_first=self.stream_id == 0)


def infer_flags(kind: Kind, priority: ChromiumPriority, *, is_first: bool) -> frozenset[Flag]:
    """Flags that explain why Chromium gave this priority to this kind: the fallback without a manifest.

    The reverse of Blink's rules: a script or style sheet that blocks rendering is High or VeryHigh, one late in the body
    Medium, an async or deferred script Low; an image is above Low where it is on the first screen; a font is High where it
    is preloaded. is_first: whether it is the connection's first request, which is the navigation.
    """
    match kind, priority:
        case Kind.DOCUMENT, _ if is_first:
            return frozenset({Flag.MAIN, Flag.CRITICAL})
        case Kind.STYLESHEET, ChromiumPriority.VERY_HIGH | ChromiumPriority.HIGH:
            return frozenset({Flag.IN_HEAD, Flag.CRITICAL})
        case Kind.STYLESHEET, _:
            return frozenset({Flag.LATE_BODY})
        case Kind.SCRIPT, ChromiumPriority.VERY_HIGH | ChromiumPriority.HIGH:
            return frozenset({Flag.IN_HEAD, Flag.CRITICAL})
        case Kind.SCRIPT, ChromiumPriority.MEDIUM:
            return frozenset({Flag.LATE_BODY, Flag.AFTER_FIRST_IMAGE})
        case Kind.SCRIPT, _:
            return frozenset({Flag.ASYNC})
        case Kind.FONT, ChromiumPriority.HIGH:
            return frozenset({Flag.PRELOAD})
        case Kind.IMAGE, ChromiumPriority.VERY_HIGH | ChromiumPriority.HIGH | ChromiumPriority.MEDIUM:
            return frozenset({Flag.ABOVE_FOLD})
        case _:
            return frozenset()
