"""Rules of `doctor --edge`: what a browser would meet at an address, in its order, and how to mend what stops it."""

from __future__ import annotations

import datetime as dt
from contextlib import ExitStack
from pathlib import Path

import pytest

from mixedsched.errors import InputError, UsageError
from mixedsched.lab.doctor import Check, examine_edge
from mixedsched.world.client import HttpsPage
from tests.cli.labs import free_udp_port
from tests.world.client.https import NOW, Page, http3, https, write_certificate


@pytest.fixture
def certificate(tmp_path: Path) -> Path:
    return write_certificate(tmp_path, "localhost")


def seen(url: str, trusted: Path | None, now: dt.datetime = NOW) -> dict[str, Check]:
    return {check.name: check for check in examine_edge(url, trusted, now)}


def examined(over_tcp: Page, over_quic: Page | None, certificate: Path, now: dt.datetime = NOW) -> dict[str, Check]:
    """A server of its own, announcing the port where it speaks HTTP/3 unless the page says what it announces."""
    with ExitStack() as stack:
        udp_port = stack.enter_context(http3(over_quic, certificate)) if over_quic is not None else free_udp_port()
        if over_tcp.alt_svc is None:
            over_tcp.alt_svc = f'h3=":{udp_port}"; ma=86400'
        port = stack.enter_context(https(over_tcp, certificate))
        return seen(f"https://localhost:{port}/", certificate, now)


def failed(checks: dict[str, Check]) -> list[str]:
    return [name for name, check in checks.items() if not check.ok]


def test_where_all_is_well_everything_is_proved(certificate: Path) -> None:
    checks = examined(Page(), Page(), certificate)
    assert failed(checks) == []
    assert list(checks) == ["name", "HTTPS over TCP", "certificate", "Alt-Svc", "QUIC over UDP", "HTTP/3"]
    assert checks["HTTP/3"].detail == f"status 200, {len(Page().body)} bytes, the same"


def test_a_server_that_does_not_announce_http3_is_told_the_line_that_does(certificate: Path) -> None:
    checks = examined(Page(alt_svc="clear"), None, certificate)
    assert "Alt-Svc" in failed(checks)
    assert "add_header Alt-Svc" in checks["Alt-Svc"].fix


def test_a_closed_udp_port_is_told_with_its_number(certificate: Path) -> None:
    checks = examined(Page(), None, certificate)
    assert failed(checks) == ["QUIC over UDP"]
    assert "in every firewall on the way" in checks["QUIC over UDP"].fix


def test_a_certificate_that_is_not_trusted_is_a_matter_of_both_ways(certificate: Path, tmp_path: Path) -> None:
    other = write_certificate(tmp_path, "other.test")
    with http3(Page(), certificate) as udp_port, https(Page(alt_svc=f'h3=":{udp_port}"'), certificate) as port:
        checks = seen(f"https://localhost:{port}/", other)
    assert checks["HTTPS over TCP"].detail.startswith("its certificate is not trusted")
    assert "certificate" in checks["HTTPS over TCP"].fix


def test_a_certificate_that_only_the_edge_shows_wrongly_is_found_there(certificate: Path, tmp_path: Path) -> None:
    other = write_certificate(tmp_path, "other.test")
    with http3(Page(), other) as udp_port, https(Page(alt_svc=f'h3=":{udp_port}"'), certificate) as port:
        checks = seen(f"https://localhost:{port}/", certificate)
    assert failed(checks) == ["QUIC over UDP"]
    assert checks["QUIC over UDP"].detail.startswith("its certificate is not trusted")
    assert "--cert" in checks["QUIC over UDP"].fix


def test_a_certificate_that_ends_soon_is_told_before_it_does(certificate: Path) -> None:
    checks = examined(Page(), Page(), certificate, NOW + dt.timedelta(days=3650 - 10))
    assert failed(checks) == ["certificate"]
    assert "renew it" in checks["certificate"].fix


