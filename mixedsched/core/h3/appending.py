"""Appends a script to documents on their way to browsers: which responses take it, and what must change in them.

The script goes behind the end of the document, where HTML parsers take it for a part of the body (HTML standard, "after after
body" insertion mode): the text need not be read, bodies that come with time need not wait, and nothing on the page comes later.
Left alone are HEAD, ranges, conditions that hold, frames, documents in a coding, and those whose content security policy
would forbid the script or its report (CSP level 3).
"""

import html
import re
import zlib
from collections.abc import Iterable
from dataclasses import dataclass, field

from mixedsched.core.h3.response import Headers, RequestHead

HEAD_BYTES = 32 * 1024
"""So much of a document is looked through for a policy of its own."""
_GZIP_LEVEL, _GZIP = 5, 31
_META = re.compile(rb"<meta\b[^>]*>", re.IGNORECASE)
_STATES_POLICY = re.compile(rb"http-equiv\s*=\s*[\"']?content-security-policy", re.IGNORECASE)
_CONTENT = re.compile(rb"\bcontent\s*=\s*(?:\"([^\"]*)\"|'([^']*)')", re.IGNORECASE)
_OF_OTHER_BYTES = frozenset({b"content-md5", b"digest", b"content-digest", b"repr-digest", b"accept-ranges"})
_POLICIES = (b"content-security-policy", b"content-security-policy-report-only")


def wants_script(head: RequestHead) -> bool:
    """Whether a request is one for a document to show, whole."""
    purpose = head.field(b"sec-purpose") or head.field(b"purpose") or ""
    return (
        head.method == "GET"
        and head.field(b"sec-fetch-dest") == "document"
        and not head.field_lines(b"range")
        and "prefetch" not in purpose
    )


def for_plain_document(head: RequestHead) -> Headers:
    """The request's fields, asking for the document without a coding."""
    return [*(item for item in head.fields if item[0] != b"accept-encoding"), (b"accept-encoding", b"identity")]


def takes_gzip(head: RequestHead) -> bool:
    """Whether a client takes gzip, as all browsers do over HTTPS."""
    for line in head.field_lines(b"accept-encoding"):
        for item in line.lower().split(b","):
            coding, _, quality = item.partition(b";")
            if coding.strip() == b"gzip":
                return quality.replace(b" ", b"") not in (b"q=0", b"q=0.0", b"q=0.00", b"q=0.000")
    return False


def is_plain_document(status: int, fields: Headers) -> bool:
    """Whether a response is a whole document to which ASCII text can be appended."""
    values = {name: value.lower() for name, value in fields}
    mime, _, parameters = values.get(b"content-type", b"").partition(b";")
    return (
        status == 200
        and mime.strip() == b"text/html"
        and b"utf-16" not in parameters
        and values.get(b"content-encoding", b"identity") == b"identity"
        and b"no-transform" not in b",".join(value.lower() for name, value in fields if name == b"cache-control")
        and b"content-range" not in values
    )


def forbidden_by(fields: Iterable[tuple[bytes, bytes]]) -> str | None:
    """The directive of a response's policies that forbids an inline script or its report; None if none does."""
    for name, value in fields:
        if name in _POLICIES:
            found = _forbidding(value.decode("latin-1"))
            if found is not None:
                return found
    return None


def forbidden_within(start: bytes) -> str | None:
    """The same of policies that the beginning of a document states itself. Takes time in proportion to its size."""
    for tag in _META.findall(start[: start.rfind(b">") + 1]):
        content = _CONTENT.search(tag) if _STATES_POLICY.search(tag) else None
        if content is not None:
            found = _forbidding(html.unescape((content[1] or content[2] or b"").decode("latin-1")))
            if found is not None:
                return found
    return None


def _forbidding(policies: str) -> str | None:
    return next(filter(None, map(_forbidding_of, policies.split(","))), None)


def _forbidding_of(policy: str) -> str | None:
    directives: dict[str, list[str]] = {}
    for part in policy.split(";"):
        words = part.lower().split()
        if words:
            directives.setdefault(words[0], words[1:])
    if "sandbox" in directives and "allow-scripts" not in directives["sandbox"]:
        return "sandbox"
    for names, allows in (
        (("script-src-elem", "script-src", "default-src"), _allows_inline),
        (("connect-src", "default-src"), _allows_same_origin),
    ):
        name = next((item for item in names if item in directives), None)
        if name is not None and not allows(directives[name]):
            return name
    return None


def _allows_inline(sources: list[str]) -> bool:
    voiding = ("'nonce-", "'sha256-", "'sha384-", "'sha512-", "'strict-dynamic'")
    return "'unsafe-inline'" in sources and not any(item.startswith(voiding) for item in sources)


def _allows_same_origin(sources: list[str]) -> bool:
    """A host that is named may be this one or not: only what certainly is counts."""
    return any(item in {"'self'", "*", "https:"} for item in sources)


def changed_fields(fields: Headers, more_bytes: int, *, gzips: bool) -> Headers:
    """A response's fields with the script behind its body. The tag becomes a weak one: the bytes are others than the site's."""
    kept: Headers = []
    for name, value in fields:
        if name in _OF_OTHER_BYTES or (name == b"content-encoding"):
            continue
        if name == b"content-length":
            if not gzips:
                kept.append((name, str(int(value) + more_bytes).encode()))
        elif name == b"etag" and not value.startswith(b"W/"):
            kept.append((name, b"W/" + value))
        else:
            kept.append((name, value))
    if gzips:
        kept.append((b"content-encoding", b"gzip"))
    if not any(name == b"vary" and b"accept-encoding" in value.lower() for name, value in kept):
        kept.append((b"vary", b"accept-encoding"))
    return kept


@dataclass(slots=True)
class ScriptAppender:
    """A document's bytes on their way, and the script behind them; coded with gzip where the client takes that.

    Each piece leaves as it comes. why_not: after the end, why the script was left out.
    """

    script: bytes
    gzips: bool
    why_not: str | None = None
    _start: bytearray = field(default_factory=bytearray)
    _coder: "zlib._Compress | None" = None

    def __post_init__(self) -> None:
        self._coder = zlib.compressobj(_GZIP_LEVEL, zlib.DEFLATED, _GZIP) if self.gzips else None

    def feed(self, data: bytes) -> bytes:
        """The next bytes to send."""
        if len(self._start) < HEAD_BYTES:
            self._start += data[: HEAD_BYTES - len(self._start)]
        if self._coder is None:
            return data
        return self._coder.compress(data) + self._coder.flush(zlib.Z_SYNC_FLUSH)

    def end(self) -> bytes:
        """The last ones. Where the document itself forbids the script, spaces stand for it if its length was told."""
        self.why_not = forbidden_within(bytes(self._start))
        if bytes(self._start[:2]) in (b"\xff\xfe", b"\xfe\xff"):
            self.why_not = "UTF-16"
        last = self.script if self.why_not is None else (b"" if self._coder is not None else b" " * len(self.script))
        if self._coder is None:
            return last
        return self._coder.compress(last) + self._coder.flush()
