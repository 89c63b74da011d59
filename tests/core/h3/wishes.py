"""A responder that does what the path asks for: "/5000?priority=u%3D1&delay_ms=50&status=304&bare" (without content-length)."""

from __future__ import annotations

from urllib.parse import parse_qsl

from mixedsched.core.h3.response import BytesBody, Headers, RequestHead, Response
from tests.core.h3.pair import pattern


class Wishes:
    """heads: the requests, as they came."""

    def __init__(self) -> None:
        self.heads: list[RequestHead] = []

    def respond(self, head: RequestHead) -> Response:
        self.heads.append(head)
        path, _, query = head.path.partition("?")
        wishes = parse_qsl(query, keep_blank_values=True)
        values = dict(wishes)
        size_bytes = int(path.strip("/"))
        fields: Headers = [] if "bare" in values else [(b"content-length", str(size_bytes).encode())]
        fields += [(b"priority", value.encode()) for name, value in wishes if name == "priority"]
        return Response(
            int(values.get("status", "200")),
            fields,
            BytesBody(pattern(size_bytes)),
            "image/png",
            delay_ms=float(values.get("delay_ms", "0")),
        )
