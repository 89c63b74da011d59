"""Facts as rows for people: nested settings made flat, numbers with the unit that their name carries."""

from collections.abc import Callable, Mapping, Sequence

from mixedsched.model.profile import Direction, direction_text
from mixedsched.units import format_bytes, format_duration, format_ms, format_rate

_FORMATS: tuple[tuple[str, Callable[[float], str]], ...] = (
    ("_bps", format_rate),
    ("_us", lambda value: f"{value / 1000:g} ms"),  # delays of links, half of an odd round trip among them
    ("_ms", format_ms),
    ("_bytes", format_bytes),
    ("_s", format_duration),
)


def network_rows(link_facts: Mapping[str, object]) -> list[tuple[str, str]]:
    """The link in words: a row for each direction of Profile.facts(), then a row for each other fact."""
    rows = []
    rest = dict(link_facts)
    for name, label in (("down", "to the browser"), ("up", "to the server")):
        if isinstance(facts := link_facts.get(name), Mapping):
            rows.append((label, direction_text(Direction.from_facts(facts))))
            del rest[name]
    return rows + fact_rows(rest)


def has_random_losses(link_facts: Mapping[str, object]) -> bool:
    """Whether either direction of Profile.facts() loses packets by chance (overflowing queues do not count)."""
    directions = [facts for name in ("down", "up") if isinstance(facts := link_facts.get(name), Mapping)]
    return any(Direction.from_facts(facts).loss.mean_ratio > 0 for facts in directions)


def fact_rows(facts: Mapping[str, object], prefix: str = "") -> list[tuple[str, str]]:
    """(name, value) of every leaf, in the order given: {"disk": {"free_bytes": 2e9}} -> [("disk: free", "2 GB")]."""
    rows: list[tuple[str, str]] = []
    for key, value in facts.items():
        name = f"{prefix}: {key}" if prefix else str(key)
        if isinstance(value, Mapping):
            rows += fact_rows(value, name)
        else:
            rows.append(_row(name, value))
    return rows


def _row(name: str, value: object) -> tuple[str, str]:
    if isinstance(value, bool):
        return name.replace("_", " "), "yes" if value else "no"
    if value is None and name.endswith("_bps"):
        return _without_unit(name), format_rate(None)
    if isinstance(value, int | float):
        for suffix, form in _FORMATS:
            if name.endswith(suffix):
                return _without_unit(name), form(value)
        if name.endswith("ratio"):
            return name.replace("_", " "), f"{value * 100:g} %"
        return name.replace("_", " "), f"{value:g}" if isinstance(value, float) else str(value)
    if isinstance(value, Sequence) and not isinstance(value, str):
        return name.replace("_", " "), ", ".join(str(item) for item in value) or "none"
    return name.replace("_", " "), "none" if value is None else str(value)


def _without_unit(name: str) -> str:
    return name.rpartition("_")[0].replace("_", " ") or name
