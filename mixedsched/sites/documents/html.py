"""References in HTML: every attribute and style that makes a browser fetch something, seen and rewritten in order."""

import html
from collections.abc import Sequence
from dataclasses import replace

from selectolax.lexbor import LexborHTMLParser, LexborNode

from mixedsched.errors import SiteError
from mixedsched.model.request import ChromiumPriority, Flag, Kind, kind_of_destination
from mixedsched.sites.documents.css import rewrite_css
from mixedsched.sites.documents.dom import (
    ImageCandidate,
    elements,
    first_source,
    in_head,
    is_small,
    parse_srcset,
    picked,
    searchable,
    without_noscript,
)
from mixedsched.sites.documents.references import DROP, Credentials, Reference, ReferenceRole, Visitor, normalised

# Source: MIME Sniffing standard, JavaScript MIME types.
_SCRIPT_TYPES = {
    *("", "module", "text/jscript", "text/livescript", *(f"text/javascript1.{number}" for number in range(6))),
    *(f"{tree}/{name}" for tree in ("text", "application") for name in ("javascript", "ecmascript")),
    *(f"{tree}/x-{name}" for tree in ("text", "application") for name in ("javascript", "ecmascript")),
}
# Attributes other than those of script, link, img and source, which have rules of their own.
_PLAIN_ATTRIBUTES = {
    "iframe": ("src", Kind.DOCUMENT),
    "frame": ("src", Kind.DOCUMENT),
    "embed": ("src", Kind.OTHER),
    "object": ("data", Kind.OTHER),
    "track": ("src", Kind.MEDIA),
    "input": ("src", Kind.IMAGE),
    "image": ("href", Kind.IMAGE),
    "use": ("href", Kind.IMAGE),
}

_PRELOADED = {"fetch", "font", "image", "script", "style", "track"}  # by Chromium, and nothing else
# Blink hurries the first images that its preload scanner meets, small ones aside (confirmed with Chromium 156).
EARLY_IMAGES = 5
_TAGS = {"base", "script", "link", "img", "source", "style", "video", "audio", *_PLAIN_ATTRIBUTES}
_AFTER_TAG_NAME = frozenset(" \t\n/>")
_TAG_CHARACTERS = 100_000  # an attribute that is further from the beginning of its tag counts as found there
# Attributes that describe the file which an element names: no longer true when it names another one.
PROMISES = ("integrity", "crossorigin")


def rewrite_html(text: str, visit: Visitor, origin: str, promises: Sequence[str] = PROMISES) -> str:
    """Show every reference of an HTML document to `visit`; return the document with its answers.

    A dropped script, style sheet, image or frame leaves with its element. The text comes back untouched if nothing
    changed, else as the parser writes it. What is in noscript and template is not fetched, so it is not shown;
    noscript comes back empty from a change.
    origin: what errors call the document. promises: attributes to take away from elements whose URL changes.
    Raises SiteError for a base element, which would bend every reference, and for
    frames or styles nested hundreds deep.
    """
    try:
        return _Walk(normalised(text), visit, origin, promises).run()
    except RecursionError as error:
        raise SiteError(f"{origin.partition(',')[0]} cannot be read", why="its frames are nested too deeply") from error


