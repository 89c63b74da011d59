"""Small questions to a parsed HTML document, and the candidates of srcset attributes."""

import math
import re
import string
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from selectolax.lexbor import LexborHTMLParser, LexborNode

_SMALL_IMAGE_PX = 10_000  # Blink does not hurry images of at most this area
_LONGEST_SIZE = 9  # digits of a width or height that are worth reading
_PICTURE_TYPES = {"", "image/webp", "image/avif", "image/png", "image/jpeg", "image/gif", "image/svg+xml"}
_RAW = {"<!--": "-->", "<script": "</script", "<noscript": "</noscript"}  # opening -> closing
_RAW_BEGINS = re.compile("|".join(_RAW))
_LOWER = str.maketrans(string.ascii_uppercase, string.ascii_lowercase)


def elements(root: LexborNode) -> Iterator[LexborNode]:
    """All elements in document order, without comments and the like."""
    return (node for node in root.traverse(include_text=False) if (node.tag or "-")[0].isalpha())


def ascii_lower(text: str) -> str:
    """Letters A to Z in lower case, the rest as it is: unlike str.lower, this never changes a length."""
    return text.translate(_LOWER)


def searchable(text: str) -> str:
    """The text in lower case with blanks for comments and contents of scripts, so that only real tags are found."""
    lowered = ascii_lower(text)
    return _blanked(lowered, list(_raw_regions(lowered)))


def without_noscript(text: str) -> str:
    """The text with blanks inside noscript elements, which are mere text to a browser that runs scripts."""
    regions = [region for region in _raw_regions(ascii_lower(text)) if region.opening == "<noscript"]
    return _blanked(text, regions)


@dataclass(frozen=True, slots=True)
class _Region:
    """A stretch of text in which nothing is a tag: begin and end are offsets of what is inside."""

    opening: str
    begin: int
    end: int


def _raw_regions(lowered: str) -> Iterator[_Region]:
    """Insides of comments, scripts and noscript elements, in order. One that is never closed is left alone."""
    at = 0
    unclosed: set[str] = set()  # what is not closed once is not closed later
    while found := _RAW_BEGINS.search(lowered, at):
        opening, at = found[0], found.start() + 1
        if opening in unclosed:
            continue
        begin = found.start() if opening == "<!--" else lowered.find(">", at)
        end = lowered.find(_RAW[opening], begin) if begin >= 0 else -1
        if end < 0:
            unclosed.add(opening)
            continue
        yield _Region(opening, begin + 1, end)
        at = end


def _blanked(text: str, regions: list[_Region]) -> str:
    parts, at = [], 0
    for region in regions:
        parts += [text[at : region.begin], " " * (region.end - region.begin)]
        at = region.end
    return "".join([*parts, text[at:]])


def in_head(node: LexborNode) -> bool:
    """Whether it is in the head, where parsers put elements side by side."""
    return node.parent is not None and node.parent.tag == "head"


def has_icon(text: str) -> bool:
    """Whether a document names its icon. If not, browsers ask for /favicon.ico."""
    return LexborHTMLParser(text).css_first("link[rel~=icon]") is not None


def first_source(picture: LexborNode) -> LexborNode | None:
    """The source a picture takes: the first before its image with a srcset, of a type that Chromium knows, without a media
    condition. Many have a `data-srcset` instead, until a script finds that they are in view."""
    if picture.tag != "picture":
        return None
    for child in picture.iter():
        if child.tag == "img":
            return None
        known = (child.attributes.get("type") or "").strip().lower() in _PICTURE_TYPES
        has_images = bool(parse_srcset(child.attributes.get("srcset") or ""))
        if child.tag == "source" and known and has_images and "media" not in child.attributes:
            return child
    return None


def is_small(image: LexborNode) -> bool:
    """Whether its attributes say it is too small for Chromium to hurry."""
    width, height = (image.attributes.get(name) or "" for name in ("width", "height"))
    if not (width.isdecimal() and height.isdecimal()) or max(len(width), len(height)) > _LONGEST_SIZE:
        return False
    return int(width) * int(height) <= _SMALL_IMAGE_PX


# Lighthouse's phone: 412 CSS pixels wide at 1.75 device pixels each, images taken as wide as the screen.
_SCREEN_DENSITY = 1.75
_SCREEN_PX = 412 * _SCREEN_DENSITY
_DESCRIPTOR = re.compile(r"|0*[1-9][0-9]*w( [0-9]+h)?|([0-9]+(\.[0-9]+)?|\.[0-9]+)([eE][+-]?[0-9]+)?x")
_URL = re.compile(r"[^ \t\n\r\f,][^ \t\n\r\f]*")  # ends at ASCII white space only


@dataclass(frozen=True, slots=True)
class ImageCandidate:
    """One image of a srcset. descriptor: as written, "480w", "2x" or ""."""

    url: str
    descriptor: str = ""

    @property
    def is_valid(self) -> bool:
        """Whether browsers know its descriptor, and do not skip it."""
        return _DESCRIPTOR.fullmatch(self.descriptor) is not None

    @property
    def has_width(self) -> bool:
        return "w" in self.descriptor

    @property
    def fineness(self) -> float:
        """Image pixels per screen pixel; 1x where the descriptor says nothing usable."""
        try:
            amount = float(self.descriptor.partition(" ")[0][:-1])
        except ValueError:
            amount = 1.0
        amount = amount if 0 < amount < math.inf else 1.0
        return amount / (_SCREEN_PX if self.has_width else _SCREEN_DENSITY)


def parse_srcset(value: str) -> list[ImageCandidate]:
    """The candidates in order. Source: HTML standard, parsing a srcset attribute (without its obsolete descriptors)."""
    candidates, begin = [], 0
    while found := _URL.search(value, begin):
        url, begin = found[0], found.end()
        if url.endswith(","):
            candidates.append(ImageCandidate(url.rstrip(",")))
            continue
        end = value.find(",", begin)
        end = end if end >= 0 else len(value)
        candidates.append(ImageCandidate(url, " ".join(value[begin:end].split())))
        begin = end
    return candidates


def chosen(candidates: Sequence[ImageCandidate]) -> ImageCandidate | None:
    """The coarsest candidate that fills the screen, else the finest there is; None of none."""
    if not candidates:
        return None
    enough = [item for item in candidates if item.fineness >= 1]
    return min(enough, key=lambda item: item.fineness) if enough else max(candidates, key=lambda item: item.fineness)


def picked(candidates: Sequence[ImageCandidate], src: str = "") -> ImageCandidate | None:
    """The one that Chromium takes of a srcset. src: the element's other address, 1x where no candidate tells a width."""
    usable = [item for item in candidates if item.is_valid]
    has_widths = any(item.has_width for item in usable)
    return chosen([*usable, ImageCandidate(src)] if src and not has_widths else usable)
