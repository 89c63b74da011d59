"""TOML from other people: read without surprises, and what its schema finds wrong in it told in words."""

import tomllib
from collections.abc import Callable
from typing import Any

from pydantic import ValidationError

from mixedsched.errors import InputError

MAX_FINDINGS = 10  # reported for one file
MAX_DOTS = (
    1_000  # in a line: more only a key of absurd depth has, and reading one takes time by the square of its depth
)


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


def wrong_keys(error: ValidationError) -> str:
    """Every wrong key with what is wrong with it, the first MAX_FINDINGS of them.

    Steps in parentheses are a schema's own tags: they stand in no file, and are not told.
    """
    items = error.errors(include_url=False, include_input=False)
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
    "model_type": _no_table,
    "model_attributes_type": _no_table,
    "dict_type": _no_table,
    "tuple_type": lambda _: "this must be a list",
    "too_short": lambda _: "this must not be empty",
    "union_tag_invalid": lambda context: (
        f"{context['discriminator'].strip(_QUOTE)} must be one of {context['expected_tags']}, not '{context['tag']}'"
    ),
}
