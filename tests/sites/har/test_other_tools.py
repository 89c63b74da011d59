"""HARs whose addresses are not spelt as browsers spell them, or that lack the one body that counts."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from mixedsched.model.request import Flag
from mixedsched.sites.documents.references import document_text
from mixedsched.sites.har import import_page, pages_of, read_har
from mixedsched.sites.har._bodies import text_bytes
from mixedsched.sites.recorded.records import RecordingSummary
from mixedsched.sites.site import load_built
from tests.sites.har.hars import PAGE, PARTS, Part, by_url, changed, chrome, entry_of, load, save, sitespeed


def written(folder: Path, har: object) -> RecordingSummary:
    log = read_har(save(folder, har))
    return import_page(log, pages_of(log)[0], lambda facts: (folder / "site", replace(facts, name="shop")))


@pytest.mark.parametrize(
    ("spelt", "url"),
    [
        ("https://SHOP.test:443/hero.png", "https://shop.test/hero.png"),
        ("HTTPS://shop.test/\u00fc.png", "https://shop.test/%C3%BC.png"),
        ("http://img.shop.test:80", "http://img.shop.test/"),
        ("http://img.shop.test?x", "http://img.shop.test/?x"),
        ("https://shop.test:8443/hero.png", "https://shop.test:8443/hero.png"),
    ],
)
def test_addresses_are_as_browsers_spell_them(tmp_path: Path, spelt: str, url: str) -> None:
    har = chrome()
    entry_of(har, "hero.png")["request"]["url"] = spelt
    assert url in by_url(load(tmp_path, har))


@pytest.mark.parametrize(
    ("reference", "asked"),
    [
        ("/my style.css?family=Open Sans|Roboto", "/my%20style.css?family=Open%20Sans|Roboto"),
        ("/stil-\u00fc.css", "/stil-%C3%BC.css"),
        ("//Shop.Test:443/style.css", "/style.css"),
    ],
)
def test_a_text_may_spell_an_address_otherwise_than_the_request(tmp_path: Path, reference: str, asked: str) -> None:
    html = PARTS[0].body.decode().replace('href="/style.css"', f'href="{reference}"')
    parts = (replace(PARTS[0], body=html.encode()), replace(PARTS[1], url=f"https://shop.test{asked}"), *PARTS[2:])
    found = by_url(load(tmp_path, chrome(parts)))
    assert found[f"https://shop.test{asked}"].flags == {Flag.IN_HEAD, Flag.CRITICAL}


@pytest.mark.parametrize("location", ["HTTPS://Shop.Test:443/", "https://shop.test", "\t/\n"])
def test_a_redirect_may_spell_its_target_otherwise(tmp_path: Path, location: str) -> None:
    har = chrome()
    hop = changed(har["log"]["entries"][0])
    hop["request"]["url"] = "https://shop.test/old"
    hop["startedDateTime"] = "2026-11-22T02:58:40.950Z"
    hop["response"].update({"status": 302, "redirectURL": "", "content": {"size": 0, "mimeType": "x-unknown"}})
    hop["response"]["headers"] = [{"name": "Location", "value": location}]
    har["log"]["pages"][0]["title"] = "https://shop.test/old"
    har["log"]["entries"].insert(0, hop)
    document = by_url(load(tmp_path, har))[PAGE]
    assert (document.found_by_url, document.found_how) == ("https://shop.test/old", "redirect")
    summary = written(tmp_path, har)
    assert (summary.url, summary.resources, summary.also_served) == (PAGE, len(PARTS), 1)


def test_documents_make_no_promise_of_bodies_that_the_har_lacks(tmp_path: Path) -> None:
    """Browsers would refuse the ones that are made up at their sizes."""
    har = chrome()
    content = entry_of(har, "shop.test/")["response"]["content"]
    for name, promise in (("style.css", "sha256-x"), ("app.js", "sha256-y")):
        content["text"] = content["text"].replace(f'{name}"', f'{name}" integrity="{promise}"')
    assert "sha256-x" in content["text"]
    assert "sha256-y" in content["text"]
    del entry_of(har, "app.js")["response"]["content"]["text"]
    summary = written(tmp_path, har)
    site = load_built(summary.folder)
    document = document_text(site, (0, "/"))
    assert "sha256-x" in document, "the style sheet is what it was"
    assert "sha256-y" not in document
    assert summary.rewritten == (), "no name of a host was changed"
    assert summary.notes[-1].startswith("integrity was taken out of 1 document ")


@pytest.mark.parametrize("hop", [True, False])
def test_a_page_whose_own_document_has_no_body_is_synthesised_whatever_its_frames_have(
    tmp_path: Path, hop: bool
) -> None:
    """A recording of it would be a document that refers to nothing."""
    frame = Part(
        "https://ads.test/f", "document", "iframe", "text/html", b"<p>frame", "VeryHigh", "VeryHigh", None, PAGE, "parser",
        at_ms=150,
    )  # fmt: skip
    har = sitespeed((*PARTS, frame))
    document = har["log"]["entries"][0]
    del document["response"]["content"]["text"]
    document["response"] |= {"headers": [{"name": "content-length", "value": "4000"}], "_transferSize": 4100}
    if hop:
        first = changed(document)
        first["request"]["url"] = "https://shop.test/old"
        first["response"] |= {"status": 301, "redirectURL": PAGE}
        first["response"]["content"] = {"size": 5, "mimeType": "text/html", "text": "moved"}
        har["log"]["entries"].insert(0, first)
    summary = written(tmp_path, har)
    assert summary.resources == len(PARTS) + 1
    assert any("all are synthesised" in note for note in summary.notes)
    assert b"hero.png" in (summary.folder / "www" / "0000.html").read_bytes()


def test_a_charset_that_is_for_host_names_does_not_keep_anybody_waiting() -> None:
    text = "".join(chr(0x4E00 + number * 7919 % 20_000) for number in range(60_000))
    assert text_bytes(text, "text/plain; charset=punycode", 1) == text.encode()