class _Walk:
    """One pass over one document: the parsed tree, and a cursor in the text to tell where references stand."""

    def __init__(self, text: str, visit: Visitor, origin: str, promises: Sequence[str]) -> None:
        self._text = text
        self._lowered = searchable(text)
        self._visit = visit
        self._origin = origin
        self._promises = promises
        self._cursor = 0
        self._unwritten: set[str] = set()  # tags that do not occur behind the cursor: the parser made these elements
        self._changed = False
        self._images_seen = 0  # those that may be hurried
        self._saw_image = False
        self._dropped: list[LexborNode] = []

    def run(self) -> str:
        tree = LexborHTMLParser(without_noscript(self._text))
        assert tree.root is not None
        for node in list(elements(tree.root)):
            self._see(node)
        for node in reversed(self._dropped):  # children before their parents, and none while the walk goes on
            node.decompose()
        return (tree.html or "") if self._changed else self._text

    def _see(self, node: LexborNode) -> None:
        tag = node.tag or ""
        if tag not in _TAGS and not {"style", "srcdoc"} & node.attributes.keys():
            return
        self._cursor = self._find_tag(tag)
        match tag:
            case "base":
                raise SiteError(
                    f"{self._origin} has a base element",
                    why="it changes what every other reference means",
                    fix="write the references in full and take it out",
                )
            case "script":
                self._see_script(node)
            case "link":
                self._see_link(node)
            case "img":
                self._see_image(node)
            case "source":
                self._see_source(node)
            case "style":
                self._see_style_element(node)
            case "video" | "audio":
                if tag == "video":
                    self._attribute(node, "poster", _to(Kind.IMAGE))
                self._attribute(node, "src", _to(Kind.MEDIA, _media_role(node)))
            case _ if tag in _PLAIN_ATTRIBUTES:
                name, kind = _PLAIN_ATTRIBUTES[tag]
                self._attribute(node, name, _to(kind, _plain_role(node)))
                self._attribute(node, "xlink:href", _to(Kind.IMAGE))
        if "srcdoc" in node.attributes:
            self._see_frame_text(node)
        if "style" in node.attributes:
            self._see_style_attribute(node)

    def _find_tag(self, tag: str) -> int:
        """A place inside the next start tag of this name; the cursor if there is none."""
        found = self._lowered.find(f"<{tag}", self._cursor) if tag not in self._unwritten else -1
        while found >= 0 and self._lowered[found + len(tag) + 1 : found + len(tag) + 2] not in _AFTER_TAG_NAME:
            found = self._lowered.find(f"<{tag}", found + 1)
        if found < 0:
            self._unwritten.add(tag)
            return self._cursor
        return found + 1

    def _attribute(self, node: LexborNode, name: str, known: Reference) -> None:
        """Show the URL in an attribute; put the answer there, or take the element out. known: all but URL and offset."""
        url = node.attributes.get(name)
        if url is None:
            return
        credentials = _credentials_of(node, known.credentials)
        answer = self._visit(replace(known, url=url, offset=self._offset_of(url), credentials=credentials))
        if answer == url:
            return
        self._changed = True
        if answer is DROP and node.tag in {"video", "audio", "input"}:
            del node.attrs[name]  # the element means something without it
        elif answer is DROP:
            self._dropped.append(node)
        else:
            node.attrs[name] = answer
            for promise in self._promises:
                if promise in node.attributes:
                    del node.attrs[promise]

    def _offset_of(self, value: str) -> int:
        """The place of an attribute value of the current element, escaped or not; the element's place if it is not found."""
        for spelling in (value, html.escape(value, quote=False), html.escape(value)):
            found = self._text.find(spelling, self._cursor, self._cursor + _TAG_CHARACTERS + len(spelling))
            if spelling and found >= 0:
                return found
        return self._cursor

    def _see_script(self, node: LexborNode) -> None:
        type_name = (node.attributes.get("type") or "").partition(";")[0].strip().lower()
        if type_name not in _SCRIPT_TYPES:
            return
        flags = set()
        if "async" in node.attributes:
            flags.add(Flag.ASYNC)
        elif "defer" in node.attributes or type_name == "module":
            flags.add(Flag.DEFER)
        if in_head(node):
            flags |= {Flag.IN_HEAD} if flags else {Flag.IN_HEAD, Flag.CRITICAL}
        elif self._saw_image:
            flags.add(Flag.AFTER_FIRST_IMAGE)
        credentials = Credentials.SAME_ORIGIN if type_name == "module" else Credentials.INCLUDE
        is_for_others = "nomodule" in node.attributes and type_name != "module"  # browsers that know no modules
        role = ReferenceRole.SPARE if is_for_others else ReferenceRole.LOAD
        known = _to(Kind.SCRIPT, role, frozenset(flags), credentials=credentials)
        self._attribute(node, "src", known.hinted(node.attributes.get("fetchpriority")))

    def _see_link(self, node: LexborNode) -> None:
        relations = set((node.attributes.get("rel") or "").lower().split())
        if "stylesheet" in relations:
            self._see_style_link(node, is_alternate="alternate" in relations)
        elif relations & {"preload", "modulepreload"}:
            self._see_preload(node, is_module="modulepreload" in relations)
        elif relations & {"icon", "apple-touch-icon", "mask-icon"}:
            role = ReferenceRole.SERVE if "icon" in relations else ReferenceRole.SPARE
            self._attribute(node, "href", _to(Kind.IMAGE, role))
        elif "manifest" in relations:
            self._attribute(node, "href", _to(Kind.OTHER, ReferenceRole.SERVE, credentials=Credentials.OMIT))
        elif relations & {"prefetch", "prerender"}:
            self._attribute(node, "href", _to(Kind.OTHER, ReferenceRole.SERVE))
        elif relations & {"preconnect", "dns-prefetch"}:
            self._attribute(node, "href", _to(Kind.OTHER, ReferenceRole.CONTACT))

    def _see_preload(self, node: LexborNode, *, is_module: bool) -> None:
        destination = "script" if is_module else (node.attributes.get("as") or "").strip().lower()
        kind = kind_of_destination("empty" if destination == "fetch" else destination) or Kind.OTHER
        flags = frozenset({Flag.PRELOAD, Flag.IN_HEAD} if in_head(node) else {Flag.PRELOAD})
        credentials = Credentials.SAME_ORIGIN if is_module else Credentials.INCLUDE
        role = ReferenceRole.LOAD if destination in _PRELOADED else ReferenceRole.SPARE
        known = _to(kind, role, flags, credentials=credentials).hinted(node.attributes.get("fetchpriority"))
        href = node.attributes.get("href") or ""
        candidates = parse_srcset(node.attributes.get("imagesrcset") or "") if kind is Kind.IMAGE else []
        choice = picked(candidates, href)
        self._candidates(node, "imagesrcset", candidates, choice, known)
        is_other = choice is not None and choice.url != href
        self._attribute(node, "href", replace(known, role=ReferenceRole.SERVE) if is_other else known)

    def _see_style_link(self, node: LexborNode, is_alternate: bool) -> None:
        """Confirmed with Chromium 156: it fetches sheets that do not apply, last of all, but no disabled ones."""
        is_print = (node.attributes.get("media") or "").strip().lower() == "print"
        idle = is_alternate or is_print
        blocking = {Flag.IN_HEAD} if idle else {Flag.IN_HEAD, Flag.CRITICAL}
        flags = frozenset(blocking if in_head(node) else {Flag.LATE_BODY})
        role = ReferenceRole.SERVE if "disabled" in node.attributes else ReferenceRole.LOAD
        priority = ChromiumPriority.VERY_LOW if idle else None
        known = _to(Kind.STYLESHEET, role, flags, priority)
        self._attribute(node, "href", known.hinted(node.attributes.get("fetchpriority")))

    def _image(self, image: LexborNode) -> Reference:
        """A reference of an image element, whichever of its files it takes."""
        is_lazy = (image.attributes.get("loading") or "").lower() == "lazy"
        early = not is_lazy and not is_small(image) and self._images_seen < EARLY_IMAGES
        priority = ChromiumPriority.MEDIUM if early else ChromiumPriority.LOW
        known = _to(Kind.IMAGE, flags=frozenset({Flag.LAZY} if is_lazy else ()), chromium_priority=priority)
        return known.hinted(image.attributes.get("fetchpriority"))

    def _see_image(self, node: LexborNode) -> None:
        known = self._image(node)
        self._images_seen += Flag.LAZY not in known.flags and not is_small(node)
        self._saw_image = True
        candidates = parse_srcset(node.attributes.get("srcset") or "")
        outranked = node.parent is not None and first_source(node.parent) is not None
        src = node.attributes.get("src") or ""
        choice = None if outranked else picked(candidates, src)
        self._candidates(node, "srcset", candidates, choice, known)
        role = ReferenceRole.LOAD if choice is not None and choice.url == src else ReferenceRole.SERVE
        self._attribute(node, "src", replace(known, role=role))

    def _see_source(self, node: LexborNode) -> None:
        parent = node.parent
        candidates = parse_srcset(node.attributes.get("srcset") or "")
        is_choice = parent is not None and first_source(parent) == node
        image = parent.css_first("img") if parent is not None and is_choice else None
        known = self._image(image) if image is not None else _to(Kind.IMAGE)
        self._candidates(node, "srcset", candidates, picked(candidates) if is_choice else None, known)
        is_first = parent is not None and "src" not in parent.attributes and parent.css_first("source") == node
        role = _media_role(parent) if parent is not None and is_first else ReferenceRole.SERVE
        self._attribute(node, "src", _to(Kind.MEDIA, role))

    def _candidates(
        self,
        node: LexborNode,
        name: str,
        candidates: list[ImageCandidate],
        choice: ImageCandidate | None,
        known: Reference,
    ) -> None:
        """Show every URL of a srcset, in the attribute of that name; dropped ones leave the list, an empty list the element."""
        kept = []
        for item in candidates:
            role = ReferenceRole.LOAD if item == choice else ReferenceRole.SERVE
            offset, credentials = self._offset_of(item.url), _credentials_of(node, known.credentials)
            answer = self._visit(replace(known, url=item.url, offset=offset, role=role, credentials=credentials))
            if answer is not DROP:
                kept.append(f"{answer} {item.descriptor}".strip())
        if kept != [f"{item.url} {item.descriptor}".strip() for item in candidates]:
            self._changed = True
            if kept:
                node.attrs[name] = ", ".join(kept)
            else:
                del node.attrs[name]

    def _see_style_element(self, node: LexborNode) -> None:
        text = node.text(deep=True)
        begin = self._offset_of(text)
        flags = frozenset({Flag.IN_HEAD, Flag.CRITICAL} if in_head(node) else ())  # of what it imports
        rewritten = rewrite_css(text, self._visit, f"{self._origin}, style element", begin, flags)
        if rewritten != text:
            self._changed = True
            for child in list(node.iter(include_text=True)):
                child.decompose()
            node.insert_child(rewritten)

    def _see_style_attribute(self, node: LexborNode) -> None:
        text = node.attributes.get("style") or ""
        rewritten = rewrite_css(text, self._visit, f"{self._origin}, style attribute", self._offset_of(text))
        if rewritten != text:
            self._changed = True
            node.attrs["style"] = rewritten

    def _see_frame_text(self, node: LexborNode) -> None:
        text = node.attributes.get("srcdoc") or ""
        begin = self._offset_of(text)

        def visit(reference: Reference) -> str | None:
            flags = reference.flags - {Flag.IN_HEAD, Flag.CRITICAL}  # it holds up the frame alone
            return self._visit(replace(reference, offset=min(begin + reference.offset, len(self._text)), flags=flags))

        rewritten = rewrite_html(text, visit, f"{self._origin}, srcdoc", self._promises)
        if rewritten != text:
            self._changed = True
            node.attrs["srcdoc"] = rewritten


