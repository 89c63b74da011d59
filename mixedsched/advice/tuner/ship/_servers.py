"""Header rules as configuration for nginx, Caddy, H2O and Apache, and as a plain list for all others. Pure.

Whatever a page calls its files, it cannot add a line: comments stay comments (`plain`), values are checked, and in patterns
every sign but a letter, a digit or one of `/ _ ~ -` is escaped by its number, so that no path can end a string, a line or an
expression.
"""

import re
from collections.abc import Callable, Mapping, Sequence

from mixedsched.advice.tuner.result import HeaderRule
from mixedsched.advice.tuner.ship._patterns import Octet, octets, pieces
from mixedsched.advice.tuner.ship.headers import Elsewhere

_VALUE = re.compile(r"u=[0-7](?:, i(?:=\?0)?)?|i(?:=\?0)?")
_SHOWN_IDS = 3
_LINE = 110

# Comments and values


def plain(text: str) -> str:
    """Text for a comment: one line, without what could end it, or go on to the next."""
    return "".join(sign if sign.isprintable() and sign != "\\" else "?" for sign in text)


def comment(text: str) -> list[str]:
    """Lines of a comment, wrapped between words."""
    lines, line = [], "#"
    for word in plain(text).split():
        if len(line) + 1 + len(word) > _LINE and line != "#":
            lines.append(line)
            line = "#"
        line += f" {word}"
    return [*lines, line]


def in_words(effect_pct: Mapping[str, float]) -> str:
    """As "+3.1 % (4g), -0.2 % (3g)"."""
    return ", ".join(f"{value:+.1f} % ({name})" for name, value in effect_pct.items())


def _head(how: str) -> list[str]:
    return [f"# {line}" for line in how.splitlines()]


def _about(rule: HeaderRule) -> list[str]:
    """A comment, as "a.jpg, b.jpg and 12 more; 5 images: later than the browser asks (u=2 i). Without it: +3.1 % (4g)"."""
    shown = rule.covers[:_SHOWN_IDS] if len(rule.covers) > _SHOWN_IDS + 1 else rule.covers
    more = len(rule.covers) - len(shown)
    names = ", ".join(shown) + (f" and {more} more" if more else "")
    return comment("; ".join(filter(None, [names, rule.why])) + _effect(rule))


def _effect(rule: HeaderRule) -> str:
    return f". Without it: {in_words(rule.effect_pct)}" if rule.effect_pct else ""


def _with_values(rules: Sequence[HeaderRule]) -> list[tuple[HeaderRule, str]]:
    """Rules with the checked value of each; of several with one pattern only the first can fit."""
    first: dict[str, HeaderRule] = {}
    for rule in rules:
        first.setdefault(rule.match, rule)
    return [(rule, _checked(rule.value)) for rule in first.values()]


def _checked(value: str) -> str:
    """A header value that means the same in every configuration language. Raises ValueError for any other."""
    if not _VALUE.fullmatch(value):
        raise ValueError(f"not a priority that can be shipped: {value!r}")
    return value


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


# nginx

VARIABLE = "$mixedsched_priority"
_NGINX = """\
Response priorities (RFC 9218 section 8) for nginx. Put this file beside your configuration and name it in the http block:
    include /etc/nginx/mixedsched.conf;
Where a server or location block has add_header lines of its own, nginx inherits none from above: repeat the last line of this
file there. If this machine serves other sites, too, move that line into the server block of this one.
nginx passes the header on and does not act on it itself, over HTTP/2 or HTTP/3. A CDN or proxy in front of it may.
"""


def nginx(rules: Sequence[HeaderRule]) -> str:
    """A file for the http block. It looks at requests as they were sent, so index, try_files and rewrites change nothing."""
    lines = [*_head(_NGINX), "", f"map $request_uri {VARIABLE} {{", '    default "";']
    for rule, value in _with_values(rules):
        lines += [f"    {line}" for line in _about(rule)]
        lines.append(f'    "~^{of_target(rule.match)}(?:\\?|$)" "{value}";')
    return "\n".join([*lines, "}", "", f"add_header priority {VARIABLE} always;"]) + "\n"


# Caddy

_CADDY = """\
Response priorities (RFC 9218 section 8) for Caddy 2. Put this file beside your Caddyfile as mixedsched.caddy, and write into it
    import mixedsched.caddy          at the top, outside of all blocks
    import mixedsched_priorities     inside the block of the site
Caddy passes the header on and does not act on it itself. Its newest versions follow, over HTTP/3, what browsers ask for, which
this header cannot override there. A CDN or proxy in front of it may act on it.
"""


