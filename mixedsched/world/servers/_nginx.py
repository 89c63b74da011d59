"""nginx with HTTP/3: one map from host, path and query to a file, and one for each header field."""

import re
from collections import Counter
from collections.abc import Iterable, Mapping

from mixedsched.world.servers._versions import number_in, said_by
from mixedsched.world.servers.answers import GET, Answer
from mixedsched.world.servers.kind import (
    Abilities,
    Launch,
    Order,
    Program,
    ServerKind,
    ServerParameter,
    Version,
    headers_parameter,
)
from mixedsched.world.system.udp import host_and_port

_BUFFER = "http3_stream_buffer_size"
_WORD_MOST = 3900  # characters: nginx takes no longer word than 4095
_PART = 1900  # characters of a longer value, in which each may need two
_TEMPORARY = ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")


def _prepare(order: Order) -> Launch:
    answers = [item for item in order.answers if item.method == GET and item.status == 200]
    endings = {mime: f"t{number}" for number, mime in enumerate(dict.fromkeys(item.mime for item in answers))}
    names = {index: f"{index}.{endings[item.mime]}" for index, item in enumerate(answers)}
    files = order.folder / "files"
    files.mkdir()
    for index, item in enumerate(answers):
        if item.file is not None:
            (files / names[index]).symlink_to(item.file)
    errors = order.folder / "errors"
    config = order.write("nginx.conf", _config(order, answers, names, endings))
    words = (str(order.program.path), "-p", str(order.folder), "-c", str(config), "-e", str(errors))
    return Launch(words, logs=(errors,))


def _config(order: Order, answers: list[Answer], names: Mapping[int, str], endings: Mapping[str, str]) -> str:
    folder = order.folder
    temporary = " ".join(f"{name}_temp_path {_quoted(f'{folder}/{name}')};" for name in _TEMPORARY)
    types = " ".join(f"{_quoted(mime)} {ending};" for mime, ending in endings.items())
    shipped = [f"include {_quoted(str(file))};"] if (file := order.shipped()) is not None else []
    buffer = [f"{_BUFFER} {order.values[_BUFFER]};"] if _BUFFER in order.values else []
    maps, added = _fields(answers, names)
    if shipped:
        added.append("add_header priority $mixedsched_priority always;")
    return "\n".join(
        (
            f"daemon off; master_process off; pid {_quoted(f'{folder}/pid')}; error_log {_quoted(f'{folder}/errors')} error;",
            "events { worker_connections 1024; }",
            "http {",
            f"access_log off; {temporary}",
            f"types {{ {types} }}",
            "default_type application/octet-stream; server_tokens off; sendfile on; etag on;",
            "map_hash_max_size 65536; map_hash_bucket_size 4096; variables_hash_max_size 8192; types_hash_max_size 8192;",
            'geo $mixedsched_dollar { default "$"; }',
            'map "$host$request_uri" $mixedsched_file {',
            'default "";',
            *_keys(answers, names),
            "}",
            *maps,
            *shipped,
            *buffer,
            "server {",
            f"listen {host_and_port(order.host, order.port)} quic;",
            f"ssl_certificate {_quoted(str(order.certificate))}; ssl_certificate_key {_quoted(str(order.key))};",
            "ssl_protocols TLSv1.3;",
            f"quic_gso {'on' if order.bursts else 'off'};",
            f"root {_quoted(f'{folder}/files')};",
            "location / {",
            *added,
            "try_files /$mixedsched_file =404;",
            "}",
            "}",
            "}",
            "",
        )
    )


