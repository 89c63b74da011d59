"""References in style sheets: @import, @font-face and url(), found by tokens and replaced in place."""

import itertools
import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import tinycss2

from mixedsched.errors import SiteError
from mixedsched.model.request import ChromiumPriority, Flag, Kind
from mixedsched.sites.documents.dom import ImageCandidate, chosen
from mixedsched.sites.documents.references import DROP, Credentials, Reference, ReferenceRole, Visitor, normalised

# What Chromium can decode; the first such source of a face is the one it fetches.
_USABLE_FORMATS = {"woff2", "woff", "truetype", "opentype", "collection"}
_UNUSABLE_SUFFIXES = (".eot", ".svg")
_BASIC_LATIN = range(0x20, 0x7F)
_IMAGE_SETS = {"image-set", "-webkit-image-set"}
_DENSITIES = {"x": 1.0, "dppx": 1.0, "dpi": 1 / 96, "dpcm": 2.54 / 96}
_WITHOUT_CREDENTIALS = {
    "mask",
    "mask-image",
    "-webkit-mask",
    "-webkit-mask-image",
    "shape-outside",
}  # CSS Masking, Shapes
_CSS_SIGNS = str.maketrans({"(": "%28", ")": "%29", "'": "%27", '"': "%22"})  # they would end the URL
_SURROGATES = re.compile("[\ud800-\udfff]")  # an escape may spell one; CSS reads it as U+FFFD
_EMPTY_URL = "data:,"  # loads nothing and is valid wherever a URL is


def rewrite_css(text: str, visit: Visitor, origin: str, at: int = 0, flags: frozenset[Flag] = frozenset()) -> str:
    """Show every reference of a style sheet, or of a style attribute, to `visit`; return the text with its answers.

    Only the URLs are touched. at: offset of this text in the document around it. flags: go into every reference.
    Raises SiteError if a URL must change that is written with escapes, and for blocks nested hundreds deep.
    """
    text = normalised(text)
    edits: list[tuple[int, int, str]] = []
    starts = _line_starts(text)
    try:
        references = list(_references(tinycss2.parse_component_value_list(text)))
    except RecursionError as error:
        raise SiteError(f"{origin} cannot be read", why="its blocks are nested too deeply") from error
    for token, kind, role, credentials in references:
        start = starts[token.source_line - 1] + token.source_column - 1
        url = _url_of(token)
        where = text.find(url, start) if url else start
        place = at + max(where, start)
        priority = ChromiumPriority.LOW if kind is Kind.IMAGE else None  # until layout shows it is seen
        styled = kind is not Kind.STYLESHEET
        answer = visit(Reference(url, kind, place, role, flags, styled, priority, credentials))
        wanted = _EMPTY_URL if answer is DROP else answer
        if wanted == url:
            continue
        wanted = wanted.translate(_CSS_SIGNS)
        if where < 0:
            raise SiteError(f"{origin}: the URL '{url}' cannot be replaced", why="it is written with CSS escapes")
        edits.append((where, where + len(url), wanted))
    for begin, end, wanted in sorted(edits, reverse=True):
        text = text[:begin] + wanted + text[end:]
    return text


def _line_starts(text: str) -> list[int]:
    return [0, *itertools.accumulate(len(line) + 1 for line in text.split("\n"))]


def _url_of(token: Any) -> str:
    """The URL of a url() in either spelling, or of a string."""
    if token.type == "function":
        token = next(item for item in token.arguments if item.type == "string")
    return _SURROGATES.sub("\N{REPLACEMENT CHARACTER}", str(token.value))


def _is_url(token: Any) -> bool:
    if token.type == "function" and token.lower_name == "url":
        return any(item.type == "string" for item in token.arguments)
    return bool(token.type == "url")


