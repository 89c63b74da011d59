"""What a gateway from HTTP/3 to another HTTP must do to the fields of messages, and which messages it must refuse.

Sources: RFC 9110 sections 7.2 (Host), 7.6 (Connection, Max-Forwards, Via), 8.6 (Content-Length), 9.3.6 (CONNECT), 10.1.1
(Expect); RFC 9112 sections 5.2, 6.1, 6.3, 11 (line folding, length of messages, splitting and smuggling); RFC 9114 sections 4.2
to 4.4; RFC 9220; RFC 7239 (Forwarded).
"""

import ipaddress
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from mixedsched.core.h3 import LONGEST_FIELD_BYTES
from mixedsched.core.h3.response import Headers, RequestHead

PSEUDONYM = b"mixedsched"  # of this gateway, in Via
_PASSED_ON = ((b"allow", b"GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS"),)

_HOP_BY_HOP = frozenset(
    {
        b"connection",
        b"keep-alive",
        b"proxy-authenticate",
        b"proxy-authentication-info",
        b"proxy-authorization",
        b"proxy-connection",
        b"te",
        b"transfer-encoding",
        b"upgrade",
    }
)
# What tells the origin who asks. Some origins take "_" for "-", so that both spellings are replaced. `proxy` would become the
# variable HTTP_PROXY of a CGI program.
_CLAIMED = frozenset(
    {
        b"client-ip",
        b"forwarded",
        b"proxy",
        b"true-client-ip",
        b"x-client-ip",
        b"x-cluster-client-ip",
        b"x-forwarded",
        b"x-forwarded-by",
        b"x-forwarded-for",
        b"x-forwarded-host",
        b"x-forwarded-port",
        b"x-forwarded-proto",
        b"x-forwarded-scheme",
        b"x-forwarded-server",
        b"x-forwarded-ssl",
        b"x-original-host",
        b"x-original-url",
        b"x-real-ip",
        b"x-rewrite-url",
    }
)
_FRAMING = frozenset({b"content-length", b"transfer-encoding"})
_NOT_IN_TRAILERS = frozenset(
    {
        b"authorization",
        b"content-encoding",
        b"content-range",
        b"content-type",
        b"cookie",
        b"expect",
        b"host",
        b"set-cookie",
    }
)
_TOKEN = re.compile(rb"[!#$%&'*+\-.^_`|~0-9A-Za-z]+")
_NO_VALUE = re.compile(rb"[\x00-\x08\x0a-\x1f\x7f]")
_TARGET = re.compile(r"/[\x21-\x22\x24-\x7e]*")  # visible ASCII without "#", which begins a fragment
_NAME = re.compile(
    r"(?P<name>[a-z0-9_](?:[a-z0-9_\-]*[a-z0-9_])?(?:\.[a-z0-9_](?:[a-z0-9_\-]*[a-z0-9_])?)*\.?)(?::(?P<port>\d{1,5})?)?"
)
_LITERAL = re.compile(r"\[(?P<name>[0-9a-f:.]+)\](?::(?P<port>\d{1,5})?)?")


class BadAnswerError(Exception):
    """The origin's response must not be passed on; the message says why."""


@dataclass(frozen=True, slots=True)
class Refusal:
    """A request that is not passed on: the status to answer with, and why, for the log only. fields: of the response."""

    status: int
    why: str
    fields: tuple[tuple[bytes, bytes], ...] = ()


def host_of(authority: str) -> str | None:
    """The host of an authority in lower case, without port and final dot; None if it is none, or has user information."""
    lower = authority.lower()
    if literal := _LITERAL.fullmatch(lower):
        try:
            return str(ipaddress.IPv6Address(literal["name"]))
        except ValueError:
            return None
    name = _NAME.fullmatch(lower)
    return name["name"].removesuffix(".") if name is not None else None


def is_target(path: str) -> bool:
    """Whether a path, with its query, can be asked for as it is."""
    return _TARGET.fullmatch(path) is not None


def refusal(head: RequestHead, is_served: Callable[[str], bool]) -> Refusal | None:
    """Why a request is not passed on, None if it is. is_served: whether a host, as of host_of, is one of ours."""
    host = host_of(head.authority)
    if head.method == "CONNECT" and head.protocol is None:
        return Refusal(501, "CONNECT is for forward proxies")
    if head.protocol not in (None, "websocket"):
        return Refusal(501, "an extended CONNECT for another protocol than websocket")
    if head.method == "TRACE":
        return Refusal(405, "TRACE would show fields that are for the origin only", _PASSED_ON)
    if host is None:
        return Refusal(400, "the authority is not HOST or HOST:PORT")
    if not is_served(host):
        return Refusal(421, "the host is not served here")
    if head.path != "*" and not is_target(head.path):
        return Refusal(400, "the path does not begin with '/', or has characters that must be encoded")
    if head.path == "*" and head.method != "OPTIONS":
        return Refusal(400, "'*' is a target of OPTIONS only")
    if any(_NO_VALUE.search(value) for _, value in head.fields):
        return Refusal(400, "a field has control characters")
    if any(value.lower() != b"100-continue" for value in head.field_lines(b"expect")):
        return Refusal(417, "an expectation that is not 100-continue")
    if head.protocol is not None and head.field_lines(b"content-length"):
        return Refusal(400, "a tunnel with content-length")
    if head.method == "OPTIONS" and _hops_left(head.field_lines(b"max-forwards")) == 0:
        return Refusal(200, "Max-Forwards says that the edge is to answer", _PASSED_ON)
    return None


