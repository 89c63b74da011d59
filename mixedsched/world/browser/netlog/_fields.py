"""How Chromium writes values: large numbers may be text or floating point, headers are lines."""

from typing import Any


def whole(value: Any) -> int:
    """A whole number, however it is written. Raises ValueError or TypeError."""
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        raise TypeError(f"{value!r} is not a number")
    if isinstance(value, int):
        return value
    if isinstance(value, str):
        try:
            return int(value)
        except ValueError:
            value = float(value)
    if not value.is_integer():
        raise ValueError(f"{value!r} is not a whole number")
    return int(value)


def count(value: Any) -> int:
    """A whole number from 0. Raises ValueError or TypeError."""
    number = whole(value)
    if number < 0:
        raise ValueError(f"{number} is negative")
    return number


def text_or_none(value: Any) -> str | None:
    return None if value is None else str(value)


def split_header(line: str) -> tuple[str, str]:
    """ ":path: /a" -> (":path", "/a"). A pseudo-header's own colon does not part it."""
    name, _, value = line.partition(": ")
    return name, value
