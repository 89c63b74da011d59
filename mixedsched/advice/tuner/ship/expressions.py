"""Patterns as regular expressions, for servers that are asked what the client wrote, or what that means. Pure.

Whatever is not a letter, a digit or one of `/ _ ~ -` is escaped by its number, so that no path, however hostile, can end a
string, a line or an expression.
"""

from __future__ import annotations

from mixedsched.advice.tuner.ship.patterns import Octet, octets, pieces

_HEX_EITHER_CASE = str.maketrans({letter: f"[{letter}{letter.lower()}]" for letter in "ABCDEF"})


def of_target(match: str) -> str:
    """For the request target as it was sent (path and query), every spelling of the path counting. Not anchored.

    The caller adds what follows a path: a query or the end. Dialect: PCRE.
    """
    return "[^? ]*".join("".join(map(_sent, octets(piece))) for piece in pieces(match))


def of_decoded(match: str) -> str:
    """For the path as it is decoded, anchored. Dialect: RE2 (Go), which reads UTF-8 and takes a wrong byte for U+FFFD."""
    return f"^{'.*'.join(_decoded(piece) for piece in pieces(match))}$"


def _sent(octet: Octet) -> str:
    plain = _literal(chr(octet.value)) if octet.may_be_plain else ""
    encoded = f"%{octet.value:02X}".translate(_HEX_EITHER_CASE) if octet.may_be_encoded else ""
    return f"(?:{plain}|{encoded})" if plain and encoded else plain or encoded


def _decoded(piece: str) -> str:
    body = bytes(octet.value for octet in octets(piece))
    return "".join(map(_literal, body.decode("utf-8", "surrogateescape")))


def _literal(sign: str) -> str:
    if sign.isascii():
        return sign if sign.isalnum() or sign in "/_~-" else rf"\{sign}" if sign == "." else rf"\x{ord(sign):02X}"
    if 0xD800 <= ord(sign) <= 0xDFFF:
        return "\N{REPLACEMENT CHARACTER}"
    return sign if sign.isprintable() else rf"\x{{{ord(sign):X}}}"