def _hops_left(lines: list[bytes]) -> int | None:
    """How many more hops a request may take; None where it does not say (RFC 9110 section 7.6.2)."""
    return int(lines[0]) if len(lines) == 1 and lines[0].isdigit() and len(lines[0]) <= 9 else None


def request_fields(head: RequestHead, client: str, host: str | None = None) -> Headers:
    """The fields of a request as the origin gets them, `host` first, without what frames its body.

    client: its IP address. host: what the origin is asked for, None for what the client asked for. What the client claims
    about itself by Forwarded and the like is replaced; Via grows; lines of `cookie` become one (RFC 9114 section 4.2.1).
    """
    asked = head.authority.encode("latin-1")
    fields: Headers = [(b"host", asked if host is None else host.encode("latin-1"))]
    cookies: list[bytes] = []
    for name, value in head.fields:
        if name in _HOP_BY_HOP or name in (b"host", b"content-length") or name.replace(b"_", b"-") in _CLAIMED:
            continue
        if name == b"cookie":
            cookies.append(value)
        elif name == b"max-forwards" and head.method == "OPTIONS" and (hops := _hops_left([value])):
            fields.append((name, b"%d" % (hops - 1)))
        else:
            fields.append((name, value))
    if cookies:
        fields.append((b"cookie", b"; ".join(cookies)))
    fields += _forwarded(asked, client)
    fields.append((b"via", b"3 " + PSEUDONYM))
    return fields


def plain_address(text: str) -> str:
    """A client's IP address without its zone, and as one of IPv4 where it is: sockets for both write ::ffff:192.0.2.7."""
    bare = text.partition("%")[0]
    mapped = ipaddress.IPv6Address(bare).ipv4_mapped if ":" in bare else None
    return bare if mapped is None else str(mapped)


def _forwarded(host: bytes, client: str) -> Headers:
    node = f'"[{client}]"' if ":" in client else client
    quoted = b'"' + host + b'"'
    return [
        (b"forwarded", b"for=" + node.encode() + b";host=" + quoted + b";proto=https"),
        (b"x-forwarded-for", client.encode()),
        (b"x-forwarded-host", host),
        (b"x-forwarded-proto", b"https"),
        (b"x-real-ip", client.encode()),
    ]


def response_fields(fields: Iterable[tuple[bytes, bytes]], version: bytes, status: int = 200) -> Headers:
    """The fields of the origin's response as the client gets them. version: of HTTP as the origin spoke it, such as b"1.1".

    A length is left out where the status forbids it: 1xx, with which a tunnel begins, too, and 204 (RFC 9110 section 8.6).
    Raises BadAnswerError for what could be understood in two ways.
    """
    lines = [(name.lower(), value) for name, value in fields]
    for name, value in lines:
        if not _TOKEN.fullmatch(name):
            raise BadAnswerError("a field's name is not a token")
        if max(len(name), len(value)) > LONGEST_FIELD_BYTES:
            raise BadAnswerError(f"the field {name[:100].decode('latin-1')} is longer than {LONGEST_FIELD_BYTES} bytes")
        if _NO_VALUE.search(value):
            raise BadAnswerError(f"the field {name.decode('latin-1')} has control characters")
    length = content_length_of(lines)
    if any(name == b"transfer-encoding" for name, _ in lines):
        if length is not None:
            raise BadAnswerError("it has content-length and transfer-encoding")
        if version == b"1.0":  # RFC 9112 section 6.1
            raise BadAnswerError("it has transfer-encoding, which HTTP/1.0 does not know")
    dropped = _HOP_BY_HOP | nominated(lines)
    kept = [(name, value.strip(b" \t")) for name, value in lines if name not in dropped and name != b"content-length"]
    if length is not None and status >= 200 and status != 204 and b"content-length" not in nominated(lines):
        kept.append((b"content-length", str(length).encode()))
    kept.append((b"via", version + b" " + PSEUDONYM))
    return kept


def nominated(fields: Iterable[tuple[bytes, bytes]]) -> frozenset[bytes]:
    """The fields that `connection` names, which are for the next hop only; in lower case."""
    options = (option for name, value in fields if name == b"connection" for option in value.split(b","))
    return frozenset(option.strip(b" \t").lower() for option in options)


def content_length_of(fields: Iterable[tuple[bytes, bytes]]) -> int | None:
    """The length that a response announces, None if it does not; a list of equal ones is one (RFC 9110 section 8.6). Raises
    BadAnswerError if it makes no sense."""
    values = {part.strip(b" \t") for name, value in fields if name == b"content-length" for part in value.split(b",")}
    if not values:
        return None
    value = values.pop()
    if values or not value.isdigit() or len(value) > 18:
        raise BadAnswerError("content-length is not one number")
    return int(value)


def trailer_fields(fields: Iterable[tuple[bytes, bytes]]) -> Headers:
    """Trailers, either way, without those that would change how their message is read (RFC 9110 section 6.5.1), and without
    those that are longer than HTTP/3 can say here."""
    unwanted = _HOP_BY_HOP | _CLAIMED | _FRAMING | _NOT_IN_TRAILERS
    return [
        (name.lower(), value.strip(b" \t"))
        for name, value in fields
        if name.lower().replace(b"_", b"-") not in unwanted
        and _TOKEN.fullmatch(name)
        and not _NO_VALUE.search(value)
        and max(len(name), len(value)) <= LONGEST_FIELD_BYTES
    ]
