"""A watched request as an exchange."""

from __future__ import annotations

from mixedsched.sites.recorded import Exchange, LeftOut
from mixedsched.sites.recorded.exchange import FoundHow
from mixedsched.world.browser.observation import ObservedRequest

_HOW: dict[str, FoundHow] = {
    "navigation": "navigation",
    "parser": "parser",
    "script": "script",
    "preload": "preload",
    "redirect": "redirect",
}


def exchange_of(request: ObservedRequest) -> Exchange | LeftOut:
    """The request with its body, as this load had it; why there is none."""
    if request.status <= 0:
        return LeftOut(request.url, request.problem or "no answer came", request.method)
    if request.problem is not None and request.body is None:
        return LeftOut(request.url, request.problem, request.method)
    try:
        body = request.body.read_bytes() if request.body is not None else b""
    except OSError as error:
        return LeftOut(request.url, f"its body is gone: {error.strerror}", request.method)
    return Exchange(
        method=request.method,
        url=request.url,
        status=request.status,
        headers=request.response_headers,
        mime=request.mime,
        kind=request.kind,
        body=body,
        encoding=request.encoding if body else None,
        asked_ms=max(0.0, request.asked_ms),
        first_byte_ms=request.first_byte_ms,
        complete_ms=request.complete_ms,
        request_headers=request.request_headers,
        found_by_url=request.initiator.url,
        found_how=_HOW.get(request.initiator.type),
        priority=request.priority,
        incremental=request.incremental,
        flags=request.flags,
    )
