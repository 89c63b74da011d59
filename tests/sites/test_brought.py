"""A site may be an address or a HAR: it is brought once, and kept."""

from __future__ import annotations

import json
import os
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.error import HTTPError
from urllib.request import urlopen

import pytest

from mixedsched.errors import InputError, MixedschedError, SiteError, UsageError
from mixedsched.sites import brought
from mixedsched.sites.brought import bring, bring_whole
from mixedsched.sites.elsewhere import is_elsewhere
from mixedsched.sites.opening import open_site
from mixedsched.sites.pages import load_page
from mixedsched.world.server.plain import serving
from tests.command import run
from tests.sites.har.hars import chrome, save

PAGE = """<!doctype html><title>Shop</title><link rel="icon" href="data:,">
<link rel="stylesheet" href="style.css"><h1>WORD</h1>"""


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "cache"
    monkeypatch.setattr(brought.places, "writable_cache", lambda: folder)
    monkeypatch.setattr(brought, "LOADS", 1)
    monkeypatch.setattr(brought, "QUIET_S", 0.5)
    return folder


class Shop(BaseHTTPRequestHandler):
    """A page whose word can be changed, and addresses that are no pages."""

    word = "first"

    def do_GET(self) -> None:
        kinds = {
            "/": (200, "text/html", PAGE.replace("WORD", self.word)),
            "/style.css": (200, "text/css", "h1 { color: teal }"),
            "/paper.pdf": (200, "application/pdf", "%PDF-1.4"),
            "/broken": (500, "text/html", "sorry"),
            "/members": (401, "text/html", "who are you?"),
            "/login": (200, "text/html", "<form><input name=user><input type=password name=word></form>"),
        }
        status, mime, text = kinds.get(self.path, (404, "text/plain", "nothing"))
        if self.path == "/round":
            self.send_response(302)
            self.send_header("location", "/round")
        else:
            self.send_response(status)
            self.send_header("content-type", mime)
        self.send_header("content-length", str(len(text)))
        self.end_headers()
        self.wfile.write(text.encode())

    def log_message(self, *_: object) -> None:
        """Say nothing."""


@pytest.fixture
def shop() -> Iterator[str]:
    with ThreadingHTTPServer(("127.0.0.1", 0), Shop) as server:
        threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True).start()
        yield f"http://localhost:{server.server_port}"
        server.shutdown()
    Shop.word = "first"


def html_of(folder: Path) -> str:
    return next(folder.rglob("index.html")).read_text()


@pytest.mark.parametrize("name", ["https://shop.test", "HTTP://localhost:3000/a?b=c", "shop.har", "a/shop.HAR.gz"])
def test_addresses_and_archives_are_elsewhere(name: str) -> None:
    assert is_elsewhere(name)


@pytest.mark.parametrize("name", ["agency", "./shop", "shop.test", "page.json", "httpd", "-"])
def test_names_folders_and_page_files_are_here(name: str) -> None:
    assert not is_elsewhere(name)


def test_a_har_is_imported_once_and_again_when_it_has_changed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    said: list[str] = []
    file = save(tmp_path, chrome(), "shop.har")
    site = open_site(str(file), say=said.append)
    assert site.name == "shop-test"
    assert load_page(file).fingerprint == site.page.fingerprint
    assert len([line for line in said if line.startswith("importing")]) == 1
    monkeypatch.setattr(brought, "import_page", lambda *_, **__: pytest.fail("it is there"))
    assert open_site(str(file)).page == site.page
    file.write_text(f"{file.read_text()} ")
    with pytest.raises(pytest.fail.Exception, match="it is there"):
        open_site(str(file))


def test_a_har_can_be_looked_at_and_compared_as_a_site(tmp_path: Path) -> None:
    file = str(save(tmp_path, chrome(), "shop.har"))
    shown = run("sites", "show", file, "--json")
    assert json.loads(shown.stdout)["hosts"] == ["shop.test", "cdn.shop.test"], shown.stderr
    assert json.loads(run("sites", "diff", file, file, "--json").stdout)["unchanged"] == 7


def test_a_har_that_is_not_there_or_none_is_refused(tmp_path: Path, cache: Path) -> None:
    with pytest.raises(InputError, match="cannot read"):
        bring(str(tmp_path / "gone.har"), print)
    os.mkfifo(tmp_path / "pipe.har")
    with pytest.raises(InputError, match="it is not a file"):
        bring(str(tmp_path / "pipe.har"), print)
    (tmp_path / "bad.har").write_text("{}")
    with pytest.raises(MixedschedError):
        bring(str(tmp_path / "bad.har"), print)
    assert not any(cache.rglob("*"))


