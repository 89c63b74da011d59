"""Conditional requests: what a client already has, or insists on (RFC 9110 section 13)."""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import Enum, auto

from mixedsched.core.h3.response import RequestHead
from mixedsched.world.server.dates import parse_http_date

_TAG = r'(W/)?"([\x21\x23-\x7e\x80-\xff]*)"'
_ONE_TAG = re.compile(_TAG)
_TAG_LIST = re.compile(rf"[ \t,]*{_TAG}(?:[ \t]*,[ \t,]*{_TAG})*[ \t,]*")


@dataclass(frozen=True, slots=True)
class Validators:
    """What tells one state of a representation from another. etag: quoted and strong. modified_s: seconds since 1970."""

    etag: str
    modified_s: int


class Verdict(Enum):
    """What the conditions of a request come to."""

    SEND = auto()
    NOT_MODIFIED = auto()  # 304: the client has it
    FAILED = auto()  # 412: it is not what the client insists on


def judge(head: RequestHead, current: Validators, now_s: float) -> Verdict:
    """Weigh the conditions of a GET or HEAD in the order of RFC 9110 section 13.2.2.

    A list of tags that is malformed matches nothing; a date that is none is ignored. now_s: the server's clock.
    """
    if (wanted := _value(head, b"if-match")) is not None:
        if not _lists(wanted, current.etag, strongly=True):
            return Verdict.FAILED
    elif (since_s := _date(head, b"if-unmodified-since", now_s)) is not None and current.modified_s > since_s:
        return Verdict.FAILED
    if (known := _value(head, b"if-none-match")) is not None:
        if _lists(known, current.etag, strongly=False):
            return Verdict.NOT_MODIFIED
    elif (since_s := _date(head, b"if-modified-since", now_s)) is not None and current.modified_s <= since_s:
        return Verdict.NOT_MODIFIED
    return Verdict.SEND


def range_applies(head: RequestHead, current: Validators, now_s: float) -> bool:
    """Whether If-Range, if there is one, lets a Range be honoured: same strong tag, or same and by now certain date."""
    value = _value(head, b"if-range")
    if value is None:
        return True
    tag = _ONE_TAG.fullmatch(value)
    if tag is not None:
        return value == current.etag
    # Within the second of a change another one could follow that the date would not show (RFC 9110 section 8.8.2.2).
    return parse_http_date(value, now_s) == current.modified_s and now_s >= current.modified_s + 1


def _value(head: RequestHead, name: bytes) -> str | None:
    lines = head.field_lines(name)
    return b", ".join(lines).decode("latin-1").strip(" \t") if lines else None


def _date(head: RequestHead, name: bytes, now_s: float) -> int | None:
    value = _value(head, name)
    return parse_http_date(value, now_s) if value is not None else None


def _lists(value: str, etag: str, *, strongly: bool) -> bool:
    """Whether a list of entity tags has this one. strongly: weak tags, W/"...", do not count."""
    if value == "*":
        return True
    if not _TAG_LIST.fullmatch(value):
        return False
    return any(f'"{tag[2]}"' == etag for tag in _ONE_TAG.finditer(value) if not (strongly and tag[1]))
