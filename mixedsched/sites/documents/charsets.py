"""The charsets of texts, as content types and documents name them."""

import codecs
import re
from email.message import Message

# Python knows more codecs, which are none of texts: some write escapes, some are for host names and slow with long texts.
_OF_TEXTS = re.compile(
    r"ascii|big5\w*|cp\d+|euc_\w+|gb\w+|iso(2022_|8859-)\w+|koi8-[ru]|mac-\w+|shift_\w+|tis-620|utf-(8|16|32)(-\w+)?"
)
_TOLD = re.compile(rb"""charset\s*=?\s*["']?([\w.:-]{1,40})""", re.IGNORECASE)
_TOLD_WITHIN_BYTES = 1024  # as far as browsers look
_MIME_MOST = 1000  # characters of a content type; parsing takes time beyond its length
_TO_BROWSERS = {"ascii": "cp1252", "iso8859-1": "cp1252"}  # Encoding standard, names and labels


def charset_of(mime: str) -> str:
    """The charset that a content type names; "" if it names none."""
    field = Message()
    field["content-type"] = mime[:_MIME_MOST].replace("\n", " ").replace("\r", " ")
    charset = field.get_param("charset")
    return charset if isinstance(charset, str) and "\0" not in charset else ""


def codec_of(charset: str) -> str | None:
    """Python's name of a charset; None if it is not known."""
    try:
        name = codecs.lookup(charset).name
    except (LookupError, ValueError):
        return None
    return name if _OF_TEXTS.fullmatch(name) else None


def fallback_of(body: bytes, mime: str) -> str:
    """The codec of a document that is neither UTF-8 nor has a mark: what its content type names, else itself, else a guess.

    The guess is Windows-1252, as browsers guess. UTF-16 that has no mark is not told from other bytes.
    """
    told = _TOLD.search(body, 0, _TOLD_WITHIN_BYTES)
    codec = codec_of(charset_of(mime) or (told[1].decode() if told else "")) or "cp1252"
    return "cp1252" if codec.startswith("utf") else _TO_BROWSERS.get(codec, codec)
