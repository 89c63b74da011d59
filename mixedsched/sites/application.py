"""Running applications as sites: the address is asked once, so that what cannot be measured is said before work starts."""

import contextlib
import hashlib
import http.client
import ipaddress
import re
import socket
import ssl
import string
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from urllib.parse import SplitResult, quote, urldefrag, urljoin, urlsplit

from mixedsched.errors import MissingPartError, SiteError, UsageError
from mixedsched.model.page import PAGE_FORMAT, Page, Resource
from mixedsched.model.request import Flag, Kind
from mixedsched.sites.elsewhere import is_address, page_address
from mixedsched.sites.site import Application, Site, load_built, site_name_of
from mixedsched.sites.site.paths import ascii_host
from mixedsched.units import printable
from mixedsched.world.edge.rules import read_rules
from mixedsched.world.edge.settings import OriginAddress

HOST_OF_NUMBERS = "localhost"  # as which browsers know an application that has an IP address only
ANSWER_S = 60.0  # development servers build a page when it is first asked for
LOOK_S = 5.0  # at a page that goes on for longer, as one that is streamed may
_LOOKED_AT_BYTES = 256 * 1024
_INPUT = re.compile(rb"<input\b[^>]*", re.IGNORECASE)
_PASSWORD = re.compile(rb"""\btype\s*=\s*["']?password\b""", re.IGNORECASE)
_HTML = ("text/html", "application/xhtml+xml")
_ADMIT = "let the application answer without a login while it is measured"
_ASKING = {
    "User-Agent": "Mozilla/5.0 (mixedsched)",
    "Accept": "text/html,application/xhtml+xml,*/*;q=0.8",
    "Accept-Encoding": "identity",
}

Say = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class LiveOptions:
    """How edges before an application behave."""

    rules: Path | None = None  # priorities by path, as `edge --rules` takes them
    ca: Path | None = None  # whom to trust about an https application; None for the system's authorities
    verify: bool = True  # whether an https application must prove who it is


@dataclass(frozen=True, slots=True)
class _Answer:
    status: int
    fields: dict[str, str]  # names in lower case
    beginning: bytes  # of the body


def open_application(address: str, options: LiveOptions, say: Say = lambda _line: None) -> Site:
    """The page of an application that runs on this machine, as a site without files.

    It is asked once. say: takes warnings. Raises UsageError for what is no address, or one of another machine;
    MissingPartError where nothing answers; SiteError for an answer that is no page; MappingError for bad rules.
    """
    if not is_address(address):
        raise UsageError(
            f"'{printable(address)}' is not a live page",
            why="a live page is one of a running application",
            fix="give its address, such as http://localhost:3000, or leave out --live",
        )
    parts = urlsplit(urldefrag(page_address(address)).url)
    host, port = ascii_host(str(parts.hostname)), parts.port or (443 if parts.scheme == "https" else 80)
    shown = f"[{host}]" if ":" in host else host
    origin = f"{parts.scheme}://{shown}:{port}"
    _refuse_other_machines(host)
    read_rules(options.rules)
    digest = "" if options.rules is None else hashlib.sha256(options.rules.read_bytes()).hexdigest()
    authority = shown if parts.port is None else f"{shown}:{port}"
    name = HOST_OF_NUMBERS if _is_number(host) else host
    application = Application(origin, authority, name, options.ca, options.verify, options.rules, digest)
    path = quote(
        f"{parts.path or '/'}{f'?{parts.query}' if parts.query else ''}", string.punctuation, errors="surrogateescape"
    )
    answer = _asked(parts, application, path)
    _require_page(urldefrag(address).url, answer)
    if asks_for_password(answer.beginning):
        say("warning: the page asks for a password: pages behind it will not be seen")
    return _site(application, path)


def open_watched(address: str, options: LiveOptions, say: Say = lambda _line: None, *, fresh: bool = False) -> Site:
    """The same with what was seen of the page, once, for simulations; see `bring_live`.

    fresh: look at it again. Raises as `open_application` and `bring_live`.
    """
    from mixedsched.sites.brought import bring_live  # here: few pages are, and it takes a browser's client

    live = open_application(address, options, say)
    seen = load_built(bring_live(live, say, fresh=fresh))
    return replace(seen, name=live.name, hosts=live.hosts, source=live.source, application=live.application)


def _site(application: Application, path: str) -> Site:
    """Nothing is known of the page but its address."""
    name = site_name_of(application.authority)
    document = Resource(id="document", path=path, kind=Kind.DOCUMENT, body_bytes=0, flags=frozenset({Flag.MAIN}))
    return Site(
        name=name,
        description=f"the page {path} of {application.origin}, live",
        source=application.origin,
        licence="",
        hosts=(application.host,),
        entry=path,
        root=Path(),
        page=Page(format=PAGE_FORMAT, name=name, resources=(document,)),
        files={},
        mimes={},
        encodings={},
        application=application,
    )