def test_another_page_over_http3_is_no_success(certificate: Path) -> None:
    checks = examined(Page(), Page(status=421), certificate)
    assert failed(checks) == ["HTTP/3"]
    assert "421 over HTTP/3, 200 over TCP" in checks["HTTP/3"].detail


def test_a_page_that_is_compressed_over_tcp_alone_is_no_success(certificate: Path) -> None:
    """nginx does not compress what a proxy asks for, unless it is told to."""
    checks = examined(Page(more={"content-encoding": "gzip"}), Page(), certificate)
    assert failed(checks) == ["HTTP/3"]
    assert "gzip_proxied any;" in checks["HTTP/3"].fix
    assert (
        failed(examined(Page(more={"content-encoding": "gzip"}), Page(more={"content-encoding": "br"}), certificate))
        == []
    )


@pytest.mark.parametrize(("leads", "is_well"), [("http://localhost:8080/a/", False), ("/a/", True), ("/b/", True)])
def test_a_redirect_to_where_the_edge_asks_is_no_success(certificate: Path, leads: str, is_well: bool) -> None:
    checks = examined(
        Page(status=301, more={"location": "/a/"}), Page(status=301, more={"location": leads}), certificate
    )
    assert failed(checks) == ([] if is_well else ["HTTP/3"])
    assert is_well or "absolute_redirect off;" in checks["HTTP/3"].fix


@pytest.mark.parametrize(("over_tcp", "over_quic"), [("/a/", "http://[half/"), ("http://[half/", "/a/")])
def test_a_redirect_that_leads_nowhere_is_told(certificate: Path, over_tcp: str, over_quic: str) -> None:
    checks = examined(
        Page(status=301, more={"location": over_tcp}), Page(status=301, more={"location": over_quic}), certificate
    )
    assert failed(checks) == ["HTTP/3"]
    assert "'http://[half/' leads nowhere" in checks["HTTP/3"].detail


def test_an_announced_host_that_can_be_none_gives_no_answer(certificate: Path) -> None:
    checks = examined(Page(alt_svc='h3="a..b:443"'), None, certificate)
    assert failed(checks) == ["QUIC over UDP"]


@pytest.mark.parametrize(
    ("url", "host", "path"),
    [
        ("https://müller.example/straße?q=ü y", "xn--mller-kva.example", "/stra%C3%9Fe?q=%C3%BC%20y"),
        ("https://[::1]/a%20b?c=[1]", "::1", "/a%20b?c=[1]"),
    ],
)
def test_names_and_paths_are_sent_as_browsers_send_them(url: str, host: str, path: str) -> None:
    page = HttpsPage.of(url)
    assert (page.host, page.path) == (host, path)


def test_contents_that_change_are_told_and_no_failure(certificate: Path) -> None:
    checks = examined(Page(), Page(body=b"<p>another"), certificate)
    assert failed(checks) == []
    assert "not the same as over TCP" in checks["HTTP/3"].detail


def test_without_a_server_on_tcp_the_edge_is_still_looked_for(certificate: Path) -> None:
    with http3(Page(), certificate) as udp_port:
        checks = seen(f"https://localhost:{udp_port}/", certificate)
    assert failed(checks) == ["HTTPS over TCP"]
    assert checks["QUIC over UDP"].ok


def test_a_name_without_an_address_ends_it() -> None:
    checks = seen("https://none.invalid/", None)
    assert list(checks) == failed(checks) == ["name"]


@pytest.mark.parametrize(
    "url",
    [
        "http://localhost/",
        "localhost",
        "https://",
        "https://localhost:99999/",
        "https://a..b/",
        f"https://{'x' * 64}/",
        "",
    ],
)
def test_what_is_no_https_address_is_refused_before_anything_is_asked(url: str) -> None:
    with pytest.raises(UsageError, match="address"):
        examine_edge(url, None, NOW)


def test_a_file_without_certificates_is_refused_before_anything_is_asked(tmp_path: Path) -> None:
    (tmp_path / "empty.pem").write_text("nothing")
    with pytest.raises(InputError, match="holds no certificates"):
        examine_edge("https://localhost/", tmp_path / "empty.pem", NOW)