def test_a_har_of_a_page_that_failed_is_imported_and_that_is_said(tmp_path: Path) -> None:
    said: list[str] = []
    har = chrome()
    har["log"]["entries"][0]["response"]["status"] = 500
    bring(str(save(tmp_path, har, "shop.har")), said.append)
    assert "note: the page itself was answered with 500" in said


@pytest.mark.usefixtures("chromium")
def test_an_address_is_recorded_once_and_again_when_that_is_asked_for(shop: str) -> None:
    said: list[str] = []
    folder = bring(shop, said.append)
    assert "first" in html_of(folder)
    assert said[0].startswith(f"recording {shop}: 2 loads in Chromium")
    assert sum(line.startswith("load ") and "2 requests" in line for line in said) == 2
    Shop.word = "second"
    assert "first" in html_of(bring(f"{shop}#below", said.append)), "what is after # is no other page"
    assert "--fresh records it again" in said[-1]
    assert "second" in html_of(bring(shop, said.append, fresh=True))
    assert load_page(shop) == open_site(shop).page


@pytest.mark.usefixtures("chromium")
@pytest.mark.parametrize(
    ("path", "why"),
    [
        ("/broken", "status 500"),
        ("/missing", "status 404"),
        ("/members", "it wants a login"),
        ("/round", "redirects"),
        ("/paper.pdf", "not a page"),
    ],
)
def test_what_is_no_page_is_refused_in_words_and_leaves_nothing(shop: str, cache: Path, path: str, why: str) -> None:
    with pytest.raises(MixedschedError, match="cannot be recorded") as caught:
        bring(f"{shop}{path}", print)
    assert why in str(caught.value)
    assert not any(cache.rglob("*"))


@pytest.mark.usefixtures("chromium")
def test_a_page_behind_a_login_is_recorded_as_the_form_that_it_is_and_that_is_said(shop: str) -> None:
    said: list[str] = []
    bring(f"{shop}/login", said.append)
    assert any(line.startswith("warning: the page asks for a password") for line in said)


@pytest.mark.usefixtures("chromium")
def test_a_page_that_has_gone_since_stays_as_it_was(shop: str) -> None:
    folder = bring(shop, print)
    Shop.word = "x" * 100
    broken = shop.replace("localhost", "127.0.0.2")  # nothing listens there
    with pytest.raises(MixedschedError, match="cannot be recorded"):
        bring(broken, print, fresh=True)
    assert "first" in html_of(folder)


@pytest.mark.usefixtures("chromium")
def test_a_folder_that_refers_to_another_host_gets_what_it_lacks(shop: str, tmp_path: Path) -> None:
    folder = tmp_path / "Corner Shop"
    folder.mkdir()
    (folder / "index.html").write_text(PAGE.replace("style.css", f"{shop}/style.css").replace("WORD", "Welcome"))
    (tmp_path / "secret.txt").write_text("not for browsers")
    (folder / "way-out").symlink_to(tmp_path / "secret.txt")
    with pytest.raises(SiteError, match="refers to other hosts") as caught:
        open_site(str(folder))
    assert "--fetch" in caught.value.fix
    said: list[str] = []
    whole = bring_whole(folder, said.append)
    site = open_site(str(whole))
    assert (site.name, len(site.hosts), len(site.page.resources)) == ("corner-shop", 2, 2)
    assert bring_whole(folder, said.append) == whole
    assert "--fresh fetches it again" in said[-1]
    (folder / "index.html").write_text("<!doctype html><h1>Closed</h1>")
    assert bring_whole(folder, print) != whole


def test_a_folder_over_plain_http_shows_nothing_that_lies_outside(tmp_path: Path) -> None:
    inside = tmp_path / "inside"
    inside.mkdir()
    (inside / "page.html").write_text("here")
    (tmp_path / "secret.txt").write_text("secret")
    (inside / "link.txt").symlink_to(tmp_path / "secret.txt")
    with serving(inside) as port:
        assert urlopen(f"http://127.0.0.1:{port}/page.html").read() == b"here"
        for path in ("link.txt", "../secret.txt", "%2e%2e/secret.txt", "nothing"):
            with pytest.raises(HTTPError, match="404"):
                urlopen(f"http://127.0.0.1:{port}/{path}")


@pytest.mark.parametrize("address", ["https://me:secret@shop.test/", "https://[::1/", "http://shop.test/a b"])
def test_what_is_no_address_is_refused(address: str) -> None:
    with pytest.raises(UsageError, match="not the address of a page"):
        bring(address, print)


@pytest.mark.parametrize(("option", "word"), [("--fresh", "for addresses and HARs"), ("--fetch", "for folders")])
def test_options_that_make_no_sense_for_a_site_are_refused(option: str, word: str) -> None:
    refused = run("simulate", "davies-meenan", "--schemes", "eps", option)
    assert (refused.exit_code, word in refused.stderr) == (2, True)
