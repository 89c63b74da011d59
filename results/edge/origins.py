"""nginx over HTTP/2 and Caddy over HTTP/3, each with a site's files, and on a Unix socket for an edge before it.

Their configurations are those of the server arms of `compare`, so that a page is the same under all; where they listen is not.
"""

import asyncio
import json
import os
import subprocess
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

from mixedsched.errors import MissingPartError, MixedschedError
from mixedsched.world.server.site import ServedSite
from mixedsched.world.servers.answers import answers_of
from mixedsched.world.servers.catalog import KINDS, find_server
from mixedsched.world.servers.kind import Order

PORTS = {"nginx": 8443, "caddy": 8444}
_START_LIMIT_S = 10.0


@dataclass(frozen=True)
class Origin:
    """A web server that runs."""

    port: int  # where browsers find it, over TLS
    socket: Path  # where an edge does, in plain HTTP
    version: str


def _nginx_over_tcp(file: Path, socket: Path, host: str) -> None:
    """nginx needs no HTTP/3 for this."""
    lines = [line for line in file.read_text().splitlines() if not line.startswith("quic_gso ")]
    at = lines.index(f"listen {host}:{PORTS['nginx']} quic;")
    lines[at : at + 1] = [f"listen {host}:{PORTS['nginx']} ssl http2;", f"listen unix:{socket};"]
    file.write_text("\n".join(lines) + "\n")


def _caddy_twice(file: Path, socket: Path, _host: str) -> None:
    config = json.loads(file.read_text())
    servers = config["apps"]["http"]["servers"]
    plain = {"listen": [f"unix/{socket}"], "protocols": ["h1"], "automatic_https": {"disable": True}}
    servers["origin"] = {**plain, "routes": servers["site"]["routes"]}
    file.write_text(json.dumps(config))


_CHANGES = {"nginx": ("nginx.conf", _nginx_over_tcp), "caddy": ("caddy.json", _caddy_twice)}


@asynccontextmanager
async def running_origin(
    name: str, site: ServedSite, folder: Path, host: str, certificate: Path, prefix: Sequence[str]
) -> AsyncIterator[Origin]:
    """nginx or caddy. folder: to be made, its own. certificate: PEM file with its key. prefix: words before the command."""
    found = find_server(KINDS[name])
    if found.program is None or found.version is None:
        raise MissingPartError(f"{name} is not here", fix="scripts/setup --lab")
    folder.mkdir()
    order = Order(
        found.program,
        folder,
        host,
        PORTS[name],
        certificate,
        certificate,
        site.hosts,
        answers_of(site),
        {},
        bursts=False,
    )
    launch = found.kind.prepare(order)
    socket = folder / "socket"
    file, change = _CHANGES[name]
    change(folder / file, socket, host)
    environment = {**os.environ, **found.program.environment, **launch.environment}
    with (folder / "said").open("w") as said:
        process = subprocess.Popen([*prefix, *launch.words], env=environment, stdout=said, stderr=said)
    try:
        await _until_there(process, socket, folder / "said")
        yield Origin(PORTS[name], socket, found.version.name)
    finally:
        process.terminate()
        await asyncio.to_thread(process.wait)


async def _until_there(process: subprocess.Popen[bytes], socket: Path, said: Path) -> None:
    for _ in range(round(_START_LIMIT_S / 0.05)):
        if process.poll() is not None:
            break
        if socket.exists():
            return
        await asyncio.sleep(0.05)
    raise MixedschedError("the web server did not start", why=said.read_text()[-500:])
