"""Names of hosts as browsers ask for them: in lower case, and in Punycode where they are not ASCII (RFC 3492)."""

from __future__ import annotations

import unicodedata


def ascii_host(name: str) -> str:
    """`Bücher.Test` -> `xn--bcher-kva.test`. What no name holds stays as it is."""
    return ".".join(_label(label) for label in name.split("."))


def _label(label: str) -> str:
    plain = unicodedata.normalize("NFKC", label.lower())
    if label.isascii():
        return plain
    if not all(sign.isalnum() or sign == "-" or unicodedata.combining(sign) for sign in plain):
        return label
    return plain if plain.isascii() else f"xn--{plain.encode('punycode').decode()}"