def _references(tokens: Sequence[Any], inherited: str = "") -> Iterator[tuple[Any, Kind, ReferenceRole, Credentials]]:
    """Every reference of a token list and of the blocks in it, in order of appearance: (token, kind, role, credentials).

    inherited: the property that the tokens are part of a value of, if that is known.
    """
    remaining = iter(tokens)
    word, name = "", inherited  # the last identifier, and the property that it names if a colon follows
    for token in remaining:
        if token.type == "ident":
            word = token.lower_value
        elif token.type == "literal" and token.value in {":", ";"}:
            name = word if token.value == ":" else inherited
        if token.type == "at-keyword" and token.lower_value == "import":
            first = next((item for item in _until_semicolon(remaining) if item.type != "whitespace"), None)
            if first is not None and (first.type == "string" or _is_url(first)):
                yield first, Kind.STYLESHEET, ReferenceRole.LOAD, Credentials.INCLUDE
        elif token.type == "at-keyword" and token.lower_value == "namespace":
            list(_until_semicolon(remaining))  # names, not loads
        elif token.type == "at-keyword" and token.lower_value == "font-face":
            block = next((item for item in remaining if item.type == "{} block"), None)
            yield from _face_references(block.content if block is not None else [])
        elif _is_url(token):
            yield token, Kind.IMAGE, ReferenceRole.LOAD, _credentials_of(name)
        elif token.type == "function" and token.lower_name in _IMAGE_SETS:
            yield from ((item, Kind.IMAGE, role, _credentials_of(name)) for item, role in _choices(token.arguments))
        elif token.type == "function":
            yield from _references(token.arguments, name)
        elif token.type.endswith(" block"):
            yield from _references(token.content)


def _choices(arguments: Sequence[Any]) -> Iterator[tuple[Any, ReferenceRole]]:
    """The images of an image-set(), and which of them a phone fetches: as of a srcset."""
    images: list[tuple[Any, ImageCandidate]] = []
    for item in arguments:
        if item.type == "string" or _is_url(item):
            images.append((item, ImageCandidate("", "1x")))
        elif images and item.type == "dimension" and item.lower_unit in _DENSITIES:
            density = item.value * _DENSITIES[item.lower_unit]
            images[-1] = images[-1][0], ImageCandidate("", f"{density}x")
    choice = chosen([candidate for _, candidate in images])
    for item, candidate in images:
        yield item, ReferenceRole.LOAD if candidate is choice else ReferenceRole.SERVE


def _credentials_of(name: str) -> Credentials:
    """The credentials mode of images in a property."""
    return Credentials.SAME_ORIGIN if name in _WITHOUT_CREDENTIALS else Credentials.INCLUDE


def _until_semicolon(tokens: Iterable[Any]) -> list[Any]:
    return list(itertools.takewhile(lambda item: not (item.type == "literal" and item.value == ";"), tokens))


def _face_references(content: Sequence[Any]) -> Iterator[tuple[Any, Kind, ReferenceRole, Credentials]]:
    """The sources of one @font-face. Of several src descriptors the last counts, of its sources the first usable."""
    declarations = [
        item
        for item in tinycss2.parse_blocks_contents(content, skip_comments=True, skip_whitespace=True)
        if item.type == "declaration"
    ]
    sources = [item for item in declarations if item.lower_name == "src"]
    used = ReferenceRole.LOAD if _covers_basic_latin(declarations) else ReferenceRole.SERVE
    for declaration in sources:
        is_last = declaration is sources[-1]
        found = False
        for token, format_name in _face_sources(declaration.value):
            usable = is_last and not found and _is_usable(_url_of(token), format_name)
            found = found or usable
            yield token, Kind.FONT, used if usable else ReferenceRole.SPARE, Credentials.SAME_ORIGIN


def _face_sources(value: Sequence[Any]) -> Iterator[tuple[Any, str]]:
    """(url token, format name or "") of each url() in a src descriptor."""
    token, format_name = None, ""
    for item in value:
        if _is_url(item):
            token = item
        elif item.type == "function" and item.lower_name == "format":
            named = [part.value for part in item.arguments if part.type in {"string", "ident"}]
            format_name = str(named[0]).lower() if named else ""
        elif item.type == "literal" and item.value == ",":
            if token is not None:
                yield token, format_name
            token, format_name = None, ""
    if token is not None:
        yield token, format_name


def _is_usable(url: str, format_name: str) -> bool:
    if format_name:
        return format_name.removesuffix("-variations") in _USABLE_FORMATS
    return not url.partition("?")[0].partition("#")[0].lower().endswith(_UNUSABLE_SUFFIXES)


def _covers_basic_latin(declarations: Sequence[Any]) -> bool:
    """Whether a face without unicode-range, or with one that meets ASCII, is likely to be needed."""
    ranges = [
        token
        for item in declarations
        if item.lower_name == "unicode-range"
        for token in item.value
        if token.type == "unicode-range"
    ]
    return not ranges or any(item.start < _BASIC_LATIN.stop and item.end >= _BASIC_LATIN.start for item in ranges)
