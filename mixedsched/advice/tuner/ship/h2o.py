"""Header rules as configuration for H2O. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from mixedsched.advice.tuner.ship.lines import HeaderRule
from mixedsched.advice.tuner.ship.patterns import octets, pieces
from mixedsched.advice.tuner.ship.writing import about, comment, with_values

_HOW = """\
Response priorities (RFC 9218 section 8) for H2O with mruby. Put this file beside your configuration as mixedsched.yaml, and
name it in front of what serves the site:
    "/":
      - !file /etc/h2o/mixedsched.yaml
      - file.dir: /var/www/html      (or proxy.reverse.url, whatever stands there now)
H2O acts on the header itself: over HTTP/3 in full (since its change #3318), over HTTP/2 by raising what is more urgent.
Versions 2.2 and before, which have no HTTP/3, just pass it on.
"""
_READ = """\
decode = lambda do |text|
  parts = text.split("%", -1)
  parts[1..-1].inject(parts[0]) { |done, part| done + part[0, 2].hex.chr + part[2..-1].to_s }
end
Proc.new do |env|
  path = env["SCRIPT_NAME"] + env["PATH_INFO"]
  path = decode.call(path) if path.include?("%")
  value = nil
"""
_TELL = """\
  [399, value ? { "priority" => value } : {}, []]  # 399: the next handler answers
end
"""
_HARMLESS = frozenset(b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789/._-")


def render(rules: Sequence[HeaderRule]) -> str:
    """A handler, in YAML: an entry of the list of handlers of a path."""
    lines = [f"# {line}" for line in _HOW.splitlines()]
    body = _READ.splitlines()
    for index, (rule, value) in enumerate(with_values(rules)):
        body += [f"  {line}" for line in comment(about(rule))]
        body += [f"  {'elsif' if index else 'if'} {_condition(rule.match)}", f'    value = "{value}"']
    body += ["  end"] if rules else []
    body += _TELL.splitlines()
    return "\n".join([*lines, "mruby.handler: |", *(f"  {line}" for line in body)]) + "\n"


def _condition(match: str) -> str:
    """In Ruby. The length keeps beginning and end from being the same letters."""
    head, *tails = pieces(match)
    if not tails:
        return f"path == {_string(head)}"
    begins, ends = f"path.start_with?({_string(head)})", f"path.end_with?({_string(tails[0])})"
    if not head or not tails[0]:
        return ends if not head else begins
    return f"{begins} && {ends} && path.length >= {len(_bytes(head)) + len(_bytes(tails[0]))}"


def _bytes(piece: str) -> list[int]:
    return [octet.value for octet in octets(piece)]


def _string(piece: str) -> str:
    """A Ruby string in which nothing but letters, digits and harmless signs stands for itself."""
    return '"' + "".join(chr(item) if item in _HARMLESS else f"\\x{item:02X}" for item in _bytes(piece)) + '"'
