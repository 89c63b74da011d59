"""Proves, as a browser would find out, that people get to HTTP/3 at an address."""

import asyncio
import datetime as dt
import socket
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import SplitResult, urljoin, urlsplit

from cryptography import x509

from mixedsched.core.h3.alt_svc import AlternativeService, alternatives
from mixedsched.errors import MixedschedError
from mixedsched.lab.doctor._check import Check, checked
from mixedsched.world.client import HttpsAnswer, HttpsPage, RefusedError, ask_over_quic, ask_over_tcp

_SOON = dt.timedelta(days=14)
_SHORT_AGE_S = 3600


def examine_edge(url: str, trusted: Path | None, now: dt.datetime) -> Iterator[Check]:
    """All checks in the order in which a browser meets them; what needs a part that has failed is not tried.

    url: of a page on https, which is asked for once over TCP and once over HTTP/3. trusted: a file of certificates to trust
    instead of the system's. Raises UsageError if the address is not one.
    """
    return _Examination(HttpsPage.of(url, trusted), now).checks()


class _Examination:
    """What has been seen so far."""

    def __init__(self, target: HttpsPage, now: dt.datetime) -> None:
        self._target = target
        self._now = now
        self._first: HttpsAnswer | None = None  # over TCP
        self._second: HttpsAnswer | None = None  # over QUIC

    def checks(self) -> Iterator[Check]:
        """A browser that has not been told of HTTP/3 asks over TCP first."""
        yield (name := checked("name", self._resolve))
        if not name.ok:
            return
        yield (tcp := checked("HTTPS over TCP", self._ask_over_tcp))
        announced = AlternativeService("h3", "", self._target.port, 0)
        if tcp.ok:
            yield checked("certificate", self._look_at_certificate)
            yield (told := checked("Alt-Svc", self._look_for_alternative))
            announced = self._alternative() if told.ok else announced
        yield (quic := checked("QUIC over UDP", lambda: self._ask_over_quic(announced)))
        if quic.ok and tcp.ok:
            yield checked("HTTP/3", self._compare)

    def _resolve(self) -> str:
        host, port = self._target.host, self._target.port
        try:
            found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
        except (OSError, UnicodeError) as error:  # UnicodeError: a part of it is longer than names may be
            raise MixedschedError(
                f"{host} has no address",
                why=(error.strerror if isinstance(error, OSError) else None) or str(error),
                fix="add an A or AAAA record, or check the spelling",
            ) from error
        return ", ".join(dict.fromkeys(str(item[4][0]) for item in found))

    def _ask_over_tcp(self) -> str:
        try:
            self._first = ask_over_tcp(self._target)
        except RefusedError as error:
            fix = (
                "have the web server show a certificate for this name with its chain, or name yours with --cert"
                if error.is_certificate
                else "see that the web server listens on this TCP port: the first visit of every browser goes there"
            )
            raise MixedschedError(error.what, why=error.why, fix=fix) from error
        return f"status {self._first.status}, connected after {self._first.connected_ms:.0f} ms"

    def _look_at_certificate(self) -> str:
        certificate = _given(self._first).certificate
        assert certificate is not None, "there is no TLS without one"
        end = certificate.not_valid_after_utc
        if end - self._now < _SOON:
            raise MixedschedError(
                f"valid until {end:%Y-%m-%d} only",
                why="browsers will refuse it then, over TCP and over QUIC",
                fix="renew it, and have the edge read it again (it does when the file changes)",
            )
        return f"for {_names(certificate)}, valid until {end:%Y-%m-%d}"

    def _look_for_alternative(self) -> str:
        field = _given(self._first).fields.get("alt-svc", "")
        found = [item for item in alternatives(field) if item.protocol == "h3"]
        if not found:
            raise MixedschedError(
                f"the response announces {field!r}" if field else "the response does not announce HTTP/3",
                why="browsers use TCP until it is announced",
                fix="""add one line to the web server, for nginx: add_header Alt-Svc 'h3=":443"; ma=86400' always;""",
            )
        first = found[0]
        where = f"UDP port {first.port}" + (f" of {first.host}" if first.host else "")
        if first.max_age_s < _SHORT_AGE_S:
            where += f"; browsers forget it after {first.max_age_s} s"
        return f"HTTP/3 on {where}"

    def _alternative(self) -> AlternativeService:
        return next(item for item in alternatives(_given(self._first).fields["alt-svc"]) if item.protocol == "h3")

    def _ask_over_quic(self, announced: AlternativeService) -> str:
        # Another host for the same contents still shows the certificate of, and answers for, the first (RFC 7838 section 2.1).
        try:
            self._second = asyncio.run(ask_over_quic(self._target, announced.port, announced.host or None))
        except RefusedError as error:
            fix = (
                "give the edge a certificate for this name with its chain (--cert, --key), or name yours with --cert here"
                if error.is_certificate
                else f"open UDP port {announced.port} in every firewall on the way, and see that the edge runs there, "
                "for a name with an IPv6 address with --listen ::"
            )
            raise MixedschedError(error.what, why=error.why, fix=fix) from error
        return f"connected after {self._second.connected_ms:.0f} ms, certificate trusted"

    def _compare(self) -> str:
        first, second = _given(self._first), _given(self._second)
        if first.status != second.status:
            raise MixedschedError(
                f"status {second.status} over HTTP/3, {first.status} over TCP",
                why="people would get another page than before",
                fix="see that the edge serves this host (--host) and that its --origin is this web server",
            )
        self._compare_redirects(first, second)
        coding = first.fields.get("content-encoding")
        if coding is not None and "content-encoding" not in second.fields:
            raise MixedschedError(
                f"the page comes without compression over HTTP/3, and with {coding} over TCP",
                why="some web servers do not compress what a proxy asks for",
                fix="for nginx: add `gzip_proxied any;` where the edge asks",
            )
        same = first.body_sha256 == second.body_sha256
        words = "the same" if same else "not the same as over TCP, as pages that change with each request are"
        return f"status {second.status}, {second.body_bytes} bytes, {words}"

    def _compare_redirects(self, first: HttpsAnswer, second: HttpsAnswer) -> None:
        if "location" not in first.fields or "location" not in second.fields:
            return
        leads, leads_over_quic = (self._destination(item.fields["location"]) for item in (first, second))
        if leads[:2] != leads_over_quic[:2]:
            raise MixedschedError(
                f"the redirect leads to {leads_over_quic.geturl()} over HTTP/3, to {leads.geturl()} over TCP",
                why="the web server names the scheme and port at which the edge asks it",
                fix="for nginx: add `absolute_redirect off;` where the edge asks; for others, see docs/edge.md",
            )

    def _destination(self, location: str) -> SplitResult:
        try:
            return urlsplit(urljoin(f"https://{self._target.authority}{self._target.path}", location))
        except ValueError as error:
            raise MixedschedError(
                f"the redirect to {location!r} leads nowhere", why=str(error), fix="correct it in the web server"
            ) from error


def _given(answer: HttpsAnswer | None) -> HttpsAnswer:
    assert answer is not None, "checks that need it are not tried without it"
    return answer


def _names(certificate: x509.Certificate) -> str:
    try:
        found = certificate.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    except x509.ExtensionNotFound:
        return "no name"
    return ", ".join([*found.get_values_for_type(x509.DNSName), *map(str, found.get_values_for_type(x509.IPAddress))])
