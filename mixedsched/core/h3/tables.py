"""Tables of what is under way on a connection: many entries while a page loads, few or none while it is idle."""

from typing import Any

MANY = 16  # entries at once, from which on a table is worth being made smaller afterwards


def shrink(table: dict[int, Any]) -> None:
    """Give back the room of entries that are gone, which a dict keeps until it is cleared."""
    kept = tuple(table.items())
    table.clear()
    table.update(kept)
