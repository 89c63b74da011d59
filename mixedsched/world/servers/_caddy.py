"""Caddy: HTTP/3 by quic-go, configured in its JSON."""

import json
import re
from collections.abc import Sequence
from typing import Any
from urllib.parse import quote, unquote_to_bytes

from mixedsched.errors import UsageError
from mixedsched.world.servers._versions import number_in, said_by
from mixedsched.world.servers.answers import GET, Answer
from mixedsched.world.servers.kind import HEADERS, Launch, Order, Program, ServerKind, Version, headers_parameter
from mixedsched.world.system.udp import host_and_port

_AS_SENT = re.compile(r"[A-Za-z0-9\-._~!$&'()*+,;=:@\[\]%/]*")
_OLDEST = (2, 6)  # HTTP/3 is on by default since


def _prepare(order: Order) -> Launch:
    files = order.folder / "files"
    files.mkdir()
    environment = {name: str(order.folder) for name in ("HOME", "XDG_DATA_HOME", "XDG_CONFIG_HOME")}
    if not order.bursts:
        environment["QUIC_GO_DISABLE_GSO"] = "true"
    routes: list[dict[str, Any]] = list(_priority_routes(order, environment))
    for host in order.hosts:
        own = [item for item in order.answers if item.host == host and item.method == GET]
        names = {id(item): f"{order.hosts.index(host)}-{number}" for number, item in enumerate(own)}
        for item in own:
            if item.file is not None:
                (files / names[id(item)]).symlink_to(item.file)
        handlers = [_route(_exactly(item.target), item, names[id(item)], str(files)) for item in own]
        handlers += [_route(_any_query(item.path), item, names[id(item)], str(files)) for item in _of_paths(own)]
        routes.append({"match": [{"host": [host]}], "handle": [{"handler": "subroute", "routes": handlers}]})
    server = {
        "listen": [host_and_port(order.host, order.port)],
        "protocols": ["h3"],
        "automatic_https": {"disable": True},
        "tls_connection_policies": [{"certificate_selection": {"any_tag": ["lab"]}}],
        "routes": [*routes, {"handle": [{"handler": "static_response", "status_code": 404}]}],
    }
    certificate = {"certificate": str(order.certificate), "key": str(order.key), "tags": ["lab"]}
    config = {
        "admin": {"disabled": True, "config": {"persist": False}},
        "logging": {"logs": {"default": {"level": "ERROR"}}},
        "storage": {"module": "file_system", "root": str(order.folder / "data")},
        "apps": {
            "http": {"grace_period": "1ms", "servers": {"site": server}},
            "tls": {"certificates": {"load_files": [certificate]}},
        },
    }
    path = order.write("caddy.json", json.dumps(config))
    return Launch((str(order.program.path), "run", "--config", str(path)), environment)


def _of_paths(answers: Sequence[Answer]) -> list[Answer]:
    """The first answer of each path, for requests with a query that is not listed."""
    found: dict[str, Answer] = {}
    for item in answers:
        found.setdefault(item.path, item)
    return list(found.values())


def _route(match: dict[str, Any], item: Answer, name: str, root: str) -> dict[str, Any]:
    fields: dict[str, list[str]] = {}
    for field, value in item.all_fields:
        fields.setdefault(field, []).append(_plain(value))
    headers = {"handler": "headers", "response": {"set": fields}}
    if item.file is None:
        return {
            "match": [match],
            "handle": [headers, {"handler": "static_response", "status_code": item.status}],
            "terminal": True,
        }
    file_server: dict[str, Any] = {"handler": "file_server", "root": root, "canonical_uris": False}
    if item.status != 200:
        file_server["status_code"] = item.status
    return {
        "match": [match],
        "handle": [headers, {"handler": "rewrite", "uri": f"/{name}"}, file_server],
        "terminal": True,
    }


def _exactly(target: str) -> dict[str, Any]:
    path, mark, query = target.partition("?")
    return {"vars": {"{http.request.uri}": [_plain(f"{spelt}{mark}{query}") for spelt in _spellings(path)]}}


def _any_query(path: str) -> dict[str, Any]:
    paths = "|".join(map(re.escape, _spellings(path)))
    return {"vars_regexp": {"{http.request.uri}": {"pattern": rf"^(?:{paths})(?:\?|$)"}}}


def _spellings(path: str) -> tuple[str, ...]:
    """A path as it is asked for, and as Go writes it if it has a sign that should be encoded (net/url, EscapedPath)."""
    if _AS_SENT.fullmatch(path):
        return (path,)
    return path, quote(unquote_to_bytes(path), safe="$&+,/:;=@")


def _plain(text: str) -> str:
    """Text in which Caddy finds no placeholder."""
    return text.replace("{", "\\{")


def _priority_routes(order: Order, environment: dict[str, str]) -> Sequence[dict[str, Any]]:
    """Those of a shipped Caddyfile, which Caddy itself translates."""
    file = order.shipped()
    if file is None:
        return ()
    words = order.write("Caddyfile", f'import "{file}"\nhttp://:1 {{\n\timport mixedsched_priorities\n}}\n')
    program = Program(order.program.path, order.program.root, {**order.program.environment, **environment})
    said = said_by(program, "adapt", "--adapter", "caddyfile", "--config", str(words))
    try:
        config = json.loads(next(line for line in said.splitlines() if line.startswith('{"apps"')))
        (server,) = config["apps"]["http"]["servers"].values()
    except (StopIteration, ValueError, KeyError) as error:
        raise UsageError(
            f"Caddy does not take {order.values[HEADERS]}", why=said.strip()[-300:], fix="name ship/Caddyfile of tune"
        ) from error
    routes: list[dict[str, Any]] = server["routes"]
    return [{key: value for key, value in route.items() if key != "terminal"} for route in routes]


def _version(program: Program) -> Version:
    # Built by `go install`, it knows its version only as a module.
    number = number_in(said_by(program, "version"), r"^v?(\d+\.\d+\.\d+)") or number_in(
        said_by(program, "build-info"), r"caddyserver/caddy/v2\s+v(\d+\.\d+\.\d+)"
    )
    if number is None:
        return Version("unknown", "it does not run")
    major, minor, _ = (int(part) for part in number.split("."))
    return Version(number, "" if (major, minor) >= _OLDEST else "HTTP/3 comes with 2.6")


CADDY = ServerKind(
    name="caddy",
    title="Caddy",
    programs=("caddy",),
    priorities=(
        "no code of its own: since 2.11 its quic-go follows the request's priority field and PRIORITY_UPDATE of streams that "
        "it knows, and lets the first whole response (N) and the shared ones (I) of an urgency take turns 1:1; a response "
        "field is sent and not read"
    ),
    source="Caddy 2.11.9 (quic-go 0.63.0) read and measured in November 2026",
    stand_in="server-quic-go",
    how_to_get="with Go 1.26 or newer: scripts/setup --lab; older ones than 2.11, as in distributions, know no priorities",
    read_versions=("2.11",),
    version_of=_version,
    prepare=_prepare,
    parameters=(headers_parameter("Caddy", "Caddyfile"),),
)
