"""Beacons of a site's pages: documents get the script, and its reports are taken under the reserved path."""

import time
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import replace

from mixedsched.core.h3.appending import (
    ScriptAppender,
    changed_fields,
    for_plain_document,
    forbidden_by,
    is_plain_document,
    takes_gzip,
    wants_script,
)
from mixedsched.core.h3.response import BodyLostError, BytesBody, Headers, RequestHead, Responder, Response, close_body
from mixedsched.core.learning.beacon import BEACON_PATH, QUERY_MOST, SCRIPT, is_beacon
from mixedsched.world.server._conditions import format_http_date

SCRIPT_BYTES = SCRIPT.encode()
BODY_MOST_BYTES = 4096
DOCUMENT_MOST_BYTES = 4 * 1024 * 1024
"""Larger documents are served as they are."""
MADE_MOST_BYTES = 16 * 1024 * 1024
"""Of documents with the script that are kept."""
TOLD_MOST = 1000


def answer_to_beacon(head: RequestHead) -> Response:
    """The answer to a request under the reserved path. What a report says is read by the visit's recorder."""
    date = b"date", format_http_date(time.time()).encode()
    fields: Headers = [(b"cache-control", b"no-store"), date]
    empty = b"content-length", b"0"
    if head.method != "POST":
        return Response(405, [(b"allow", b"POST"), empty, *fields])
    length = head.field(b"content-length") or "0"
    if len(head.path) > len(BEACON_PATH) + 1 + QUERY_MOST or not length.isdigit() or int(length) > BODY_MOST_BYTES:
        return Response(413, [empty, *fields])
    return Response(204, fields)


class LeftAlone:
    """Says once for each page why it has no beacon."""

    def __init__(self, say: Callable[[str], None]) -> None:
        self._say = say
        self._told: OrderedDict[str, None] = OrderedDict()

    def knows(self, path: str) -> bool:
        """Whether a page was told of."""
        return path.partition("?")[0][:200] in self._told

    def tell(self, path: str, why: str) -> None:
        """why: the directive of the page's policy, or the character set."""
        page = path.partition("?")[0][:200]
        if page in self._told:
            return
        self._told[page] = None
        if len(self._told) > TOLD_MOST:
            self._told.popitem(last=False)
        self._say(f"{page!r} has no beacon: {why} of the page forbids its script or its report")


class BeaconFiles:
    """A responder in front of a site's. say: takes a line for the log."""

    def __init__(self, within: Responder, say: Callable[[str], None]) -> None:
        self._within = within
        self._left_alone = LeftAlone(say)
        self._made: OrderedDict[tuple[bytes, bool], bytes] = OrderedDict()
        self._made_bytes = 0

    def respond(self, head: RequestHead) -> Response:
        if is_beacon(head.path):
            return answer_to_beacon(head)
        if not wants_script(head):
            return self._within.respond(head)
        plain = self._within.respond(replace(head, fields=for_plain_document(head)))
        with_script = self._with_script(head, plain)
        if with_script is not None:
            return with_script
        if plain.status in {200, 406}:  # it may have another form for this client
            close_body(plain.body)
            return self._within.respond(head)
        return plain

    def _with_script(self, head: RequestHead, plain: Response) -> Response | None:
        body = plain.body
        if body is None or not is_plain_document(plain.status, plain.fields) or body.size_bytes > DOCUMENT_MOST_BYTES:
            return None
        why = forbidden_by(plain.fields)
        if why is not None:
            self._left_alone.tell(head.path, why)
            return None
        gzips = takes_gzip(head)
        tag = next((value for name, value in plain.fields if name == b"etag"), None)
        made = self._made.get((tag, gzips)) if tag is not None else None
        if made is None:
            appender = ScriptAppender(SCRIPT_BYTES, gzips)
            try:
                made = appender.feed(body.read(body.size_bytes)) + appender.end()
            except BodyLostError:  # the file is changing at this moment
                return None
            if appender.why_not is not None:
                self._left_alone.tell(head.path, appender.why_not)
                return None
            self._keep(tag, gzips, made)
        close_body(body)
        fields = [item for item in plain.fields if item[0] != b"content-length"]
        fields = changed_fields(fields, len(SCRIPT_BYTES), gzips=gzips)
        return replace(plain, fields=[(b"content-length", str(len(made)).encode()), *fields], body=BytesBody(made))

    def _keep(self, tag: bytes | None, gzips: bool, made: bytes) -> None:
        if tag is None:
            return
        self._made[tag, gzips] = made
        self._made_bytes += len(made)
        while self._made_bytes > MADE_MOST_BYTES:
            self._made_bytes -= len(self._made.popitem(last=False)[1])