def _to(
    kind: Kind,
    role: ReferenceRole = ReferenceRole.LOAD,
    flags: frozenset[Flag] = frozenset(),
    chromium_priority: ChromiumPriority | None = None,
    credentials: Credentials = Credentials.INCLUDE,
) -> Reference:
    """A reference of which all but URL and offset is known."""
    return Reference("", kind, 0, role, flags, chromium_priority=chromium_priority, credentials=credentials)


def _media_role(media: LexborNode) -> ReferenceRole:
    """Of the source of a video or sound: whether any of it is fetched before somebody plays it."""
    waits = (media.attributes.get("preload") or "").strip().lower() == "none" and "autoplay" not in media.attributes
    return ReferenceRole.SERVE if waits else ReferenceRole.LOAD


def _plain_role(node: LexborNode) -> ReferenceRole:
    """A frame with a text of its own never asks for its address; subtitles are fetched once somebody wants them."""
    if node.tag == "iframe" and "srcdoc" in node.attributes:
        return ReferenceRole.SPARE
    is_wanted = node.tag != "track" or "default" in node.attributes
    return ReferenceRole.LOAD if is_wanted else ReferenceRole.SERVE


def _credentials_of(node: LexborNode, default: Credentials) -> Credentials:
    """The mode of an element's requests, by its attribute crossorigin or that of the video or audio element around it."""
    for place in (node, node.parent):
        if (
            place is not None
            and "crossorigin" in place.attributes
            and (place is node or place.tag in {"video", "audio"})
        ):
            asked = (place.attributes["crossorigin"] or "").strip().lower()
            if asked == "use-credentials":
                return Credentials.INCLUDE
            return default if default is Credentials.OMIT else Credentials.SAME_ORIGIN
    return default
