"""TOML from other people: read without surprises, and what its schema finds wrong in it told in words. And TOML for
people: values and tables as text that is read back.
"""

import json
import re
import tomllib
from collections.abc import Callable, Iterator, Mapping
from datetime import date
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError

from mixedsched.errors import InputError

S = TypeVar("S", bound=BaseModel)

MAX_FINDINGS = 10  # reported for one file
MAX_DOTS = (
    1_000  # in a line: more only a key of absurd depth has, and reading one takes time by the square of its depth
)
_BARE_KEY = re.compile(r"[A-Za-z0-9_-]+")


def parse_toml(text: str, origin: str, error_class: type[InputError]) -> dict[str, Any]:
    """The tables of a TOML text. origin: what errors call it. Raises error_class for all that cannot be read."""
    for number, line in enumerate(text.split("\n"), start=1):
        if line.count(".") > MAX_DOTS:
            raise error_class(f"{origin} is refused", why=f"line {number} has more than {MAX_DOTS} dots")
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise error_class(f"{origin} is not TOML", why=str(error)) from error
    except RecursionError as error:
        raise error_class(f"{origin} is refused", why="its lists or tables are nested too deeply") from error
    except ValueError as error:  # Python's limit for the digits of an integer; tomllib lets nothing else out
        raise error_class(f"{origin} is refused", why="it has an integer of thousands of digits") from error


def read_toml(text: str, origin: str, schema: type[S], error_class: type[InputError]) -> S:
    """A TOML text as its schema wants it. Raises error_class for all that cannot be read, or is not as the schema says."""
    try:
        return schema.model_validate(parse_toml(text, origin, error_class))
    except ValidationError as error:
        raise error_class(f"{origin} is refused", why=wrong_keys(error)) from error


def wrong_keys(error: ValidationError) -> str:
    """Every wrong key with what is wrong with it, the first MAX_FINDINGS of them.

    Steps in parentheses are a schema's own tags: they stand in no file, and are not told.
    """
    items = error.errors(include_url=False, include_input=False)
    # A list of which an item is wrong seems to have fewer: the item says it all.
    inner = {item["loc"][:depth] for item in items for depth in range(len(item["loc"]))}
    items = [item for item in items if item["type"] != "too_short" or item["loc"] not in inner]
    texts = []
    for item in items[:MAX_FINDINGS]:
        where = ".".join(str(step) for step in item["loc"] if not str(step).startswith("("))
        say = _WORDS.get(item["type"])
        what = item["msg"].removeprefix("Value error, ") if say is None else say(item.get("ctx", {}))
        texts.append(f"{where}: {what}" if where else what)
    if len(items) > MAX_FINDINGS:
        texts.append(f"and {len(items) - MAX_FINDINGS} more")
    return "; ".join(texts)


_QUOTE = "'"


def _no_table(_: dict[str, Any]) -> str:
    return "this must be a table"


# Where pydantic would speak of its own parts. By the type of its finding, from the finding's context.
_WORDS: dict[str, Callable[[dict[str, Any]], str]] = {
    "extra_forbidden": lambda _: "there is no such key",
    "unexpected_keyword_argument": lambda _: "there is no such key",
    "model_type": _no_table,
    "model_attributes_type": _no_table,
    "dict_type": _no_table,
    "tuple_type": lambda _: "this must be a list",
    "too_short": lambda _: "this must not be empty",
    "union_tag_invalid": lambda context: (
        f"{context['discriminator'].strip(_QUOTE)} must be one of {context['expected_tags']}, not '{context['tag']}'"
    ),
}


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
