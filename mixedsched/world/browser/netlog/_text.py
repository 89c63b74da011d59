"""Reads a NetLog's JSON one event at a time, in any layout, with memory for little more than one event; and its values, however
Chromium writes them: large numbers may be text or floating point, headers are lines.

Chromium writes the constants on the first line, then an event a line, then what it knew at the end. Other programs write it all
on one line, or indented. A browser that is killed stops anywhere.
"""

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any, TextIO

_CHUNK_CHARACTERS = 1 << 18
_VALUE_CHARACTERS_MOST = 1 << 26  # no event, nor all constants together, come near it
_NUMBERS_END = 1 << 62  # where QUIC's numbers end (RFC 9000 section 16), and times long before

_SPACE = re.compile(r"[ \t\r\n\ufeff]*")
# Possessive (*+), or each character of a long string without its end would be remembered, in many times its memory.
_MARKS = re.compile(r'"[^"\\]*+(?:\\.[^"\\]*+)*+"|[][{}"]', re.DOTALL)
_SCALAR = re.compile(r"[-+.\w]*")
_DECODER = json.JSONDecoder()


class NotALogError(ValueError):
    """The text is not a JSON object, or stops being JSON in the middle. The message is for people."""


class _CutOffError(Exception):
    """The text ended too early."""


class LogText:
    """The members of a NetLog's object, one after the other. truncated: after parts(), whether the end was missing."""

    def __init__(self, file: TextIO) -> None:
        self._file = file
        self._buffer = ""
        self._at = 0
        self._dropped = 0  # characters before the buffer
        self._ended = False
        self.truncated = False

    def parts(self) -> Iterator[tuple[str, Any]]:
        """(name, value) of every member, and of each item of the list `events`. Raises NotALogError."""
        try:
            if self._peek() != "{":
                raise NotALogError("it is not JSON, nor the beginning of a log")
            self._at += 1
            while self._peek() != "}":
                yield from self._member()
                if not self._comma("}"):
                    break
        except _CutOffError:
            self.truncated = True

    def _member(self) -> Iterator[tuple[str, Any]]:
        name = self._value()
        if not isinstance(name, str) or self._peek() != ":":
            raise self._not_json()
        self._at += 1
        if name != "events" or self._peek() != "[":
            yield name, self._value()
            return
        self._at += 1
        while self._peek() != "]":
            yield name, self._value()
            if not self._comma("]"):
                break
        self._at += 1

    def _comma(self, end: str) -> bool:
        """Whether another item may follow; one comma too many is accepted, as logs repaired by hand have it."""
        sign = self._peek()
        if sign == ",":
            self._at += 1
            return True
        if sign != end:
            raise self._not_json()
        return False

    def _peek(self) -> str:
        """The next character that is not a space, without consuming it."""
        while True:
            found = _SPACE.match(self._buffer, self._at)
            assert found is not None
            self._at = found.end()
            if self._at < len(self._buffer):
                return self._buffer[self._at]
            if not self._more():
                raise _CutOffError

    def _value(self) -> Any:
        self._peek()
        while True:
            try:
                value, end = _DECODER.raw_decode(self._buffer, self._at)
            except (ValueError, RecursionError):
                if not _is_open(self._buffer[self._at :]):
                    raise self._not_json() from None
            else:
                if end < len(self._buffer) or self._ended:  # else a number may go on
                    self._at = end
                    return value
            if len(self._buffer) - self._at > _VALUE_CHARACTERS_MOST:
                raise self._not_json()
            if not self._more() and _is_open(self._buffer[self._at :]):
                raise _CutOffError

    def _more(self) -> bool:
        """Read at least as much as is waiting, so that a long value is not tried too often. False at the end."""
        if self._ended:
            return False
        self._dropped += self._at
        waiting = self._buffer[self._at :]
        chunk = self._file.read(max(_CHUNK_CHARACTERS, len(waiting)))
        self._buffer, self._at = waiting + chunk, 0
        self._ended = not chunk
        return not self._ended

    def _not_json(self) -> NotALogError:
        return NotALogError(f"it is not JSON from character {self._dropped + self._at} on")


def _is_open(text: str) -> bool:
    """Whether an unreadable value may only lack its end: not everything that was opened is closed yet."""
    depth = 0
    if text[:1] not in ('"', "{", "["):
        return _SCALAR.fullmatch(text) is not None
    for mark in _MARKS.finditer(text):
        sign = mark.group()
        if sign == '"':
            return True  # of a string without its end
        depth += (sign in "{[") - (sign in "}]")
        if depth <= 0:
            return False
    return True


def facts_of(event: Mapping[str, Any]) -> tuple[int, int, Mapping[str, Any], float]:
    """Source, phase, parameters, and time in ms. Raises KeyError, TypeError or ValueError if it is not an event."""
    time_ms = float(event["time"])
    if not abs(time_ms) < _NUMBERS_END:
        raise ValueError(f"the time is {time_ms}")
    return whole(event["source"]["id"]), whole(event.get("phase", 0)), event.get("params") or {}, time_ms


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
    """A whole number that QUIC could carry. Raises ValueError or TypeError."""
    number = whole(value)
    if not 0 <= number < _NUMBERS_END:
        raise ValueError(f"{value} is negative, or too large")
    return number


def text_or_none(value: Any) -> str | None:
    return None if value is None else str(value)


def split_header(line: str) -> tuple[str, str]:
    """ ":path: /a" -> (":path", "/a"). A pseudo-header's own colon does not part it."""
    name, _, value = line.partition(": ")
    return name, value