def _refuse_other_machines(host: str) -> None:
    try:
        found = {str(item[4][0]).partition("%")[0] for item in socket.getaddrinfo(host, None, type=socket.SOCK_STREAM)}
    except (OSError, UnicodeError) as error:
        why = getattr(error, "strerror", None) or str(error)
        raise MissingPartError(f"there is no host '{printable(host)}'", why=why, fix="check the address") from error
    elsewhere = sorted(item for item in found if not ipaddress.ip_address(item).is_loopback)
    if elsewhere:
        raise UsageError(
            f"{printable(host)} is not this machine ({elsewhere[0]})",
            why="the way to it would be measured together with the emulated network",
            fix="run the application here, or leave out --live: then the page is recorded once",
        )


def _asked(parts: SplitResult, application: Application, path: str) -> _Answer:
    """What a GET of the page brings, without following redirects."""
    address, what = OriginAddress.parse(application.origin), f"nothing answers at {application.origin}"
    connection: http.client.HTTPConnection
    if address.is_tls:
        from mixedsched.sites.brought import edge_before  # here, because few are asked over TLS
        from mixedsched.world.edge.responder import tls_context

        context = tls_context(edge_before(application))
        connection = http.client.HTTPSConnection(address.host, address.port, timeout=ANSWER_S, context=context)
    else:
        connection = http.client.HTTPConnection(address.host, address.port, timeout=ANSWER_S)
    try:
        connection.connect()
        sock: socket.socket = connection.sock  # which the connection forgets where the answer ends with it
        connection.request("GET", path, headers={"Host": application.authority, **_ASKING})
        response = connection.getresponse()
        fields = {name.lower(): value for name, value in response.getheaders()}
        return _Answer(response.status, fields, _beginning(response, sock))
    except ssl.SSLCertVerificationError as error:
        raise SiteError(
            f"the certificate of {application.origin} is not trusted",
            why=error.verify_message,
            fix="name its authority with --origin-ca FILE, or take any certificate with --origin-insecure",
        ) from error
    except (ssl.SSLError, ConnectionResetError, http.client.HTTPException) as error:
        other = "http" if address.is_tls else "https"
        protocol = "TLS" if address.is_tls else "HTTP"
        raise SiteError(
            f"{application.origin} does not speak {protocol}",
            why=printable(str(error)) or type(error).__name__,
            fix=f"check the port, or try {other}://{parts.netloc}{path}",
        ) from error
    except TimeoutError as error:
        raise MissingPartError(
            what, why=f"there was no response within {ANSWER_S:.0f} s", fix="open it in a browser to see why"
        ) from error
    except OSError as error:
        raise MissingPartError(
            what, why=error.strerror or str(error), fix="start the application, or check the port"
        ) from error
    finally:
        connection.close()


def _beginning(response: http.client.HTTPResponse, sock: socket.socket) -> bytes:
    """Of the body: what is looked at, as far as it comes in time."""
    begun, end_s = b"", time.monotonic() + LOOK_S
    with contextlib.suppress(OSError, http.client.HTTPException):  # it is asked for a warning only
        while (left_s := end_s - time.monotonic()) > 0 and (left_bytes := _LOOKED_AT_BYTES - len(begun)):
            sock.settimeout(left_s)
            piece = response.read1(left_bytes)
            if not piece:
                break
            begun += piece
    return begun


def _require_page(address: str, answer: _Answer) -> None:
    """Raises SiteError, with the reason, unless it is one."""
    why, fix = _objection(address, answer)
    if why:
        raise SiteError(f"{printable(address)} is not a page that can be measured live", why=printable(why), fix=fix)


def asks_for_password(document: bytes) -> bool:
    """Whether an HTML document has a field for one. Takes time in proportion to its size."""
    return any(map(_PASSWORD.search, _INPUT.findall(document)))


def _absolute(location: str, address: str) -> str:
    """Where a redirect leads; as it is written where that is no address."""
    try:
        return urljoin(address, location)
    except ValueError:  # half an IPv6 address
        return location


def _objection(address: str, answer: _Answer) -> tuple[str, str]:
    """Why it is not, and how to mend it; "" if it is."""
    status, type_ = answer.status, answer.fields.get("content-type", "").partition(";")[0].strip().lower()
    if "location" in answer.fields and status // 100 == 3:
        target = _absolute(answer.fields["location"], address)
        return f"it redirects to {target}", f"name that address, if it is what you mean: {printable(target)}"
    if status in (401, 407) or "www-authenticate" in answer.fields:
        return f"it wants a login (status {status})", _ADMIT
    if status == http.HTTPStatus.FORBIDDEN:
        return "it refuses access (status 403)", _ADMIT
    if status != http.HTTPStatus.OK:
        return f"it answers with status {status}", "check the path, and the application's own log"
    if type_ not in _HTML:
        return f"its type is {type_ or 'not given'}, not HTML", "name the address of a page"
    return "", ""


def _is_number(host: str) -> bool:
    try:
        ipaddress.ip_address(host)
    except ValueError:
        return False
    return True
