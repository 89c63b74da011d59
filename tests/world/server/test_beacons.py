"""The beacon in front of a site's files."""

from __future__ import annotations

import datetime as dt
import gzip
from email.utils import parsedate_to_datetime
from pathlib import Path

from mixedsched.core.h3.response import BodyLostError, BytesBody, RequestHead, Response
from mixedsched.core.learning.beacon import BEACON_PATH, SCRIPT
from mixedsched.world.server.beacons import BeaconFiles
from mixedsched.world.server.site import SiteEntry
from tests.world.server.asking import body_of, site_files, written

PAGE = b"<!doctype html><title>shop</title>" + b"<p>shop" * 50
WHOLE = PAGE + SCRIPT.encode()


class Asked:
    """A site with the beacon, and what was said of pages that do without."""

    def __init__(self, folder: Path) -> None:
        html = "text/html; charset=utf-8"
        policy = ((b"content-security-policy", (b"script-src 'none'",)),)
        entries = {
            "/": SiteEntry(written(folder, "index.html", PAGE), html),
            "/coded": SiteEntry(written(folder, "coded.html.gz", gzip.compress(PAGE)), html, "gzip"),
            "/odd": SiteEntry(written(folder, "odd.html.gz", b"no gzip"), html, "gzip"),
            "/strict": SiteEntry(written(folder, "index.html", PAGE), html, headers=policy),
            "/a.css": SiteEntry(written(folder, "a.css", b"p {}"), "text/css"),
        }
        self.said: list[str] = []
        self._files = BeaconFiles(site_files(entries), self.said.append)

    def __call__(self, path: str, method: str = "GET", **fields: str) -> tuple[Response, bytes]:
        given = {"sec-fetch-dest": "document", **{name.replace("_", "-"): value for name, value in fields.items()}}
        lines = [(name.encode(), value.encode()) for name, value in given.items()]
        response = self._files.respond(RequestHead(method, "x.test", path, lines))
        return response, body_of(response)


def fields(response: Response) -> dict[bytes, bytes]:
    return dict(response.fields)


def test_documents_have_the_script_behind_them_and_their_own_length(tmp_path: Path) -> None:
    asked = Asked(tmp_path)
    for path in ("/", "/coded", "/"):
        response, body = asked(path)
        assert body == WHOLE
        assert fields(response)[b"content-length"] == str(len(WHOLE)).encode()
        coded, body = asked(path, accept_encoding="gzip, br")
        assert gzip.decompress(body) == WHOLE
        assert fields(coded)[b"content-length"] == str(len(body)).encode()
        assert fields(coded)[b"content-encoding"] == b"gzip"


def test_its_weak_tag_holds_for_conditions_and_not_for_ranges(tmp_path: Path) -> None:
    asked = Asked(tmp_path)
    tag = fields(asked("/")[0])[b"etag"].decode()
    assert tag.startswith("W/")
    assert asked("/", if_none_match=tag)[0].status == 304
    assert asked("/", range="bytes=0-4", if_range=tag)[0].status == 200


def test_ranges_heads_and_all_that_is_no_document_are_as_without_it(tmp_path: Path) -> None:
    asked = Asked(tmp_path)
    assert asked("/", range="bytes=0-4")[1] == PAGE[:5]
    head, _ = asked("/", method="HEAD")
    assert fields(head)[b"content-length"] == str(len(PAGE)).encode()
    assert asked("/", sec_fetch_dest="iframe")[1] == PAGE
    assert asked("/a.css")[1] == b"p {}"
    assert asked("/none")[0].status == 404


def test_a_document_that_cannot_be_decoded_is_sent_as_it_is(tmp_path: Path) -> None:
    response, body = Asked(tmp_path)("/odd", accept_encoding="gzip")
    assert (response.status, body) == (200, b"no gzip")


class _Changing:
    """A site whose document is written while it is read, once."""

    def __init__(self) -> None:
        self.closed: list[bool] = []

    def respond(self, head: RequestHead) -> Response:
        body = _Lost(self.closed) if not self.closed else BytesBody(PAGE)
        return Response(200, [(b"content-type", b"text/html")], body, "text/html")


class _Lost(BytesBody):
    def __init__(self, closed: list[bool]) -> None:
        super().__init__(PAGE)
        self._closed = closed

    def read(self, size_bytes: int) -> bytes:
        raise BodyLostError("the file has changed while it was sent")

    def close(self) -> None:
        self._closed.append(True)


def test_a_document_that_changes_while_it_is_read_is_asked_for_again_without_the_script() -> None:
    site = _Changing()
    files = BeaconFiles(site, [].append)
    response = files.respond(RequestHead("GET", "x.test", "/", [(b"sec-fetch-dest", b"document")]))
    assert (body_of(response), site.closed) == (PAGE, [True])


def test_a_page_whose_policy_forbids_it_is_left_alone_and_that_is_said_once(tmp_path: Path) -> None:
    asked = Asked(tmp_path)
    for _ in range(2):
        assert asked("/strict")[1] == PAGE
    assert asked.said == ["'/strict' has no beacon: script-src of the page forbids its script or its report"]


def test_reports_are_posted_and_bounded(tmp_path: Path) -> None:
    asked = Asked(tmp_path)
    assert asked(f"{BEACON_PATH}?p=/", method="POST")[0].status == 204
    assert asked(BEACON_PATH)[0].status == 405
    assert asked(f"{BEACON_PATH}?{'x' * 5000}", method="POST")[0].status == 413
    assert asked(BEACON_PATH, method="POST", content_length="4097")[0].status == 413


def test_answers_to_reports_have_a_date(tmp_path: Path) -> None:
    """RFC 9110 section 6.6.1."""
    asked = Asked(tmp_path)
    for method in ("POST", "GET"):
        date = fields(asked(f"{BEACON_PATH}?p=/", method=method)[0])[b"date"].decode()
        assert abs(parsedate_to_datetime(date) - dt.datetime.now(dt.UTC)) < dt.timedelta(minutes=5)
