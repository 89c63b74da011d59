"""Documents with the script of the beacon behind them: which may have it, and what changes in them."""

from __future__ import annotations

import gzip
import zlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mixedsched.core.h3.appending import (
    HEAD_BYTES,
    ScriptAppender,
    changed_fields,
    for_plain_document,
    forbidden_by,
    forbidden_within,
    is_plain_document,
    takes_gzip,
    wants_script,
)
from mixedsched.core.h3.response import RequestHead

SCRIPT = b"<script>1</script>"
NAVIGATION = {"sec-fetch-dest": "document", "accept-encoding": "gzip, br"}


def head(method: str = "GET", **changes: str) -> RequestHead:
    fields = {**NAVIGATION, **{name.replace("_", "-"): value for name, value in changes.items()}}
    return RequestHead(method, "x.test", "/", [(name.encode(), value.encode()) for name, value in fields.items()])


def test_navigations_have_it_and_nothing_else() -> None:
    assert wants_script(head())
    for other in (
        head("HEAD"),
        head("POST"),
        head(sec_fetch_dest="iframe"),
        head(sec_fetch_dest="empty"),
        head(range="bytes=0-5"),
        head(sec_purpose="prefetch;prerender"),
    ):
        assert not wants_script(other)


def test_an_origin_is_asked_for_the_document_without_a_coding() -> None:
    assert [value for name, value in for_plain_document(head()) if name == b"accept-encoding"] == [b"identity"]


@pytest.mark.parametrize(
    ("text", "takes"), [("gzip", True), ("br, gzip;q=0.5", True), ("br", False), ("gzip; q=0", False)]
)
def test_gzip_is_for_clients_that_take_it(text: str, takes: bool) -> None:
    assert takes_gzip(head(accept_encoding=text)) is takes


@pytest.mark.parametrize(
    ("fields", "is_plain"),
    [
        ({"content-type": "text/html; charset=utf-8"}, True),
        ({"content-type": "Text/HTML", "content-encoding": "identity"}, True),
        ({"content-type": "text/html", "content-encoding": "br"}, False),
        ({"content-type": "text/html; charset=UTF-16LE"}, False),
        ({"content-type": "application/xhtml+xml"}, False),
        ({"content-type": "text/html", "cache-control": "no-transform"}, False),
        ({"content-type": "text/html", "content-range": "bytes 0-1/5"}, False),
        ({}, False),
    ],
)
def test_it_goes_behind_html_in_ascii_supersets_that_may_be_changed(fields: dict[str, str], is_plain: bool) -> None:
    assert is_plain_document(200, [(name.encode(), value.encode()) for name, value in fields.items()]) is is_plain
    assert not is_plain_document(404, [(b"content-type", b"text/html")])


@pytest.mark.parametrize(
    ("policy", "directive"),
    [
        ("default-src 'self'", "default-src"),
        ("script-src 'self'", "script-src"),
        ("script-src 'unsafe-inline'; connect-src 'none'", "connect-src"),
        ("script-src 'unsafe-inline' 'nonce-abc'", "script-src"),
        ("script-src-elem 'self'; script-src 'unsafe-inline'", "script-src-elem"),
        ("sandbox allow-forms", "sandbox"),
        ("img-src 'self', script-src 'none'", "script-src"),
        ("connect-src https://api.example", "connect-src"),
        ("default-src 'self' 'unsafe-inline'", None),
        ("img-src 'none'; frame-ancestors 'none'", None),
        ("script-src 'unsafe-inline'; connect-src 'self'", None),
        ("sandbox allow-scripts", None),
        ("upgrade-insecure-requests", None),
    ],
)
def test_a_policy_that_forbids_the_script_or_its_report_is_found(policy: str, directive: str | None) -> None:
    assert forbidden_by([(b"content-security-policy", policy.encode())]) == directive
    assert forbidden_by([(b"content-security-policy-report-only", policy.encode())]) == directive
    quoted = policy.replace("'", "&#39;")
    for tag in (
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">',
        f"<META content='{quoted}' http-equiv=content-security-policy>",
    ):
        assert forbidden_within(b"<head><title>x</title>" + tag.encode()) == directive


def test_a_document_of_unfinished_tags_is_looked_through_once() -> None:
    """Its server has other pages to send."""
    tag = b"<meta http-equiv=content-security-policy "
    assert forbidden_within(tag * (HEAD_BYTES // len(tag))) is None
    assert forbidden_within(tag * 100 + b"content=\"script-src 'none'\">") == "script-src"


def test_fields_tell_of_the_bytes_that_are_sent() -> None:
    fields = [
        (b"content-type", b"text/html"),
        (b"content-length", b"100"),
        (b"etag", b'"abc"'),
        (b"accept-ranges", b"bytes"),
        (b"content-digest", b"sha-256=:x:"),
    ]
    assert dict(changed_fields(fields, 18, gzips=False)) == {
        b"content-type": b"text/html",
        b"content-length": b"118",
        b"etag": b'W/"abc"',
        b"vary": b"accept-encoding",
    }
    coded = dict(changed_fields([*fields, (b"vary", b"Accept-Encoding")], 18, gzips=True))
    assert b"content-length" not in coded
    assert coded[b"content-encoding"] == b"gzip"
    assert coded[b"vary"] == b"Accept-Encoding"


@given(st.lists(st.binary(max_size=3000), max_size=8), st.booleans())
def test_whatever_the_pieces_the_script_is_behind_them(pieces: list[bytes], gzips: bool) -> None:
    appender = ScriptAppender(SCRIPT, gzips)
    sent = [appender.feed(piece) for piece in pieces]
    whole = b"".join([*sent, appender.end()])
    document = gzip.decompress(whole) if gzips else whole
    assert document == b"".join(pieces) + (SCRIPT if appender.why_not is None else b"" if gzips else b" " * len(SCRIPT))


def test_every_piece_leaves_as_it_comes() -> None:
    appender = ScriptAppender(SCRIPT, gzips=True)
    reader = zlib.decompressobj(31)
    for piece in (b"<h1>first", b"</h1>second"):
        assert reader.decompress(appender.feed(piece)) == piece


@pytest.mark.parametrize("gzips", [True, False])
def test_a_document_that_forbids_it_itself_ends_as_long_as_was_told_without_it(gzips: bool) -> None:
    appender = ScriptAppender(SCRIPT, gzips)
    tag = b'<meta http-equiv="Content-Security-Policy" content="script-src \'self\'">'
    whole = appender.feed(tag) + appender.end()
    assert appender.why_not == "script-src"
    assert (gzip.decompress(whole) if gzips else whole) == tag + (b"" if gzips else b" " * len(SCRIPT))
