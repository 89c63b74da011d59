"""Answers to CORS preflights that were not recorded: HARs hold none, and without them a page could not send some requests."""

from dataclasses import replace

from mixedsched.core.h3.response import Headers, RequestHead

_METHOD, _HEADERS = b"access-control-request-method", b"access-control-request-headers"


def is_preflight(head: RequestHead) -> bool:
    """Whether it is a CORS-preflight request of the Fetch standard."""
    return head.method == "OPTIONS" and bool(head.field(b"origin")) and bool(head.field(_METHOD))


def wanted_after(head: RequestHead) -> RequestHead:
    """The request that a preflight asks for."""
    return replace(head, method=head.field(_METHOD) or "", fields=[])


def allowance(head: RequestHead) -> Headers:
    """The fields that allow just what a preflight asks for."""
    fields: Headers = [
        (b"access-control-allow-origin", head.field_lines(b"origin")[0]),
        (b"access-control-allow-methods", head.field_lines(_METHOD)[0]),
        (b"access-control-allow-credentials", b"true"),
        (b"vary", b"origin, access-control-request-method, access-control-request-headers"),
    ]
    if asked := head.field_lines(_HEADERS):
        fields.append((b"access-control-allow-headers", b", ".join(asked)))
    return fields
