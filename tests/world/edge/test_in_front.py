"""The edge in front of real web servers, by the configurations of examples/edge: what a browser would find there."""

from __future__ import annotations

import asyncio
import http.client
import re
import socket
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, closing
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urljoin

import pytest

from mixedsched.lab.doctor import examine_edge
from mixedsched.world.client import HttpsAnswer, HttpsPage, ask_over_quic
from mixedsched.world.edge.run import running_edge
from mixedsched.world.edge.settings import CertificateFiles, EdgeInput, EdgeSettings
from tests.advice.tuner.ship.servers import Place, Program, Setup, place, program
from tests.world.client.https import NOW, write_certificate

pytestmark = pytest.mark.slow  # other people's servers

EXAMPLES = Path(__file__).parents[3] / "examples" / "edge"


def free_tcp_port() -> int:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        port: int = listener.getsockname()[1]
        return port


def example(name: str, where: Place, certificate: Path, udp_port: int, origin_port: int) -> str:
    """A configuration as it is shipped, but for this machine's name, folders and ports."""
    text = (EXAMPLES / name).read_text(encoding="utf-8")
    text = text.replace('h3=":443"', f'h3=":{udp_port}"').replace("8080", str(origin_port))
    text = re.sub(r"\b443\b", str(where.port), text)
    text = re.sub(r"/etc/letsencrypt/live/example\.org/\w+\.pem", str(certificate), text)
    return text.replace("example.org", "localhost").replace("/var/www/html", str(where.root))


def nginx(where: Place, text: str) -> Setup:
    folders = ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
    temporary = "".join(f"{name}_temp_path {where.folder}/{name}; " for name in folders)
    config = where.write(
        "nginx.conf",
        f"daemon off; master_process off; pid {where.folder}/pid; error_log {where.folder}/errors;\n"
        f"events {{ worker_connections 64; }}\n"
        f"http {{ access_log off; default_type text/html; gzip on; {temporary}\n{text}\n}}\n",
    )
    base = ("-p", str(where.folder), "-c", str(config), "-e", f"{where.folder}/errors")
    return Setup(program("nginx"), ("-t", *base), base)


def caddy(where: Place, text: str) -> Setup:
    quiet = f"{{\n\tadmin off\n\tauto_https off\n\tstorage file_system {where.folder}/data\n"
    config = where.write("Caddyfile", text.replace("{\n", quiet, 1))
    found = program("caddy")
    home = {name: str(where.folder) for name in ("HOME", "XDG_DATA_HOME", "XDG_CONFIG_HOME")}
    base = ("--adapter", "caddyfile", "--config", str(config))
    server = Program(found.path, found.prefix, {**found.environment, **home})
    return Setup(server, ("validate", *base), ("run", *base))


def apache(where: Place, text: str) -> Setup:
    found = program("apache2")
    modules = found.prefix / "lib" / "apache2" / "modules"
    names = (
        "mpm_event",
        "authz_core",
        "authn_core",
        "authz_host",
        "dir",
        "headers",
        "remoteip",
        "socache_shmcb",
        "ssl",
    )
    loaded = "\n".join(f"LoadModule {name}_module {modules}/mod_{name}.so" for name in names)
    config = where.write(
        "apache.conf",
        f"ServerRoot {where.folder}\nDefaultRuntimeDir {where.folder}\nPidFile {where.folder}/pid\n"
        f"ErrorLog {where.folder}/errors\nServerName localhost\nUser #65534\nGroup #65534\n{loaded}\n"
        "StartServers 1\nServerLimit 1\nThreadsPerChild 4\nMinSpareThreads 1\nMaxSpareThreads 4\nMaxRequestWorkers 4\n"
        f"DirectoryIndex index.html\n<Directory {where.root}>\n    Require all granted\n</Directory>\n{text}",
    )
    return Setup(found, ("-t", "-f", str(config)), ("-f", str(config), "-DFOREGROUND"))


SERVERS: dict[str, tuple[str, Callable[[Place, str], Setup]]] = {
    "nginx": ("nginx.conf", nginx),
    "caddy": ("Caddyfile", caddy),
    "apache": ("apache.conf", apache),
}


FOR_THIS_MACHINE: dict[str, dict[str, str]] = {
    "nginx": {"absolute_redirect off;": "location = /local { allow 127.0.0.1; deny all; }"},
    "apache": {"RemoteIPInternalProxy 127.0.0.1": "<Location /local>\nRequire local\n</Location>"},
}
"""By server: a line of the example, and what keeps /local from all but clients of this machine when it follows there."""


@dataclass(frozen=True)
class InFront:
    """A web server with an edge before it. certificate: that both show."""

    url: str
    udp_port: int
    origin_port: int
    certificate: Path

    async def over_http3(self, path: str) -> HttpsAnswer:
        return await ask_over_quic(HttpsPage.of(self.url + path, self.certificate), self.udp_port)

    def status_for(self, client: str, path: str) -> int:
        """What the origin answers an edge that says for whom it asks."""
        with closing(http.client.HTTPConnection("127.0.0.1", self.origin_port, timeout=20)) as connection:
            connection.request("GET", path, headers={"Host": "localhost", "X-Forwarded-For": client})
            return connection.getresponse().status


@asynccontextmanager
async def in_front_of(name: str, where: Place) -> AsyncIterator[InFront]:
    file, configure = SERVERS[name]
    certificate = write_certificate(where.folder, "localhost")
    origin_port = free_tcp_port()
    settings = EdgeSettings(
        f"http://127.0.0.1:{origin_port}", certificates=(CertificateFiles(certificate, certificate),)
    )
    async with running_edge(EdgeInput(settings), f"{name} in a test") as edge:
        text = example(file, where, certificate, edge.facts.address[1], origin_port)
        for line, more in FOR_THIS_MACHINE.get(name, {}).items():
            text = text.replace(line, f"{line}\n{more}\n")
        server = configure(where, text)
        server.checked()
        with server.running(where):
            yield InFront(f"https://localhost:{where.port}/", edge.facts.address[1], origin_port, certificate)


@pytest.mark.parametrize("name", SERVERS)
def test_browsers_find_http3_before_a_server_that_is_configured_as_the_example_says(name: str) -> None:
    async def look(where: Place) -> None:
        async with in_front_of(name, where) as site:
            checks = await asyncio.to_thread(lambda: list(examine_edge(site.url, site.certificate, NOW)))
            assert [(check.name, check.detail) for check in checks if not check.ok] == []
            assert checks[-1].detail == "status 200, 1 bytes, the same"
            page = await site.over_http3("sub/page.html")
            assert page.fields["via"], "the edge says that it was there (RFC 9110 section 7.6.3)"
            assert page.fields.get("content-encoding") == ("gzip" if name == "nginx" else None), "as over TCP"
            redirect = await site.over_http3("sub")
            assert urljoin(site.url, redirect.fields["location"]) == f"{site.url}sub/", "not to the origin's own port"
            assert site.status_for("127.0.0.1", "/local") == 200
            if name in FOR_THIS_MACHINE:
                assert site.status_for("203.0.113.7", "/local") == 403, "visitors are not taken for this machine"

    with place() as where:
        for path in ("/", "/local", "/sub/index.html", "/sub/page.html"):
            where.add_file(path)
        (where.root / "sub/page.html").write_text("<p>text</p>" * 100, encoding="utf-8")
        asyncio.run(look(where))
