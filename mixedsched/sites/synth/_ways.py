"""Ways to ask for a resource, and the priority that Chromium gives to each.

Two tables: tags that a document holds, and functions of the runtime (`_runtime.py`) that scripts call. Each entry was
tried with Chromium 156: the first signal of the request, and what DevTools calls its initial priority, are the entry's.
Where Chromium has no way to the wanted priority, the nearest one of the same kind is taken, and the plan says so.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from mixedsched.model.request import ChromiumPriority, Flag, Kind

_VERY_HIGH, _HIGH, _MEDIUM, _LOW, _VERY_LOW = ChromiumPriority

_SPECULATION = '<script type=speculationrules>{{"prefetch":[{{"urls":[{json_url}],"eagerness":"immediate"}}]}}</script>'
_FETCHED = "<link rel=preload as=fetch crossorigin{hint} href={url}>"
_PREFETCH = "<link rel=prefetch href={url}>"


@dataclass(frozen=True, slots=True)
class Way:
    """A way to ask for a resource."""

    priority: ChromiumPriority  # the one that Chromium gives to it
    tag: str = ""  # markup with {url} (an attribute), {json_url} and {place}; "" where only a script can
    call: str = ""  # function of the runtime; "" where only the parser can
    is_guess: bool = False  # browsers may be told not to do it


# The preload scanner takes it for an image, which is never asked for.
IMAGE_FOR_SCANNER = "<img width=1 height=1 src=about:blank>"

# Scripts and style sheets are judged by whether the preload scanner has met an image before them.
_SHEETS_EARLY = {
    _VERY_HIGH: Way(_VERY_HIGH, "<link rel=stylesheet href={url}>", "l"),
    _HIGH: Way(_HIGH, "<link rel=stylesheet fetchpriority=low href={url}>", "k"),
    _VERY_LOW: Way(_VERY_LOW, "<link rel=stylesheet media=print href={url}>", "m"),
}
_SHEETS_LATE = {
    _VERY_HIGH: Way(_VERY_HIGH, "", "l"),
    _HIGH: Way(_HIGH, "<link rel=stylesheet fetchpriority=high href={url}>", "k"),
    _MEDIUM: Way(_MEDIUM, "<link rel=stylesheet href={url}>", "Y"),
    _VERY_LOW: Way(_VERY_LOW, "<link rel=stylesheet media=print href={url}>", "m"),
}
_SCRIPTS_EARLY = {
    _HIGH: Way(_HIGH, "<script src={url}></script>", "h"),
    _LOW: Way(_LOW, "<script async src={url}></script>", "s"),
}
_SCRIPTS_LATE = {
    _HIGH: Way(_HIGH, "<script fetchpriority=high src={url}></script>", "h"),
    _MEDIUM: Way(_MEDIUM, "<script src={url}></script>", "Z"),
    _LOW: Way(_LOW, "<script async src={url}></script>", "s"),
}
_DEFERRED = Way(_LOW, "<script defer src={url}></script>", "s")
_WAYS: Mapping[Kind, Mapping[ChromiumPriority, Way]] = {
    Kind.DOCUMENT: {
        _VERY_HIGH: Way(_VERY_HIGH, "<iframe src={url}></iframe>", "d"),
        _VERY_LOW: Way(_VERY_LOW, _SPECULATION, "p", is_guess=True),
    },
    Kind.FONT: {
        _VERY_HIGH: Way(_VERY_HIGH, "<b style=font-family:{family}>a</b>", "n"),
        _HIGH: Way(_HIGH, "<link rel=preload as=font crossorigin href={url}>", "N"),
        _LOW: Way(_LOW, "<link rel=preload as=font crossorigin fetchpriority=low href={url}>", "o"),
    },
    Kind.IMAGE: {
        _HIGH: Way(_HIGH, "<img fetchpriority=high{place} src={url}>", "G"),
        _MEDIUM: Way(_MEDIUM, "<img{place} src={url}>", "z"),
        _LOW: Way(_LOW, "<img fetchpriority=low{place} src={url}>", "g"),
    },
    Kind.XHR: {
        _VERY_HIGH: Way(_VERY_HIGH, "", "y"),
        _HIGH: Way(_HIGH, "", "f"),
        _LOW: Way(_LOW, "", "F"),
        _VERY_LOW: Way(_VERY_LOW, _PREFETCH, "b"),
    },
    Kind.MEDIA: {_LOW: Way(_LOW, "<video preload=auto src={url}></video>", "v")},
    Kind.OTHER: {
        _HIGH: Way(_HIGH, _FETCHED.replace("{hint}", ""), "e"),
        _LOW: Way(_LOW, _FETCHED.replace("{hint}", " fetchpriority=low"), "E"),
        _VERY_LOW: Way(_VERY_LOW, _PREFETCH, "b"),
    },
}
_SOUND = Way(_LOW, "<audio preload=auto src={url}></audio>", "a")
WEB_APP_MANIFEST = Way(_MEDIUM, "", "w")  # Chromium looks for it in the head only, and a document has one


def way_of(
    kind: Kind, priority: ChromiumPriority, *, is_late: bool, flags: frozenset[Flag] = frozenset(), mime: str = ""
) -> Way:
    """The way whose priority is nearest to the wanted one, the more urgent of two.

    is_late: whether an image stands before it in the document.
    """
    if kind is Kind.MEDIA and mime.startswith("audio/"):
        return _SOUND
    if kind is Kind.SCRIPT and priority is _LOW and Flag.DEFER in flags:
        return _DEFERRED
    return _nearest(_ways_of(kind, is_late).values(), priority)


def call_way_of(kind: Kind, priority: ChromiumPriority, mime: str = "") -> Way:
    """The nearest way of those that scripts have; see way_of."""
    if kind is Kind.MEDIA and mime.startswith("audio/"):
        return _SOUND
    return _nearest((way for late in (False, True) for way in _ways_of(kind, late).values() if way.call), priority)


def _nearest(ways: Iterable[Way], priority: ChromiumPriority) -> Way:
    """The way with the nearest priority; guesses, which browsers may leave out, only for their very priority."""
    fitting = [way for way in ways if way.priority is priority or not way.is_guess]
    return min(fitting, key=lambda way: (abs(way.priority.rank - priority.rank), way.priority.rank))


def needs_image_before(kind: Kind, priority: ChromiumPriority) -> bool:
    """Whether the tag has its priority only behind an image."""
    return kind in {Kind.SCRIPT, Kind.STYLESHEET} and priority is _MEDIUM


def _ways_of(kind: Kind, is_late: bool) -> Mapping[ChromiumPriority, Way]:
    if kind is Kind.STYLESHEET:
        return _SHEETS_LATE if is_late else _SHEETS_EARLY
    if kind is Kind.SCRIPT:
        return _SCRIPTS_LATE if is_late else _SCRIPTS_EARLY
    return _WAYS[kind]
