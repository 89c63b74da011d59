"""Facts as rows for people: nested settings made flat, numbers with the unit that their name carries."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from mixedsched.units import format_bytes, format_duration, format_ms, format_rate


def fact_rows(facts: Mapping[str, object], prefix: str = "") -> list[tuple[str, str]]:
    """(name, value) of every leaf, in the order given: {"down": {"rate_bps": 2e6}} -> [("down: rate", "2 Mbit/s")]."""
    rows: list[tuple[str, str]] = []
    for key, value in facts.items():
        name = f"{prefix}: {key}" if prefix else str(key)
        if isinstance(value, Mapping):
            rows += fact_rows(value, name)
        else:
            rows.append(_told(name, value))
    return rows


def _told(name: str, value: object) -> tuple[str, str]:
    if isinstance(value, bool):
        return name.replace("_", " "), "yes" if value else "no"
    if name.endswith("_bps") and (value is None or isinstance(value, int | float)):
        return _without_unit(name), format_rate(value)
    if isinstance(value, int | float):
        for suffix, tell in (("_ms", format_ms), ("_bytes", format_bytes), ("_s", format_duration)):
            if name.endswith(suffix):
                return _without_unit(name), tell(value)
        if name.endswith("ratio"):
            return name.replace("_", " "), f"{value * 100:g} %"
        return name.replace("_", " "), f"{value:g}" if isinstance(value, float) else str(value)
    if isinstance(value, Sequence) and not isinstance(value, str):
        return name.replace("_", " "), ", ".join(str(item) for item in value) or "none"
    return name.replace("_", " "), "none" if value is None else str(value)


def _without_unit(name: str) -> str:
    return name.rpartition("_")[0].replace("_", " ") or name
