"""Rules of what is said of a page that may not be the one that was meant."""

from __future__ import annotations

import gzip
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from mixedsched.model.request import Kind
from mixedsched.sites.live import Loads, noticed, write_loads
from tests.sites.live.made import SHOP, body, document, load, request


def said(tmp_path: Path, html: str, *others: str, **facts: Any) -> list[str]:
    page = document(body=body(tmp_path, html), **facts)
    return noticed(load(page, *(request(url, Kind.SCRIPT) for url in others)))


@pytest.mark.parametrize(
    "html",
    ["<h1>Shop</h1>", "<p>About cookies and passwords</p>", "<input type=search>", "<div class=cmpany>x</div>", ""],
)
def test_of_an_ordinary_page_nothing_is_said(tmp_path: Path, html: str) -> None:
    assert said(tmp_path, html, "https://cdn.test/app.js") == []


@pytest.mark.parametrize("kind", ["password", "PASSWORD"])
def test_a_form_that_asks_for_a_password_is_told_with_the_way_on(tmp_path: Path, kind: str) -> None:
    (sentence,) = said(tmp_path, f"<form><input name=u><input type={kind}></form>")
    assert "asks for a password" in sentence
    assert "save a HAR" in sentence


@pytest.mark.parametrize("name", ["id=cookie-banner", "class='site-consent open'", "id=gdpr", "class=cmp-root"])
def test_an_element_named_for_consent_is_told(tmp_path: Path, name: str) -> None:
    (sentence,) = said(tmp_path, f"<h1>Shop</h1><div {name}>We value your privacy</div>")
    assert "consent to cookies" in sentence


def test_a_script_of_those_who_ask_for_consent_is_told_and_of_a_host_that_ends_alike_not(tmp_path: Path) -> None:
    assert len(said(tmp_path, "", "https://consent.cookiebot.com/uc.js")) == 1
    assert said(tmp_path, "", "https://notcookiebot.com/uc.js") == []


def test_an_address_that_leads_elsewhere_is_told_with_where(tmp_path: Path) -> None:
    first = replace(document(status=302), url=f"{SHOP}members")
    page = replace(document(redirected_from=0, body=body(tmp_path, "")), url=f"{SHOP}login?next=members")
    (sentence,) = noticed(load(first, page, url=f"{SHOP}members"))
    assert sentence == f"{SHOP}members redirected to {SHOP}login?next=members, which is what was loaded"
    assert noticed(load(replace(document(status=301), url="http://shop.test/"), document(redirected_from=0))) == []


def test_the_text_is_read_in_its_coding_and_a_damaged_one_says_nothing(tmp_path: Path) -> None:
    form = b"<input type=password>"
    assert len(noticed(load(document(body=body(tmp_path, gzip.compress(form)), encoding="gzip")))) == 1
    assert noticed(load(document(body=body(tmp_path, form), encoding="gzip"))) == []


def test_it_stays_with_the_recording(tmp_path: Path) -> None:
    page = document(body=body(tmp_path, "<form><input type=password></form>"))
    summary = write_loads(tmp_path / "site", Loads((load(page),)), name="shop", recorded_on="2026-11-24")
    assert any("asks for a password" in note for note in summary.notes)
