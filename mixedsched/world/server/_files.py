"""Serves a site's files, and nothing else."""

import errno
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from mixedsched.core.h3 import LONGEST_FIELD_BYTES
from mixedsched.core.h3.response import Body, BytesBody, Headers, RequestHead, Response, close_body
from mixedsched.model.codings import UndecodableError
from mixedsched.world.server._conditions import (
    IDENTITY,
    ConditionResult,
    Validators,
    acceptable,
    format_http_date,
    judge,
    prefers,
    range_applies,
)
from mixedsched.world.server._contents import ContentCache, StoredContent
from mixedsched.world.server._finding import Finder, ListedEntries, RecordedEntries, Redirect
from mixedsched.world.server._preflight import allowance, is_preflight, wanted_after
from mixedsched.world.server._ranges import ByteRange, multipart, parse_ranges
from mixedsched.world.server.site import RecordedAnswer, SiteEntry

_WITHOUT_CONTENT = frozenset({204, 205})
_OF_CONTENT = frozenset({b"content-type", b"content-encoding", b"accept-ranges"})
_BUSY = frozenset({errno.EMFILE, errno.ENFILE, errno.ENOMEM})
_OF_ERRORS = frozenset(  # who may see that a file cannot be had as it was asked for: the same as may read it
    {
        b"access-control-allow-credentials",
        b"access-control-allow-origin",
        b"access-control-expose-headers",
        b"timing-allow-origin",
        b"vary",
    }
)
_OF_EVERY_FILE: Headers = [
    (b"cache-control", b"max-age=3600"),
    (b"access-control-allow-origin", b"*"),
    (b"timing-allow-origin", b"*"),
]


@dataclass(frozen=True, slots=True)
class _Representation:
    """The representation of a file that suits a client. encoding: as it is sent."""

    content: StoredContent
    encoding: str | None


class SiteFiles:
    """Answers GET and HEAD from a fixed list of files, with conditions, ranges and content coding (RFC 9110).

    A request is looked up in the list and never becomes a file name, so no path, encoded or not, leads out of the site.
    entries: by host name, then by path, with query where one matters. clock: seconds since 1970. recorded: the answers of a
    recording to replay, in order; then only the host names of the entries matter. See `finding` for how requests are matched.
    """

    def __init__(
        self,
        entries: Mapping[str, Mapping[str, SiteEntry]],
        main_host: str,
        clock: Callable[[], float] = time.time,
        recorded: Sequence[RecordedAnswer] | None = None,
    ) -> None:
        listed: Finder = ListedEntries(entries, main_host)
        self._finder = listed if recorded is None else RecordedEntries(recorded, tuple(entries), main_host)
        self._contents = ContentCache()
        self._clock = clock

    def respond(self, head: RequestHead) -> Response:
        response = self._response(head)
        response.fields.append((b"date", format_http_date(self._clock()).encode()))
        if head.method == "HEAD" and response.body is not None:
            close_body(response.body)
            return replace(response, body=None)
        return response

    def _response(self, head: RequestHead) -> Response:
        if not self._finder.knows_methods and head.method not in {"GET", "HEAD"}:
            return _plain(405, "only GET and HEAD are possible here", [(b"allow", b"GET, HEAD")])
        found = self._finder.find(head)
        if found is None and is_preflight(head) and self._finder.find(wanted_after(head)) is not None:
            return Response(204, allowance(head))
        if found is None:
            return replace(_plain(404, "there is nothing here"), missed=True)
        if isinstance(found, Redirect):
            if len(found.location) > LONGEST_FIELD_BYTES:  # each byte of a query may take three
                return _plain(414, "the query of this folder's address is too long")
            return _plain(301, "this is a folder", [(b"location", found.location.encode("ascii")), *_OF_EVERY_FILE])
        response = self._of_entry(found, head)
        return replace(response, kind=found.kind, flags=found.flags, delay_ms=found.delay_ms)

    def _of_entry(self, entry: SiteEntry, head: RequestHead) -> Response:
        if entry.file is None:
            return Response(entry.status, _own_fields(entry, []), None, entry.mime)
        try:
            selected = self._select(entry, entry.file, head)
        except OSError as error:
            if error.errno in _BUSY:
                return _plain(503, "too many files are being sent", [(b"retry-after", b"1"), *_of_error(entry)])
            return _plain(404, "there is nothing here any more", _of_error(entry))
        if selected is None:
            return _plain(406, "this is not available in an encoding that you accept", _of_error(entry))
        try:
            return self._of_content(entry, selected, head)
        finally:
            selected.content.close()

    def _select(self, entry: SiteEntry, file: Path, head: RequestHead) -> _Representation | None:
        """The representation as it is stored, or decoded for a client that does not accept that; None if neither will do.

        Raises OSError if the file cannot be read.
        """
        accepted = head.field_lines(b"accept-encoding")
        if entry.encoding is None:
            takes_it = acceptable(accepted, IDENTITY)
            return _Representation(self._contents.of(file), None) if takes_it else None
        if not prefers(accepted, entry.encoding):
            if not acceptable(accepted, IDENTITY):
                return None
            try:
                return _Representation(self._contents.decoded(file, entry.encoding), None)
            except UndecodableError:
                # It may be sent as it is to a client that accepts any encoding, or did not say.
                if accepted and not acceptable(accepted, entry.encoding):
                    return None
        return _Representation(self._contents.of(file), entry.encoding)

    def _of_content(self, entry: SiteEntry, selected: _Representation, head: RequestHead) -> Response:
        content = selected.content
        now_s = self._clock()
        validators = Validators(content.etag, min(content.modified_s, int(now_s)))
        fields = _fields(entry, selected, validators)
        mime = next((value.decode("latin-1") for name, value in fields if name == b"content-type"), entry.mime)
        if entry.status in _WITHOUT_CONTENT:
            return Response(entry.status, _without_content(fields), None, mime)
        if entry.status // 100 == 2 and head.method in {"GET", "HEAD"}:
            match judge(head, validators, now_s):
                case ConditionResult.NOT_MODIFIED:
                    return Response(304, _without_content(fields), None, mime)
                case ConditionResult.FAILED:
                    return _plain(412, "this is not the state that you require", _of_error(entry))
                case ConditionResult.SEND:
                    pass
        if entry.status == 200 and head.method == "GET" and range_applies(head, validators, now_s):
            partial = _partial(entry, selected, fields, mime, head)
            if partial is not None:
                return partial
        whole = content.body(0, content.size_bytes)
        return Response(entry.status, [_length(whole), *fields], whole, mime)


