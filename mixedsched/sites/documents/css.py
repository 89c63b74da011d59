"""References in style sheets: @import, @font-face and url(), found by tokens and replaced in place."""

import itertools
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
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
# CSS Masking, Shapes
_WITHOUT_CREDENTIALS = {"mask", "mask-image", "-webkit-mask", "-webkit-mask-image", "shape-outside"}
_CSS_SIGNS = str.maketrans({"(": "%28", ")": "%29", "'": "%27", '"': "%22"})  # they would end the URL
_URL_BEGINS = re.compile(r"""(?:url\(\s*)?["']?""", re.IGNORECASE)
_SURROGATES = re.compile("[\ud800-\udfff]")  # an escape may spell one; CSS reads it as U+FFFD
_EMPTY_URL = "data:,"  # loads nothing and is valid wherever a URL is


@dataclass(frozen=True, slots=True)
class _CssReference:
    """A reference as tokens tell it."""

    token: Any
    kind: Kind
    role: ReferenceRole = ReferenceRole.LOAD
    credentials: Credentials = Credentials.INCLUDE


def rewrite_css(text: str, visit: Visitor, origin: str, at: int = 0, flags: frozenset[Flag] = frozenset()) -> str:
    """Show every reference of a style sheet, or of a style attribute, to `visit`; return the text with its answers.

    Only the URLs are touched. at: offset of this text in the document around it. flags: go into every reference.
    Raises SiteError if a URL must change that is written with escapes, and for blocks nested hundreds deep.
    """
    text = normalised(text)
    edits: list[tuple[int, int, str]] = []
    starts = _line_starts(text)
    try:
        references = list(_references(tinycss2.parse_component_value_list(text), is_top=True))
    except RecursionError as error:
        raise SiteError(f"{origin} cannot be read", why="its blocks are nested too deeply") from error
    for found in references:
        start = starts[found.token.source_line - 1] + found.token.source_column - 1
        url = _url_of(found.token)
        begins = _URL_BEGINS.match(text, start)
        where = begins.end() if begins is not None and text.startswith(url, begins.end()) else None
        place = at + (start if where is None else where)
        priority = ChromiumPriority.LOW if found.kind is Kind.IMAGE else None  # until layout shows it is seen
        styled = found.kind is not Kind.STYLESHEET
        answer = visit(Reference(url, found.kind, place, found.role, flags, styled, priority, found.credentials))
        wanted = _EMPTY_URL if answer is DROP else answer
        if wanted == url:
            continue
        if where is None:
            raise SiteError(f"{origin}: the URL '{url}' cannot be replaced", why="it is written with CSS escapes")
        edits.append((where, where + len(url), wanted.translate(_CSS_SIGNS)))
    parts, done = list[str](), 0
    for begin, end, wanted in sorted(edits):
        parts += [text[done:begin], wanted]
        done = end
    return "".join([*parts, text[done:]])


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


def _references(tokens: Sequence[Any], inherited: str = "", *, is_top: bool = False) -> Iterator[_CssReference]:
    """Every reference of a token list and of the blocks in it, in order of appearance.

    inherited: the property that the tokens are part of a value of, if that is known. is_top: whether they are a whole sheet.
    """
    remaining = iter(tokens)
    may_import = is_top  # only before all other rules (CSS Cascading, section 2)
    word, name = "", inherited  # the last identifier, and the property that it names if a colon follows
    for token in remaining:
        rule = token.lower_value if token.type == "at-keyword" else ""
        if token.type == "ident":
            word = token.lower_value
        elif token.type == "literal" and token.value in {":", ";"}:
            name = word if token.value == ":" else inherited
        if rule == "import":
            yield from _import(_rule(remaining)[0], is_valid=may_import)
        elif rule == "namespace":
            _rule(remaining)  # names, not loads
            may_import = False
        elif rule == "font-face":
            _, content = _rule(remaining)
            yield from _face_references(content)
            may_import = False
        elif rule == "media":
            prelude, content = _rule(remaining)
            found = _references(content)
            yield from map(_unshown, found) if _is_for_print(prelude) else found
            may_import = False
        elif _is_url(token):
            yield _CssReference(token, Kind.IMAGE, credentials=_credentials_of(name))
        elif token.type == "function" and token.lower_name in _IMAGE_SETS:
            for item, role in _choices(token.arguments):
                yield _CssReference(item, Kind.IMAGE, role, _credentials_of(name))
        elif token.type == "function":
            yield from _references(token.arguments, name)
        elif token.type.endswith(" block"):
            yield from _references(token.content)
            may_import = may_import and token.type != "{} block"


def _rule(remaining: Iterator[Any]) -> tuple[list[Any], Sequence[Any]]:
    """The rest of an at-rule: what stands before its block or semicolon, and what is in the block."""
    prelude: list[Any] = []
    for item in remaining:
        if item.type == "{} block":
            return prelude, item.content
        if item.type == "literal" and item.value == ";":
            break
        prelude.append(item)
    return prelude, ()


def _import(prelude: Sequence[Any], *, is_valid: bool) -> Iterator[_CssReference]:
    """The sheet that a rule imports, for whatever medium. Browsers skip the rule where it is not valid."""
    target = next((item for item in prelude if item.type not in {"whitespace", "comment"}), None)
    if target is not None and (target.type == "string" or _is_url(target)):
        yield _CssReference(target, Kind.STYLESHEET, ReferenceRole.LOAD if is_valid else ReferenceRole.SPARE)


def _is_for_print(media: Sequence[Any]) -> bool:
    """Whether a list of media queries names printers only: `print`, `only print and (color)`."""
    queries: list[list[str]] = [[]]
    for item in media:
        if item.type == "literal" and item.value == ",":
            queries.append([])
        elif item.type == "ident" and item.lower_value != "only":
            queries[-1].append(item.lower_value)
    return all(words[:1] == ["print"] for words in queries)


def _unshown(found: _CssReference) -> _CssReference:
    return replace(found, role=ReferenceRole.SERVE) if found.role is ReferenceRole.LOAD else found


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


def _face_references(content: Sequence[Any]) -> Iterator[_CssReference]:
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
            yield _CssReference(token, Kind.FONT, used if usable else ReferenceRole.SPARE, Credentials.SAME_ORIGIN)


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
