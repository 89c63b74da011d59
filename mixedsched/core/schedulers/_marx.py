"""How the classifiers of Marx et al. 2019 see a request: their rules, in terms of kinds and flags."""

from enum import IntEnum

from mixedsched.model.request import Flag, Kind, Request
from mixedsched.model.scheme import Parameter, Values

SOURCE = "Marx et al. 2019, Of the Utmost Importance: Resource Prioritization in HTTP/3 over QUIC (WEBIST)"

NEEDS = "kind, and from the manifest: async, defer, after_first_image (else inferred from Chromium's priority)"

SVG = Parameter(
    "svg",
    "what SVG images count as: the published classifiers look for 'xml' in the content type before they look for images",
    default="xhr",
    choices=("xhr", "image"),
)


def kind_of(request: Request, values: Values) -> Kind:
    """The kind, with JSON and XML of any sort counting as XHR; SVG images as `values` say."""
    if request.kind is Kind.IMAGE:
        return Kind.XHR if "xml" in request.mime and values.get("svg") == "xhr" else Kind.IMAGE
    if request.kind is Kind.OTHER and ("json" in request.mime or "xml" in request.mime):
        return Kind.XHR
    return request.kind


def is_delayed(request: Request) -> bool:
    """Whether a script was marked as not needed at once."""
    return bool(request.hints & {Flag.ASYNC, Flag.DEFER})


def is_visible(request: Request) -> bool:
    """Whether an image is known to be on the first screen."""
    return bool(request.hints & {Flag.HERO, Flag.ABOVE_FOLD})


class Rank(IntEnum):
    """The five levels of dfifo, p+ and spdyrr, which are Chrome's."""

    HIGHEST = 0
    HIGH = 1
    NORMAL = 2
    LOW = 3
    LOWEST = 4


def rank_of(request: Request, values: Values) -> Rank:
    """Chrome's level as the study infers it from the resource's role in its page."""
    match kind_of(request, values):
        case Kind.SCRIPT if is_delayed(request):
            return Rank.LOW
        case Kind.SCRIPT if Flag.AFTER_FIRST_IMAGE in request.hints:
            return Rank.NORMAL
        case Kind.SCRIPT | Kind.XHR:
            return Rank.HIGH
        case Kind.DOCUMENT | Kind.STYLESHEET | Kind.FONT:
            return Rank.HIGHEST
        case Kind.IMAGE:
            return Rank.LOW
        case _:
            return Rank.LOWEST