def _keys(answers: list[Answer], names: Mapping[int, str]) -> Iterable[str]:
    """Lines of the map of files: whole targets, then paths with another query. Words of a map are compared without case."""
    words = Counter((item.host + item.target).lower() for item in answers)
    for index, item in enumerate(answers):
        word = item.host + item.target
        key = _key(word) if words[word.lower()] == 1 else _expression(word, "$")
        # A longer one is found by its path with any query; `fitting` has seen that there is no other of that path.
        if len(key) <= _WORD_MOST:
            yield f'{key} "{names[index]}";'
    paths = set()
    for index, item in enumerate(answers):
        if (item.host, item.path) not in paths:
            paths.add((item.host, item.path))
            yield f'{_expression(item.host + item.path, "(?:[?]|$)")} "{names[index]}";'


def _fields(answers: list[Answer], names: Mapping[int, str]) -> tuple[list[str], list[str]]:
    """A map from file to value for each field, and one more for each repetition; and the lines that add them."""
    values: dict[tuple[str, int], list[tuple[str, str]]] = {}
    for index, item in enumerate(answers):
        coding = () if item.encoding is None else (("content-encoding", item.encoding),)
        counted: Counter[str] = Counter()
        for name, value in (*coding, *item.fields):
            values.setdefault((name, counted[name]), []).append((names[index], value))
            counted[name] += 1
    maps: list[str] = []
    added = []
    for number, ((name, _), pairs) in enumerate(values.items()):
        lines = "\n".join(f'"{file}" {_word(value, maps)};' for file, value in pairs)
        maps.append(f'map $mixedsched_file $mixedsched_field_{number} {{ default ""; {lines} }}')
        added.append(f"add_header {_quoted(name)} $mixedsched_field_{number};")
    return maps, added


def _word(value: str, maps: list[str]) -> str:
    """A value as a word; one that is too long for a word is put together of parts, which are defined before."""
    word = _quoted(value)
    if len(word) <= _WORD_MOST:
        return word
    parts = []
    for begin in range(0, len(value), _PART):
        parts.append(f"${{mixedsched_part_{len(maps)}}}")
        maps.append(f"geo $mixedsched_part_{len(maps)} {{ default {_key(value[begin : begin + _PART])}; }}")
    return f'"{"".join(parts)}"'


def _key(text: str) -> str:
    """A word to compare with: there are no variables in it."""
    safe = text.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{safe}"'


def _quoted(text: str) -> str:
    """A word in which nginx finds neither an end nor a variable."""
    return _key(text.replace("$", "${mixedsched_dollar}"))


def _expression(text: str, end: str) -> str:
    """An expression for just this text."""
    safe = "".join(sign if re.match(r"[A-Za-z0-9/_~-]", sign) else f"\\x{ord(sign):02x}" for sign in text)
    return '"~^' + safe + end + '"'


def _version(program: Program) -> Version:
    said = said_by(program, "-V")
    number = number_in(said, r"nginx version: [\w.-]+/(\d+(?:\.\d+)*)")  # OpenResty and others have names of their own
    if number is None:
        return Version("unknown", "it does not run")
    return Version(number, "" if "http_v3_module" in said else "it was built without HTTP/3 (ngx_http_v3_module)")


NGINX = ServerKind(
    name="nginx",
    title="nginx with HTTP/3",
    programs=("nginx",),
    priorities=(
        "none: streams take turns by their acknowledgements, each with at most http3_stream_buffer_size (64k) under way; a "
        "response field is sent and not read"
    ),
    source="nginx 1.31.4 read and measured, 1.26.3 measured in November 2026",
    stand_in="server-nginx",
    how_to_get=(
        "nginx 1.25 or newer, with its HTTP/3 module as in Debian 13, in the PATH or in a folder that MIXEDSCHED_SERVERS names"
    ),
    read_versions=("1.26", "1.31"),
    version_of=_version,
    prepare=_prepare,
    abilities=Abilities(statuses=False, target_most=_WORD_MOST),
    parameters=(
        ServerParameter(
            _BUFFER,
            "bytes of a stream that may be under way; nginx's own default is 64k",
            r"[1-9]\d{0,9}[kKmM]?",
            f"{_BUFFER}=1m",
        ),
        headers_parameter("nginx", "nginx.conf"),
    ),
)
