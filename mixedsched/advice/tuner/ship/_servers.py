"""Header rules as configuration for nginx, Caddy, H2O, Apache and LiteSpeed, and as a plain list for all others. Pure.

The files are templates (`templates/`). Whatever a page calls its files, it cannot add a line: comments stay comments (`plain`),
values are checked, and in patterns every sign but a letter, a digit or one of `/ _ ~ -` is escaped by its number, so that no
path can end a string, a line or an expression.
"""

import re
import textwrap
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import lru_cache
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined

from mixedsched.advice.tuner.result import HeaderRule, ServerSetting
from mixedsched.advice.tuner.ship._patterns import Octet, octets, pieces
from mixedsched.advice.tuner.ship.headers import Elsewhere
from mixedsched.units import few

SERVERS = ("nginx.conf", "Caddyfile", "h2o.conf", "apache.conf", "litespeed.conf", "nghttpx.conf")
"""Names of their files, and of the templates. Each begins with a line that says whether the header acts on that server."""
_VALUE = re.compile(r"u=[0-7](?:, i(?:=\?0)?)?|i(?:=\?0)?")
_SHOWN_IDS = 3
_LINE = 110


def server_file(name: str, rules: Sequence[HeaderRule]) -> str:
    """The file of one of SERVERS. Raises ValueError for a value that is not a priority."""
    return _rendered(name, rules)


def header_list(rules: Sequence[HeaderRule], elsewhere: Sequence[Elsewhere], hosts: Sequence[str]) -> str:
    """One rule a line. elsewhere: files of other hosts, as lines with the host's name before the path."""
    return _rendered("headers.txt", rules, elsewhere=elsewhere, hosts=hosts)


def setting_file(setting: ServerSetting, title: str) -> str:
    """The configuration of a setting that changes a server's order."""
    effect = f" Without it: {in_words(setting.effect_pct)}." if setting.effect_pct else ""
    about = f"Acts here. For {title}, in the server block with `listen ... quic`; its own default is {setting.usual}.{effect}"
    return f"{comment(about)}\n{setting.directive} {setting.value};\n"


def _rendered(name: str, rules: Sequence[HeaderRule], **values: Any) -> str:
    return _environment().get_template(f"{name}.j2").render(rules=list(_firsts(rules, str).values()), **values)


def _firsts(rules: Iterable[HeaderRule], spelt: Callable[[str], str]) -> dict[str, HeaderRule]:
    """By pattern, as the server has it: of several rules with one pattern only the first can fit."""
    found: dict[str, HeaderRule] = {}
    for rule in rules:
        found.setdefault(spelt(rule.match), rule)
    return found


@lru_cache
def _environment() -> Environment:
    found = Environment(  # noqa: S701  none of this is HTML
        loader=PackageLoader(__package__),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    found.filters.update(
        {each.__name__: each for each in (plain, comment, about, checked, of_target, of_path, urgency, in_ruby)}
    )
    found.globals.update(without_it=without_it, by_expression=lambda rules: _firsts(rules, of_decoded))
    return found


# Comments and values


def plain(text: str) -> str:
    """Text for a comment: one line, without what could end it, or go on to the next."""
    return "".join(sign if sign.isprintable() and sign != "\\" else "?" for sign in text)


def comment(text: str) -> str:
    """Lines of a comment, wrapped between words."""
    lines = textwrap.wrap(plain(text), _LINE - 2, break_long_words=False, break_on_hyphens=False)
    return "\n".join(f"# {line}" for line in lines) or "#"


def in_words(effect_pct: Mapping[str, float]) -> str:
    """As "+3.1 % (4g), -0.2 % (3g)"."""
    return ", ".join(f"{value:+.1f} % ({name})" for name, value in effect_pct.items())


def about(rule: HeaderRule) -> str:
    """A comment, as "a.jpg, b.jpg and 12 more; 5 images: later than the browser asks (u=2 i). Without it: +3.1 % (4g)"."""
    names = few(rule.covers, _SHOWN_IDS if len(rule.covers) > _SHOWN_IDS + 1 else len(rule.covers))
    return comment("; ".join(filter(None, [names, rule.why])) + without_it(rule))


def without_it(rule: HeaderRule) -> str:
    return f". Without it: {in_words(rule.effect_pct)}" if rule.effect_pct else ""


def checked(value: str) -> str:
    """A header value that means the same in every configuration language. Raises ValueError for any other."""
    if not _VALUE.fullmatch(value):
        raise ValueError(f"not a priority that can be shipped: {value!r}")
    return value


def urgency(value: str) -> str:
    """The urgency alone, for servers that have no more; the default where the value has none. Raises ValueError."""
    found = re.match(r"u=([0-7])", checked(value))
    return found[1] if found is not None else "3"


# Patterns as regular expressions

_HEX_EITHER_CASE = str.maketrans({letter: f"[{letter}{letter.lower()}]" for letter in "ABCDEF"})


def of_target(match: str) -> str:
    """For the request target as it was sent (path and query), in every spelling of the path. Not anchored.

    The caller adds what follows a path: a query or the end. Dialect: PCRE.
    """
    return "[^? ]*".join("".join(map(_sent, octets(piece))) for piece in pieces(match))


def of_decoded(match: str) -> str:
    """For the decoded path, anchored. Dialect: RE2 (Go), which reads UTF-8 and takes a wrong byte for U+FFFD."""
    return f"^{'.*'.join(_decoded(piece) for piece in pieces(match))}$"


def of_path(match: str) -> str:
    """For the decoded path, anchored, with or without its first slash. Dialect: PCRE by bytes, of one word without quotes."""
    found = ".*".join("".join(_byte(octet.value) for octet in octets(piece)) for piece in pieces(match))
    return f"^/?{found.removeprefix('/')}$"


def _byte(value: int) -> str:
    sign = chr(value)
    return _literal(sign) if sign.isascii() else rf"\x{value:02X}"


def _sent(octet: Octet) -> str:
    bare = _literal(chr(octet.value)) if octet.may_be_plain else ""
    encoded = f"%{octet.value:02X}".translate(_HEX_EITHER_CASE) if octet.may_be_encoded else ""
    return f"(?:{bare}|{encoded})" if bare and encoded else bare or encoded


def _decoded(piece: str) -> str:
    return "".join(map(_literal, _bytes(piece).decode("utf-8", "surrogateescape")))


def _literal(sign: str) -> str:
    if sign.isascii():
        return sign if sign.isalnum() or sign in "/_~-" else rf"\{sign}" if sign == "." else rf"\x{ord(sign):02X}"
    if 0xD800 <= ord(sign) <= 0xDFFF:
        return "\N{REPLACEMENT CHARACTER}"
    return sign if sign.isprintable() else rf"\x{{{ord(sign):X}}}"


def _bytes(piece: str) -> bytes:
    return bytes(octet.value for octet in octets(piece))


_HARMLESS = frozenset(b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789/._-")


def in_ruby(match: str) -> str:
    """A condition in Ruby. The length keeps beginning and end from being the same letters."""
    head, *tails = pieces(match)
    if not tails:
        return f"path == {_string(head)}"
    begins, ends = f"path.start_with?({_string(head)})", f"path.end_with?({_string(tails[0])})"
    if not head or not tails[0]:
        return ends if not head else begins
    return f"{begins} && {ends} && path.length >= {len(_bytes(head)) + len(_bytes(tails[0]))}"


def _string(piece: str) -> str:
    """A Ruby string in which only letters, digits and harmless signs stand for themselves."""
    return '"' + "".join(chr(item) if item in _HARMLESS else f"\\x{item:02X}" for item in _bytes(piece)) + '"'
