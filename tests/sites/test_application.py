"""A live page: what is asked of an application before anything is started."""

from __future__ import annotations

import datetime as dt
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from mixedsched.core.h3.certificate import make_certificate
from mixedsched.errors import ExitCode, MixedschedError
from mixedsched.sites import application
from mixedsched.sites.application import LiveOptions, asks_for_password, open_application
from mixedsched.sites.site import site_digest
from tests.live_app import LiveApp, live_app

PLAIN = LiveOptions()


@pytest.fixture(scope="module")
def app() -> Iterator[LiveApp]:
    with live_app() as running:
        yield running


def refused(address: str, options: LiveOptions = PLAIN) -> tuple[ExitCode, str]:
    """The exit code of the refusal, and all that is said."""
    with pytest.raises(MixedschedError) as error:
        open_application(address, options)
    return error.value.exit_code, f"{error.value.what}; {error.value.why}; {error.value.fix}"


def test_a_page_of_an_application_is_a_site_that_browsers_open_over_https_under_the_same_name(app: LiveApp) -> None:
    site = open_application(f"{app.url}?page=2#part", PLAIN)
    assert site.url == "https://localhost/?page=2"
    assert site.hosts == ("localhost",)
    assert site.application is not None
    assert site.application.origin == f"http://localhost:{app.port}"
    assert site.application.authority == app.hosts[-1] == f"localhost:{app.port}", "asked for as without an edge"


def test_an_address_of_numbers_is_known_to_browsers_as_localhost(app: LiveApp) -> None:
    site = open_application(f"http://127.0.0.1:{app.port}/", PLAIN)
    assert site.url == "https://localhost/"
    assert site.application is not None
    assert site.application.authority == f"127.0.0.1:{app.port}"


@pytest.mark.parametrize(
    ("path", "said"),
    [
        ("private", "it wants a login (status 401)"),
        ("members", "it refuses access (status 403)"),
        ("moved", "/elsewhere"),
        ("text", "its type is text/plain, not HTML"),
        ("nothing", "it answers with status 404"),
        ("ä/日?ö=€", "it answers with status 404"),
    ],
)
def test_what_is_no_page_for_strangers_is_refused(app: LiveApp, path: str, said: str) -> None:
    code, words = refused(app.url + path)
    assert code is ExitCode.BAD_INPUT
    assert said in words


def test_a_page_that_asks_for_a_password_is_measured_with_a_warning(app: LiveApp) -> None:
    said: list[str] = []
    open_application(f"{app.url}form", PLAIN, said.append)
    assert len(said) == 1
    assert "asks for a password" in said[0]


@pytest.mark.parametrize(
    ("document", "asks"),
    [
        (b"<input type='password'>", True),
        (b"<INPUT name=p\ntype = PASSWORD>", True),
        (b"<input type=text><p>type=password", False),
        (b"<input type=passwords>", False),
        (b"<input " * 2_000_000, False),  # of millions of tags that are not closed, each is looked at once
        (b"<input " + b"type " * 2_000_000, False),
    ],
    ids=range(6),
)
def test_fields_for_passwords_are_found_in_any_document(document: bytes, asks: bool) -> None:
    assert asks_for_password(document) is asks


def test_where_nothing_listens_a_part_is_missing() -> None:
    with socket.create_server(("127.0.0.1", 0)) as unused:
        port = unused.getsockname()[1]
    code, words = refused(f"http://localhost:{port}/")
    assert code is ExitCode.MISSING_PART
    assert "start the application" in words
    assert refused("http://no-such-host.invalid/")[0] is ExitCode.MISSING_PART


@pytest.mark.parametrize(
    "address", ["agency", "ftp://localhost/", "http://", "http://me@localhost/", "http://192.0.2.1/"]
)
def test_what_is_no_address_of_this_machine_is_misused(address: str) -> None:
    assert refused(address)[0] is ExitCode.USAGE


@contextmanager
def something_else(*answer: bytes, stays: bool = False) -> Iterator[int]:
    """The port of a server that says this to whoever connects, in pieces with pauses. stays: it does not end the answer."""
    is_over = threading.Event()
    with socket.create_server(("127.0.0.1", 0)) as server:

        def serve() -> None:
            connection, _ = server.accept()
            with connection:
                connection.recv(1000)
                for piece in answer:
                    connection.sendall(piece)
                    time.sleep(0.2)
                if stays:
                    is_over.wait()

        thread = threading.Thread(target=serve)
        thread.start()
        yield server.getsockname()[1]
        is_over.set()
        thread.join()


PAGE = (
    b"HTTP/1.1 200 OK\r\ncontent-type: text/html\r\nconnection: close\r\n\r\n<!doctype html>",
    b"<form><input name=p ",
    b"type=password></form>",
)


def test_a_page_is_looked_at_to_its_end_however_many_pieces_it_comes_in() -> None:
    said: list[str] = []
    with something_else(*PAGE) as port:
        open_application(f"http://localhost:{port}/", PLAIN, said.append)
    assert len(said) == 1


def test_of_a_page_that_does_not_end_is_looked_at_what_has_come(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(application, "LOOK_S", 0.5)
    said: list[str] = []
    with something_else(b"".join(PAGE), stays=True) as port:
        open_application(f"http://localhost:{port}/", PLAIN, said.append)
    assert len(said) == 1


@pytest.mark.parametrize("answer", [b"220 mail.example ESMTP\r\n", b"\x15\x03\x01\x00\x02\x02\x46", b""])
def test_what_does_not_speak_http_is_refused(answer: bytes) -> None:
    with something_else(answer) as port:
        code, words = refused(f"http://localhost:{port}/")
    assert code is ExitCode.BAD_INPUT
    assert "does not speak HTTP" in words
    assert f"https://localhost:{port}/" in words


def test_an_application_without_tls_is_not_asked_by_https(app: LiveApp) -> None:
    code, words = refused(f"https://localhost:{app.port}/")
    assert code is ExitCode.BAD_INPUT
    assert "does not speak TLS" in words


def test_a_certificate_of_ones_own_is_taken_when_its_authority_is_named_or_nothing_must_be_proven(
    tmp_path: Path,
) -> None:
    certificate = tmp_path / "certificate.pem"
    certificate.write_text(make_certificate(["localhost"], dt.datetime.now(dt.UTC)).to_pem())
    with live_app(certificate=certificate) as app:
        address = f"https://localhost:{app.port}/"
        code, words = refused(address)
        assert code is ExitCode.BAD_INPUT
        assert "--origin-ca FILE" in words
        for options in (LiveOptions(ca=certificate), LiveOptions(verify=False)):
            assert open_application(address, options).url == "https://localhost/"


def test_other_rules_are_another_experiment(app: LiveApp, tmp_path: Path) -> None:
    digests = set()
    for value in ("", "/a.css u=0", "/a.css u=1"):
        rules = tmp_path / "rules.txt"
        rules.write_text(value)
        digests.add(site_digest(open_application(app.url, LiveOptions(rules=rules))))
    digests.add(site_digest(open_application(app.url, PLAIN)))
    assert len(digests) == 4
    rules.write_text("/a.css u=99")
    assert refused(app.url, LiveOptions(rules=rules))[0] is ExitCode.BAD_INPUT
