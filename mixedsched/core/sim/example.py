"""A page of ten responses on which schemes differ: what `schemes` shows each of them with."""

from collections.abc import Mapping
from types import MappingProxyType

from mixedsched.core.sim.pipe import play_pipe
from mixedsched.core.sim.playback import Discoveries
from mixedsched.model.page import PAGE_FORMAT, Page
from mixedsched.model.scheme import ConfiguredScheme

_PACKET_BYTES = 1400

LEGEND: Mapping[str, str] = MappingProxyType(
    {
        "H": "main document",
        "C": "style sheet in the head",
        "S": "script in the head",
        "D": "deferred script",
        "I": "hero image",
        "J": "image below the fold",
        "K": "another one",
        "T": "script after the first image",
        "F": "font, found by C",
        "X": "XHR, sent by S",
    }
)

_FACTS = {
    "H": (4, "document", None, ["main", "critical"]),
    "C": (3, "stylesheet", ("H", 1), ["in_head", "critical"]),
    "S": (5, "script", ("H", 1), ["in_head", "critical"]),
    "D": (6, "script", ("H", 1), ["in_head", "defer"]),
    "I": (6, "image", ("H", 2), ["hero", "above_fold"]),
    "J": (6, "image", ("H", 3), []),
    "K": (6, "image", ("H", 3), []),
    "T": (3, "script", ("H", 4), ["after_first_image", "late_body"]),
    "F": (3, "font", ("C", None), []),
    "X": (2, "xhr", ("S", None), []),
}


def _resource(name: str) -> dict[str, object]:
    packets, kind, found, flags = _FACTS[name]
    facts: dict[str, object] = {
        "id": name,
        "path": f"/{name}",
        "kind": kind,
        "body_bytes": packets * _PACKET_BYTES,
        "flags": flags,
    }
    if found is None:
        return facts
    parent, packet = found
    facts |= {"found_by": parent, "found_when": "complete" if packet is None else "bytes"}
    return facts if packet is None else {**facts, "found_at_bytes": packet * _PACKET_BYTES}


def example_page() -> Page:
    """Ids are the letters of the legend, sizes whole packets; responses are found packet by packet, as on real pages."""
    return Page.from_dict(
        {"format": PAGE_FORMAT, "name": "example", "resources": [_resource(name) for name in LEGEND]}, "the example"
    )


def example_order(scheme: ConfiguredScheme) -> tuple[tuple[str, int], ...]:
    """The order in which a scheme puts the example's packets on an ideal wire, run by run."""
    return play_pipe(Discoveries.of(example_page()), scheme).order