def _fields(entry: SiteEntry, selected: _Representation, validators: Validators) -> Headers:
    """The fields of a representation, whole or in part: all but its length."""
    fields: Headers = [(b"content-type", entry.mime.encode()), *_added(entry)]
    if entry.status // 100 == 2:
        fields.append((b"etag", validators.etag.encode()))
        fields.append((b"last-modified", format_http_date(validators.modified_s).encode()))
    if entry.status == 200:
        fields.append((b"accept-ranges", b"bytes"))
    fields += _vary(entry)
    if selected.encoding is not None:
        fields.append((b"content-encoding", selected.encoding.encode()))
    return _own_fields(entry, fields)


def _added(entry: SiteEntry) -> Headers:
    """What the server adds to every file, where the site does not want it left out."""
    return [] if entry.bare else list(_OF_EVERY_FILE)


def _of_error(entry: SiteEntry) -> Headers:
    """The fields of an error about a file: pages of other origins may see it where they may read the file."""
    fields = _own_fields(entry, [*_added(entry), *_vary(entry)])
    return [field for field in fields if field[0] in _OF_ERRORS]


def _own_fields(entry: SiteEntry, fields: Headers) -> Headers:
    """The fields, with those that the site sets in place of ours."""
    for name, values in entry.headers:
        fields = [field for field in fields if field[0] != name]
        fields += [(name, value) for value in values]
    return fields


def _partial(
    entry: SiteEntry, selected: _Representation, fields: Headers, mime: str, head: RequestHead
) -> Response | None:
    """The parts that a Range field asks for; None to send the whole.

    Several parts of an encoded representation are not sent: the client could not tell whether the multipart message or its
    parts are encoded.
    """
    lines = head.field_lines(b"range")
    content = selected.content
    parts = parse_ranges(b", ".join(lines).decode("latin-1"), content.size_bytes) if lines else None
    if parts is None or (len(parts) > 1 and selected.encoding is not None):
        return None
    if not parts:
        whole = (b"content-range", f"bytes */{content.size_bytes}".encode())
        return _plain(416, "these bytes do not exist", [whole, *_of_error(entry)])
    if len(parts) == 1:
        return _single_part(content, parts[0], fields, mime)
    boundary = content.etag.strip('"')
    body: Body = multipart(
        [(part.content_range(content.size_bytes), content.body(part.start, part.stop)) for part in parts],
        mime,
        boundary,
    )
    outer = [field for field in fields if field[0] != b"content-type"]
    outer.append((b"content-type", f"multipart/byteranges; boundary={boundary}".encode()))
    return Response(206, [_length(body), *outer], body, mime)


def _single_part(content: StoredContent, part: ByteRange, fields: Headers, mime: str) -> Response:
    body = content.body(part.start, part.stop)
    where = (b"content-range", part.content_range(content.size_bytes).encode())
    return Response(206, [_length(body), where, *fields], body, mime)


def _length(body: Body) -> tuple[bytes, bytes]:
    return b"content-length", str(body.size_bytes).encode()


def _without_content(fields: Headers) -> Headers:
    """The fields without those that describe content, for a response that has none."""
    return [field for field in fields if field[0] not in _OF_CONTENT]


def _vary(entry: SiteEntry) -> Headers:
    """The Vary field: only encoded files are served in two forms."""
    return [(b"vary", b"accept-encoding")] if entry.encoding is not None else []


def _plain(status: int, text: str, fields: Headers | None = None) -> Response:
    """A short text of our own."""
    body = BytesBody(text.encode() + b"\n")
    mime = "text/plain; charset=utf-8"
    return Response(status, [(b"content-type", mime.encode()), _length(body), *(fields or [])], body, mime)
