"""nginx over HTTP/2 and Caddy over HTTP/3, each with a site's files, and on a Unix socket for an edge before it.

Their configurations are those of the server arms of `compare`, so that a page is the same under all; where they listen is not.
"""

import asyncio
import json
import os
import subprocess
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

from mixedsched.errors import MissingPartError, MixedschedError
from mixedsched.world.server.site import ServedSite
from mixedsched.world.servers.answers import answers_of
from mixedsched.world.servers.catalog import KINDS, find_server
from mixedsched.world.servers.kind import Order

NGINX_PORT, CADDY_PORT = 8443, 8444
_START_LIMIT_S = 10.0


@dataclass(frozen=True)
class Origin:
    """A web server that runs."""

    port: int  # where browsers find it, over TLS
    socket: Path  # where an edge does, in plain HTTP
    version: str


@asynccontextmanager
async def nginx(
    site: ServedSite, folder: Path, host: str, certificate: Path, prefix: Sequence[str]
) -> AsyncIterator[Origin]:
    """nginx, which needs no HTTP/3 for this. certificate: PEM file with its key. prefix: words before the command."""

    def changed(socket: Path) -> None:
        file = socket.parent / "nginx.conf"
        lines = [line for line in file.read_text().splitlines() if not line.startswith("quic_gso ")]
        quic = f"listen {host}:{NGINX_PORT} quic;"
        at = lines.index(quic)
        lines[at : at + 1] = [f"listen {host}:{NGINX_PORT} ssl http2;", f"listen unix:{socket};"]
        file.write_text("\n".join(lines) + "\n")

    async with _running("nginx", site, folder, (host, NGINX_PORT), certificate, prefix, changed) as origin:
        yield origin


@asynccontextmanager
async def caddy(
    site: ServedSite, folder: Path, host: str, certificate: Path, prefix: Sequence[str]
) -> AsyncIterator[Origin]:
    """Caddy, as `nginx`."""

    def changed(socket: Path) -> None:
        file = socket.parent / "caddy.json"
        config = json.loads(file.read_text())
        servers = config["apps"]["http"]["servers"]
        plain = {"listen": [f"unix/{socket}"], "protocols": ["h1"], "automatic_https": {"disable": True}}
        servers["origin"] = {**plain, "routes": servers["site"]["routes"]}
        file.write_text(json.dumps(config))

    async with _running("caddy", site, folder, (host, CADDY_PORT), certificate, prefix, changed) as origin:
        yield origin


@asynccontextmanager
async def _running(
    name: str,
    site: ServedSite,
    folder: Path,
    address: tuple[str, int],
    certificate: Path,
    prefix: Sequence[str],
    change: Callable[[Path], None],
) -> AsyncIterator[Origin]:
    """change: edits the configuration in the folder of the socket that it is given."""
    found = find_server(KINDS[name])
    if found.program is None or found.version is None:
        raise MissingPartError(f"{name} is not here", fix="scripts/setup --lab")
    folder.mkdir()
    host, port = address
    order = Order(
        found.program, folder, host, port, certificate, certificate, site.hosts, answers_of(site), {}, bursts=False
    )
    launch = found.kind.prepare(order)
    socket = folder / "socket"
    change(socket)
    environment = {**os.environ, **found.program.environment, **launch.environment}
    with (folder / "said").open("w") as said:
        process = subprocess.Popen([*prefix, *launch.words], env=environment, stdout=said, stderr=said)
    try:
        await _until_there(process, socket, folder / "said")
        yield Origin(port, socket, found.version.name)
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
