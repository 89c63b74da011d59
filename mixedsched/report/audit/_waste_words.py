"""Sentences on what could be saved besides the order of delivery: what, why, how much it gains, and where to do it."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from mixedsched.advice.audit.result import Audit
from mixedsched.advice.audit.spared import PlayedWaste
from mixedsched.advice.changes.servers import WebServer
from mixedsched.advice.changes.waste import Moment, Waste, WasteKind
from mixedsched.units import format_bytes, format_duration, format_ms
from mixedsched.world.browser.kinds import Browser

_TITLES: Mapping[WasteKind, str] = {
    WasteKind.COMPRESSION: "Compress {names}",
    WasteKind.IMAGE_FORMAT: "Encode {names} as AVIF or WebP",
    WasteKind.IMAGE_SIZE: "Scale {names} to the size that is shown",
    WasteKind.UNUSED_STYLES: "Leave unused rules out of {names}",
    WasteKind.UNUSED_SCRIPTS: "Leave unused code out of {names}",
    WasteKind.BLOCKING_FONT: "Show text before {names} is there",
    WasteKind.CACHING: "Let browsers keep {names}",
    WasteKind.FIRST_BYTE: "Send the page sooner",
}
_IN_THE_FILES: Mapping[WasteKind, str] = {
    WasteKind.IMAGE_FORMAT: "offer both formats in a <picture>, or WebP alone: cwebp -q 80 in.png -o out.webp",
    WasteKind.IMAGE_SIZE: "offer several widths by srcset and sizes",
    WasteKind.UNUSED_STYLES: "keep what this page uses, and the rest in a file that other pages load",
    WasteKind.UNUSED_SCRIPTS: "keep what this page needs to be shown, and import() the rest when it is needed",
    WasteKind.BLOCKING_FONT: "write font-display: swap in its @font-face rule",
}
_MOMENTS: Mapping[Moment, str] = {
    Moment.LCP: "main content",
    Moment.TEXT: "first text",
    Moment.NEXT_VISIT: "main content of the next visit",
}


@dataclass(frozen=True, slots=True)
class WasteView:
    """A waste as people read it."""

    title: str
    why: str
    gains: str
    """By network, such as "slow-4g 1.2 s (18 %), 4g 0.3 s (9 %)"."""
    moment: str
    """What comes sooner."""
    advice: str
    """How to fix it in the site's own files; "" where the server must do it."""
    lines: str
    """What to write in the server's configuration; "" where that is not known, or not the place for it."""


def waste_view(item: PlayedWaste, server: WebServer | None) -> WasteView:
    """server: of the site, as far as it is known."""
    waste = item.waste
    gains = ", ".join(f"{name} {format_ms(ms)} ({item.gain_pct[name]:.0f} %)" for name, ms in item.gain_ms.items())
    title = _TITLES[waste.kind].format(names=waste.names)
    lines = server.remedy(waste.kind) if server is not None else ""
    return WasteView(title, _why(waste), gains, _MOMENTS[waste.moment], _IN_THE_FILES.get(waste.kind, ""), lines)


def no_waste_words(audit: Audit) -> str:
    """Why nothing is listed."""
    if audit.browser is not Browser.CHROMIUM:
        return f"Not looked for: it takes Lighthouse, which does not see loads in {audit.browser.brand}."
    return "Nothing that people would notice on these networks."


def waste_notes(audit: Audit) -> list[str]:
    """What was found and makes no difference here, and what could not be judged."""
    notes: list[str] = []
    if audit.browser is not Browser.CHROMIUM:
        return notes
    if audit.wastes.idle:
        idle = ", ".join(_TITLES[item.waste.kind].format(names=item.waste.names) for item in audit.wastes.idle)
        notes.append(f"Found, but without an effect on these networks in simulation: {idle}.")
    if not audit.wastes.knows_caching:
        notes.append(
            "Caching is not judged: the site's files do not show its server's header fields. Audit its address instead."
        )
    server_matters = any(item.waste.kind not in _IN_THE_FILES for item in audit.wastes.dear)
    if audit.server is None and server_matters:
        notes.append(
            "With --server nginx (or caddy, apache, h2o, litespeed, cloudflare) the report also gives the lines to write."
        )
    return notes


def header_note(audit: Audit) -> str:
    """Whether the response headers that are proposed have an effect on the owner's server; "" where there are none."""
    changes = audit.chosen.changes if audit.chosen is not None else ()
    if all(change.is_html for change in changes):
        return ""
    if audit.server is None:
        return (
            "Whether a priority header has an effect depends on the server: H2O and Cloudflare act on it, nginx and Caddy do "
            "not. Name yours with --server."
        )
    return f"{audit.server.title}: {audit.server.priority_words}."


def _why(waste: Waste) -> str:
    return _REASONS[waste.kind](waste)


def _text_uncompressed(waste: Waste) -> str:
    return f"text is sent uncompressed; compression would save {format_bytes(waste.wasted_bytes)}"


def _old_format(waste: Waste) -> str:
    return f"at the same quality, a newer format would save {format_bytes(waste.wasted_bytes)}"


def _too_large(waste: Waste) -> str:
    return f"{format_bytes(waste.wasted_bytes)} are pixels that no screen of this size shows"


def _unused(waste: Waste) -> str:
    return f"{format_bytes(waste.wasted_bytes)} of rules match nothing on this page, and all of it comes before the first paint"


def _idle_code(waste: Waste) -> str:
    return f"{format_bytes(waste.wasted_bytes)} of code did nothing while the page loaded"


def _invisible_text(waste: Waste) -> str:
    return f"text is invisible until its font is there, here for {format_ms(max(file.wait_ms for file in waste.files))}"


def _kept_briefly(waste: Waste) -> str:
    longest_s = max(file.cache_s for file in waste.files)
    how_long = f"keep this for {format_duration(longest_s)} at most" if longest_s else "not keep this"
    return f"browsers may {how_long}, so {format_bytes(waste.wasted_bytes)} are fetched again at the next visit"


def _slow_server(waste: Waste) -> str:
    return f"the server takes {format_ms(waste.files[0].wait_ms)} before it sends the first byte"


_REASONS: Mapping[WasteKind, Callable[[Waste], str]] = {
    WasteKind.COMPRESSION: _text_uncompressed,
    WasteKind.IMAGE_FORMAT: _old_format,
    WasteKind.IMAGE_SIZE: _too_large,
    WasteKind.UNUSED_STYLES: _unused,
    WasteKind.UNUSED_SCRIPTS: _idle_code,
    WasteKind.BLOCKING_FONT: _invisible_text,
    WasteKind.CACHING: _kept_briefly,
    WasteKind.FIRST_BYTE: _slow_server,
}
