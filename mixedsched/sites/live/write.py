"""From watched loads to the folder of a site."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from mixedsched.sites.live.fuse import fuse
from mixedsched.sites.live.loads import Loads, require_page
from mixedsched.sites.live.votes import median_of
from mixedsched.sites.recorded import RecordingFacts, RecordingSummary, write_recording
from mixedsched.world.browser.observation import Observation


def write_loads(
    target: Path, loads: Loads, *, name: str, recorded_on: str, licence: str = "", replace: bool = False
) -> RecordingSummary:
    """Make the site of at least one load. recorded_on: the date, for people. Raises SiteError, as write_recording."""
    fused = fuse(loads.observations)
    first = loads.observations[0]
    facts = RecordingFacts(
        name=name,
        url=require_page(first).url,
        title=" ".join(first.title.split()),
        source=f"recorded from {first.url} on {recorded_on}",
        licence=licence,
        record={**_facts(loads, recorded_on), **fused.facts},
        notes=(*loads.missing, *fused.notes),
        left_out=fused.left_out,
    )
    return write_recording(target, fused.exchanges, facts, besides=fused.besides, replace=replace)


def _facts(loads: Loads, recorded_on: str) -> dict[str, Any]:
    """What a person wants to know of a recording later."""
    first = loads.observations[0]
    by_form_factor: dict[str, list[Observation]] = {}
    for item in loads.observations:
        by_form_factor.setdefault(item.form_factor, []).append(item)
    return {
        "date": recorded_on,
        "browser": f"Chromium {first.chromium_version}",
        "asked_for": first.url,
        "loads": {form_factor: len(items) for form_factor, items in by_form_factor.items()},
        "viewport_px": {form_factor: list(items[0].viewport_px) for form_factor, items in by_form_factor.items()},
        "median_ms": {form_factor: _medians(items) for form_factor, items in by_form_factor.items()},
    }


def _medians(observations: list[Observation]) -> dict[str, float | None]:
    return {
        "fcp": _rounded(median_of(item.fcp_ms for item in observations)),
        "lcp": _rounded(median_of(item.lcp_ms for item in observations)),
        "load": _rounded(median_of(item.load_ms for item in observations)),
    }


def _rounded(time_ms: float | None) -> float | None:
    return None if time_ms is None else round(time_ms, 1)
