"""Parts that the schemes of Sander et al. 2022 share."""

from mixedsched.model.request import ChromiumPriority, Flag, Kind, Request

SOURCE = "Sander et al. 2022, Analyzing the Influence of Resource Prioritization on HTTP/3 HOL Blocking and Performance (TMA)"

URGENT_START, LEADERS, FOLLOWERS, UNBLOCKED, BACKGROUND, SPECULATIVE = (
    "urgent-start",
    "leaders",
    "followers",
    "unblocked",
    "background",
    "speculative",
)

FIREFOX_NEEDS = "kind, and from the manifest: main, async, defer, preload (else inferred from Chromium's priority)"


def firefox_group(request: Request) -> str:
    """Firefox's class of service. The study recorded it per URL in a real Firefox; these rules stand in for that record."""
    hints = request.hints
    if Flag.MAIN in hints:
        return URGENT_START
    if request.kind is Kind.SCRIPT:
        return UNBLOCKED if hints & {Flag.ASYNC, Flag.DEFER} else LEADERS
    if Flag.PRELOAD in hints:
        return SPECULATIVE
    if request.chromium_priority is ChromiumPriority.VERY_LOW:
        return BACKGROUND
    match request.kind:
        case Kind.DOCUMENT | Kind.STYLESHEET:
            return LEADERS
        case Kind.XHR:
            return UNBLOCKED
        case _:
            return FOLLOWERS