def caddy(rules: Sequence[HeaderRule]) -> str:
    """A snippet, to be imported into a site block. The first line of the map that fits counts."""
    lines = [*_head(_CADDY), "", "(mixedsched_priorities) {"]
    lines.append("\tmap {http.request.orig_uri.path} {mixedsched_priority} {")
    seen: set[str] = set()
    for rule, value in _with_values(rules):
        expression = of_decoded(rule.match)
        if expression in seen:
            continue  # Caddy takes none twice, and an encoded slash is a slash to it
        seen.add(expression)
        lines += [f"\t\t{line}" for line in _about(rule)]
        lines.append(f'\t\t`~{expression}` "{value}"')
    lines += ['\t\tdefault ""', "\t}", '\t@mixedsched_priority not vars {mixedsched_priority} ""']
    lines += ["\theader @mixedsched_priority priority {mixedsched_priority}", "}"]
    return "\n".join(lines) + "\n"


# H2O

_H2O = """\
Response priorities (RFC 9218 section 8) for H2O with mruby. Put this file beside your configuration as mixedsched.yaml, and
name it in front of what serves the site:
    "/":
      - !file /etc/h2o/mixedsched.yaml
      - file.dir: /var/www/html      (or proxy.reverse.url, whatever stands there now)
H2O acts on the header itself: over HTTP/3 in full (since its change #3318), over HTTP/2 by raising what is more urgent.
Versions 2.2 and before, which have no HTTP/3, just pass it on.
"""
_H2O_BEGIN = """\
decode = lambda do |text|
  parts = text.split("%", -1)
  parts[1..-1].inject(parts[0]) { |done, part| done + part[0, 2].hex.chr + part[2..-1].to_s }
end
Proc.new do |env|
  path = env["SCRIPT_NAME"] + env["PATH_INFO"]
  path = decode.call(path) if path.include?("%")
  value = nil
"""
_H2O_END = """\
  [399, value ? { "priority" => value } : {}, []]  # 399: the next handler answers
end
"""
_HARMLESS = frozenset(b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789/._-")


def h2o(rules: Sequence[HeaderRule]) -> str:
    """A handler in YAML: an entry of the list of handlers of a path."""
    body = _H2O_BEGIN.splitlines()
    for index, (rule, value) in enumerate(_with_values(rules)):
        body += [f"  {line}" for line in _about(rule)]
        body += [f"  {'elsif' if index else 'if'} {_condition(rule.match)}", f'    value = "{value}"']
    body += ["  end"] if rules else []
    body += _H2O_END.splitlines()
    return "\n".join([*_head(_H2O), "mruby.handler: |", *(f"  {line}" for line in body)]) + "\n"


def _condition(match: str) -> str:
    """In Ruby. The length keeps beginning and end from being the same letters."""
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


# Apache

_APACHE = """\
Response priorities (RFC 9218 section 8) for Apache httpd 2.4 with mod_headers. Include this file in the virtual host of the
site, or copy it into its .htaccess (AllowOverride FileInfo). The last line that fits counts, so general ones come first.
Apache has no HTTP/3, and over HTTP/2 it passes the header on without acting on it. A CDN or proxy in front of it may.
"""


def apache(rules: Sequence[HeaderRule]) -> str:
    """Lines for a virtual host, a directory or .htaccess. They look at the request line as it was sent."""
    lines = [*_head(_APACHE), "", "<IfModule mod_headers.c>"]
    for rule, value in reversed(_with_values(rules)):
        lines += [f"    {line}" for line in _about(rule)]
        target = f"m#^[A-Z]+ (?:[a-z]+://[^/ ]+)?{of_target(rule.match)}[? ]#"
        lines.append(f'    Header always set priority "{value}" "expr=%{{THE_REQUEST}} =~ {target}"')
    return "\n".join([*lines, "</IfModule>"]) + "\n"


RENDERERS: Mapping[str, Callable[[Sequence[HeaderRule]], str]] = {
    "nginx.conf": nginx,
    "Caddyfile": caddy,
    "h2o.conf": h2o,
    "apache.conf": apache,
}

# People, other programs, and hosts that read a `_headers` file

_LIST = """\
Response header `priority` (RFC 9218 section 8) by path, for any server. The first pattern that fits counts; * stands for any
signs; queries do not matter. Columns, between tabs: pattern, value, files of the page.
"""


def header_list(rules: Sequence[HeaderRule], elsewhere: Sequence[Elsewhere], hosts: Sequence[str]) -> str:
    """One rule a line. elsewhere: files of other hosts, as lines with the host's name before the path."""
    lines = _head(_LIST)
    for rule, value in _with_values(rules):
        lines += comment(rule.why + _effect(rule))
        lines.append("\t".join((rule.match, value, ", ".join(map(plain, rule.covers)))))
    if elsewhere:
        lines += ["", *comment("Files of other hosts. Only these can send the header: ask them.")]
    for item in elsewhere:
        host = hosts[item.host] if item.host < len(hosts) else f"host {item.host}"
        lines.append("\t".join((plain(f"{host}{item.path}"), _checked(item.value), plain(item.id))))
    return "\n".join(lines) + "\n"
