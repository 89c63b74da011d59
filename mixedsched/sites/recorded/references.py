"""Finds the places in a document that spell out an address, in whatever form."""

import html
import re
from collections.abc import Container, Iterator
from urllib.parse import unquote, urljoin, urlsplit

from mixedsched.sites.site.paths import absolute

_SHORTEST_SPELLING = 3  # shorter ones occur by chance
_STEPS_UP_MAX = 40  # nobody writes more ../
_NAME_SIGNS = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-/%~")
_TOKEN = re.compile(r"""[^\s"'`()<>{},;|]{3,2000}""")
_PLAIN_PATH = re.compile(r"/(?!/)[^.]*(\.[^./][^.]*)*$")  # means the same to urljoin, which is slow
_LIKE_AN_ADDRESS = re.compile(r"/|\.\w{2,5}($|[?#&])")


def position_of(url: str, text: str, base_url: str) -> int | None:
    """The character at which a text first refers to `url`; None if it does not spell it out.

    base_url: what relative references in the text are relative to.
    """
    found = [at for spelling in _spellings(url, base_url) if (at := _find(spelling, text)) is not None]
    return min(found, default=None)


def addresses_in(text: str, base_url: str, wanted: Container[str]) -> dict[str, int]:
    """Which of some absolute URLs a text may refer to, each with the character where it is spelt first.

    For documents, style sheets and scripts alike: all that looks like an address is taken for one, so that the answer is to
    "does this text spell out that address", not a list of what is loaded.
    """
    places: dict[str, int] = {}
    origin = urljoin(base_url, "/").removesuffix("/")
    for match in _TOKEN.finditer(text):
        token = html.unescape(match[0]).replace("\\/", "/").removeprefix("url=").rpartition("=")[2]
        token = token if _LIKE_AN_ADDRESS.search(token) else match[0]
        if not _LIKE_AN_ADDRESS.search(token):
            continue
        try:
            url = f"{origin}{token}" if _PLAIN_PATH.match(token) else urljoin(base_url, token)
        except ValueError:  # half an IPv6 address
            continue
        address = url.partition("#")[0] if url.isascii() else absolute(token, base_url)
        if address in wanted:
            places.setdefault(address, match.start())
    return places


def _find(spelling: str, text: str) -> int | None:
    """The first place where the spelling stands by itself, not as a part of a longer one."""
    at = text.find(spelling)
    while at >= 0:
        before, after = text[at - 1 : at], text[at + len(spelling) : at + len(spelling) + 2]
        joined_before = before in _NAME_SIGNS or before == "." or before == "@"
        joined_after = after[:1] in _NAME_SIGNS or (after[:1] == "." and after[1:] in _NAME_SIGNS)
        if not (before and joined_before) and not (after and joined_after):
            return at
        at = text.find(spelling, at + 1)
    return None


def _spellings(url: str, base_url: str) -> Iterator[str]:
    seen: set[str] = set()
    for form in _forms(url, base_url):
        for spelling in (form, unquote(form), form.replace("&", "&amp;"), form.replace("/", "\\/")):
            if spelling not in seen and len(spelling) >= _SHORTEST_SPELLING:
                seen.add(spelling)
                yield spelling


def _forms(url: str, base_url: str) -> Iterator[str]:
    """The address in full and in every relative form that leads there."""
    yield url
    parts, base = urlsplit(url), urlsplit(base_url)
    yield url.removeprefix(f"{parts.scheme}:")
    if parts.netloc != base.netloc:
        return
    tail = url[len(f"{parts.scheme}://{parts.netloc}") :]
    yield tail
    folders = base.path.split("/")[:-1]
    for up in range(min(len(folders), _STEPS_UP_MAX)):
        folder = "/".join(folders[: len(folders) - up]) + "/"
        if tail.startswith(folder) and len(tail) > len(folder):
            yield "../" * up + tail[len(folder) :]
            if not up:
                yield "./" + tail[len(folder) :]
