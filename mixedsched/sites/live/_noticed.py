"""What a person would notice of a page that was loaded: that it may not be the page that was meant."""

import re
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

from selectolax.lexbor import LexborHTMLParser

from mixedsched.errors import MixedschedError
from mixedsched.sites.documents.references import decoded
from mixedsched.sites.live._loads import require_page
from mixedsched.sites.recorded.coding import decode_body
from mixedsched.world.browser.observation import Observation, ObservedRequest

# Names of elements that ask for consent, and hosts of those who sell such.
_CONSENT_NAME = re.compile(r"cookie|consent|gdpr|(?<![a-z])cmp(?![a-z])", re.IGNORECASE)
_CONSENT_HOST = re.compile(
    r"(?:^|\.)(?:cookiebot\.com|cookielaw\.org|onetrust\.com|usercentrics\.(?:com|eu)|didomi\.io|privacy-center\.org|"
    r"quantcast\.com|consensu\.org|trustarc\.com|cookieyes\.com|iubenda\.com|osano\.com|sourcepoint\.com|sp-prod\.net)$"
)
_MAY_ASK = "div, section, aside, dialog, form"


def noticed(observation: Observation) -> list[str]:
    """Sentences for people: it leads elsewhere, asks for a password, or for consent. Of a load that got its page."""
    document = require_page(observation)
    html = _tree_of(document)
    return [*_led_elsewhere(observation.url, document.url), *_login(html), *_consent(observation, html)]


def _tree_of(document: ObservedRequest) -> LexborHTMLParser:
    try:
        body = Path(document.body).read_bytes() if document.body is not None else b""
        return LexborHTMLParser(decoded(decode_body(body, document.encoding)))
    except (OSError, MixedschedError):
        return LexborHTMLParser("")


def _led_elsewhere(asked: str, found: str) -> Iterator[str]:
    before, after = urlsplit(asked), urlsplit(found)
    if (before.hostname, before.path or "/") != (after.hostname, after.path or "/"):
        yield f"{asked} redirected to {found}, which is what was loaded"


def _login(html: LexborHTMLParser) -> Iterator[str]:
    if html.css_first("input[type=password i]") is not None:
        yield (
            "the page asks for a password: pages behind it were not seen. To see them, save a HAR in your own browser "
            "when you are logged in, and pass its file instead of the address"
        )


def _consent(observation: Observation, html: LexborHTMLParser) -> Iterator[str]:
    hosts = {urlsplit(request.url).hostname or "" for request in observation.requests}
    names = (f"{node.attributes.get('id') or ''} {node.attributes.get('class') or ''}" for node in html.css(_MAY_ASK))
    if any(map(_CONSENT_HOST.search, hosts)) or any(map(_CONSENT_NAME.search, names)):
        yield "the page seems to ask for consent to cookies: it was seen as by a first visitor who has not answered"
