"""Pages for simulations: small ones by hand, and random ones for properties."""

from __future__ import annotations

from functools import cache
from typing import Any

from hypothesis import strategies as st

from mixedsched.core.schedulers import SCHEMES
from mixedsched.model.page import PAGE_FORMAT, Page
from mixedsched.model.request import Flag, Kind
from mixedsched.model.scheme import ConfiguredScheme, configure
from mixedsched.world import catalog


@cache
def scheme(spec: str) -> ConfiguredScheme:
    return configure(spec, SCHEMES, catalog.load_mapping)


def resource(name: str, body_bytes: int, found: str = "", kind: str = "image", **more: Any) -> dict[str, Any]:
    """found: "parent", "parent@900" (at so many bytes), "parent!" (when requested); "" = by navigation."""
    parent, at, place = found.partition("@")
    when = "start" if not found else "bytes" if at else "requested" if found.endswith("!") else "complete"
    facts = {
        "id": name,
        "path": f"/{name}",
        "kind": kind,
        "body_bytes": body_bytes,
        "found_by": parent.rstrip("!") or None,
        "found_when": when,
        **more,
    }
    return {**facts, "found_at_bytes": int(place)} if at else facts


def page(*resources: dict[str, Any], name: str = "made-up") -> Page:
    return Page.from_dict({"format": PAGE_FORMAT, "name": name, "resources": list(resources)})


# Made once: to make and check a strategy takes longer than to draw from it.
_WAYS = st.sampled_from(["", "@", "!"])
_BODY_BYTES = st.sampled_from([0, 1, 700, 1400, 1401, 2800, 5000, 28_000]) | st.integers(0, 28_000)
_KINDS = st.sampled_from(list(Kind))
_HEADER_BYTES = st.sampled_from([0, 0, 300, 1400])
_DELAYS_MS = st.sampled_from([0, 0, 5, 10, 30, 33.3])
_FLAGS = st.sets(st.sampled_from(list(Flag)), max_size=3)


@st.composite
def pages(draw: st.DrawFn, most: int = 8) -> Page:
    """Up to `most` resources of up to 20 packets, found in every way, with every kind and flag."""
    listed: list[dict[str, Any]] = []
    for index in range(draw(st.integers(1, most))):
        parent = listed[draw(st.integers(0, index - 1))] if index else None
        found = ""
        if parent is not None:
            way = draw(_WAYS)
            place = draw(st.integers(0, parent["body_bytes"])) if way == "@" else ""
            found = f"{parent['id']}{way}{place}"
        listed.append(
            resource(
                f"r{index}",
                draw(_BODY_BYTES),
                found,
                "document" if not index else draw(_KINDS),
                header_bytes=draw(_HEADER_BYTES),
                delay_ms=draw(_DELAYS_MS),
                flags=sorted(draw(_FLAGS)),
            )
        )
    return page(*listed)
