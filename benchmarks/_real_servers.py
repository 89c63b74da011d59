"""Other people's HTTP/3 servers with a folder of files, for checks of the models of them."""

from __future__ import annotations

import datetime as dt
import json
import os
import socket
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from benchmarks._processes import free_port
from mixedsched.core.h3.certificate import make_certificate
from mixedsched.errors import MixedschedError
from mixedsched.lab.command._server import has_udp_port
from mixedsched.world.servers import KINDS, find_server

HOST_NAME = "site.test"
_START_S = 20.0


@dataclass(frozen=True, slots=True)
class RealServer:
    """name: as arms have it. model: the scheme that stands for it. command: of (program, folder of files, folder for its own,
    port, certificate, key), what runs it.
    """

    name: str
    model: str
    command: Callable[[Path, Path, Path, int, Path, Path], Sequence[str]]

    def find(self) -> Path | None:
        """Where arms find one that speaks HTTP/3."""
        found = find_server(KINDS[self.name])
        return found.program.path if found.program is not None and found.is_usable else None


def _gtlsserver(program: Path, files: Path, _: Path, port: int, certificate: Path, key: Path) -> Sequence[str]:
    return (str(program), "--quiet", f"--htdocs={files}", "127.0.0.1", str(port), str(key), str(certificate))


def _caddy(program: Path, files: Path, own: Path, port: int, certificate: Path, key: Path) -> Sequence[str]:
    server = {
        "listen": [f"127.0.0.1:{port}"],
        "protocols": ["h3"],
        "automatic_https": {"disable": True},
        "tls_connection_policies": [{"default_sni": HOST_NAME}],
        "routes": [{"handle": [{"handler": "file_server", "root": str(files)}]}],
    }
    config = {
        "admin": {"disabled": True, "config": {"persist": False}},
        "logging": {"logs": {"default": {"level": "ERROR"}}},
        "storage": {"module": "file_system", "root": str(own / "data")},
        "apps": {
            "http": {"grace_period": "1ms", "servers": {"site": server}},
            "tls": {"certificates": {"load_files": [{"certificate": str(certificate), "key": str(key)}]}},
        },
    }
    (own / "caddy.json").write_text(json.dumps(config))
    return (str(program), "run", "--config", str(own / "caddy.json"))


def _quic_go(program: Path, files: Path, own: Path, port: int, certificate: Path, key: Path) -> Sequence[str]:
    responses = [
        {
            "method": "GET",
            "host": HOST_NAME,
            "target": f"/{file.name}",
            "file": str(file),
            "status": 200,
            "delay_ms": 0,
            "fields": [["content-type", "application/octet-stream"]],
        }
        for file in sorted(files.iterdir())
    ]
    given = {"listen": f"127.0.0.1:{port}", "certificate": str(certificate), "key": str(key), "responses": responses}
    (own / "quic-go.json").write_text(json.dumps(given))
    return (str(program), str(own / "quic-go.json"))


def _nginx(program: Path, files: Path, own: Path, port: int, certificate: Path, key: Path) -> Sequence[str]:
    temporary = "\n".join(
        f"  {name}_temp_path {own / name};" for name in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
    )
    (own / "nginx.conf").write_text(f"""daemon off;
master_process off;
pid {own / "nginx.pid"};
error_log {own / "error.log"};
events {{}}
http {{
  access_log off;
{temporary}
  server {{
    listen 127.0.0.1:{port} quic;
    server_name {HOST_NAME};
    ssl_certificate {certificate};
    ssl_certificate_key {key};
    root {files};
  }}
}}
""")
    return (str(program), "-p", str(own), "-e", str(own / "error.log"), "-c", str(own / "nginx.conf"))


REAL_SERVERS = (
    RealServer("gtlsserver", "server-nghttp3", _gtlsserver),
    RealServer("caddy", "server-quic-go", _caddy),
    RealServer("quic-go", "server-quic-go", _quic_go),
    RealServer("nginx", "server-nginx", _nginx),
)


@contextmanager
def running(server: RealServer, program: Path, files: Path) -> Iterator[int]:
    """The UDP port on which it serves these files. Raises MixedschedError if it does not start."""
    with tempfile.TemporaryDirectory() as name:
        own = Path(name)
        certificate, key = own / "certificate.pem", own / "key.pem"
        pem = make_certificate([HOST_NAME, "127.0.0.1"], dt.datetime.now(dt.UTC)).to_pem()
        cut = pem.index("-----BEGIN", 1)
        certificate.write_text(pem[:cut])
        key.write_text(pem[cut:])
        port = free_port(socket.SOCK_DGRAM)
        command = server.command(program, files, own, port, certificate, key)
        environment = {**os.environ, "HOME": name, "XDG_DATA_HOME": name, "XDG_CONFIG_HOME": name}
        with (
            (own / "said").open("w+") as said,
            subprocess.Popen(command, env=environment, stdout=said, stderr=said) as process,
        ):
            try:
                end_s = time.monotonic() + _START_S
                while not has_udp_port(process.pid, port):
                    if process.poll() is not None or time.monotonic() > end_s:
                        raise MixedschedError(
                            f"{server.name} did not start", why=(own / "said").read_text()[-500:].strip()
                        )
                    time.sleep(0.05)
                yield port
            finally:
                process.kill()
