"""TOML for people: values and tables as text that `toml_file.parse_toml` reads back."""

import json
import re
from collections.abc import Iterator, Mapping
from datetime import date
from typing import Any

from mixedsched.model.toml_file import MAX_DOTS

_BARE_KEY = re.compile(r"[A-Za-z0-9_-]+")


def toml_key(name: str) -> str:
    """The name of a key, quoted where it must be."""
    return name if _BARE_KEY.fullmatch(name) else toml_value(name)


def toml_value(value: Any) -> str:
    """A value in one line: text, number, truth, date, list, or mapping (as an inline table, without its None).

    Raises TypeError for anything else.
    """
    if isinstance(value, str):
        return _string(value)
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int | float):
        return repr(value)  # inf and nan are TOML's words too
    if isinstance(value, date):  # also with a time
        return value.isoformat()
    if isinstance(value, Mapping):
        pairs = ((toml_key(str(key)), item) for key, item in value.items() if item is not None)
        return "{ " + ", ".join(f"{key} = {toml_value(item)}" for key, item in pairs) + " }"
    if isinstance(value, list | tuple):
        return "[" + ", ".join(map(toml_value, value)) + "]"
    raise TypeError(f"TOML has no {type(value).__name__}")


def toml_table(name: str, values: Mapping[str, Any]) -> Iterator[str]:
    """The lines of a table and of those in it, beginning with an empty one. What is None is left out."""
    yield ""
    yield f"[{name}]"
    inner = {key: item for key, item in values.items() if isinstance(item, Mapping)}
    for key, item in values.items():
        if key not in inner and item is not None:
            yield f"{toml_key(str(key))} = {toml_value(item)}"
    for key, item in inner.items():
        yield from toml_table(f"{name}.{toml_key(str(key))}", item)


def _string(text: str) -> str:
    """A string as JSON writes it, which TOML reads too, except for one character that JSON does not escape."""
    quoted = json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")
    return quoted.replace(".", "\\u002e") if quoted.count(".") > MAX_DOTS // 10 else quoted
