"""Real web servers on loopback, each in a folder of its own: those that `scripts/setup --lab` unpacked, or installed ones."""

from __future__ import annotations

import http.client
import os
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from mixedsched.world.system.programs import find_program

UNPACKED = Path(__file__).parents[4] / "build" / "servers" / "root"
START_LIMIT_S = 20.0
_NOBODY = 65534


@dataclass(frozen=True)
class Program:
    """A server's binary. prefix: what its own files lie below, as `/usr`."""

    path: Path
    prefix: Path
    environment: dict[str, str]

    def run(self, arguments: Sequence[str]) -> subprocess.CompletedProcess[str]:
        command = [str(self.path), *arguments]
        return subprocess.run(command, env=self.environment, capture_output=True, text=True, timeout=60, check=False)


def program(name: str) -> Program:
    """Skips the test where the server is not there."""
    environment = {**os.environ, "H2O_ROOT": "/usr"}
    for folder in ("usr/sbin", "usr/bin"):
        path = UNPACKED / folder / name
        if path.is_file():
            libraries = [str(item) for item in (UNPACKED / "usr/lib").glob("*-linux-gnu*")]
            environment |= {"LD_LIBRARY_PATH": ":".join(libraries), "H2O_ROOT": str(UNPACKED / "usr")}
            return Program(path, UNPACKED / "usr", environment)
    found = find_program(name)
    if found is None:
        pytest.skip(f"{name} is not here: scripts/setup --lab fetches it")
    return Program(Path(found), Path("/usr"), environment)


@dataclass(frozen=True)
class Place:
    """Where a server lives for one test. root: of the files it serves."""

    folder: Path
    root: Path
    port: int

    def write(self, name: str, text: str) -> Path:
        path = self.folder / name
        path.write_text(text, encoding="utf-8")
        return path

    def add_file(self, path: str) -> None:
        """A file for a decoded request path; the root's is index.html."""
        file = self.root / (path.lstrip("/") or "index.html")
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text("x", encoding="utf-8")


@contextmanager
def place() -> Iterator[Place]:
    """A folder that a server may read which gives up being root."""
    with tempfile.TemporaryDirectory(prefix="mixedsched-") as name, socket.socket() as listener:
        folder = Path(name)
        folder.chmod(0o755)
        listener.bind(("127.0.0.1", 0))
        port = listener.getsockname()[1]
        listener.close()
        (folder / "www").mkdir()
        yield Place(folder, folder / "www", port)


@dataclass(frozen=True)
class Setup:
    """How to ask a server whether it takes a configuration, and how to start it."""

    program: Program
    check: tuple[str, ...]
    start: tuple[str, ...]

    def checked(self) -> str:
        """What it says of a configuration that it takes; fails for one that it does not take."""
        done = self.program.run(self.check)
        said = done.stdout + done.stderr
        assert done.returncode == 0, said
        return said

    @contextmanager
    def running(self, where: Place) -> Iterator[None]:
        """Ended by its own process number, whatever happens."""
        with (where.folder / "log").open("w") as log:
            command = [str(self.program.path), *self.start]
            process = subprocess.Popen(command, env=self.program.environment, stdout=log, stderr=log, cwd=where.folder)
            try:
                _wait_for(where, process)
                yield
            finally:
                process.terminate()
                process.wait(timeout=20)


def priorities(where: Place, targets: Sequence[str]) -> dict[str, list[str]]:
    """The `priority` fields of the answers, by request target; over one connection."""
    connection = http.client.HTTPConnection("127.0.0.1", where.port, timeout=20)
    found = {}
    for target in targets:
        connection.putrequest("GET", target)
        connection.endheaders()
        answer = connection.getresponse()
        answer.read()
        found[target] = answer.headers.get_all("priority", [])
    connection.close()
    return found


def nginx(where: Place, snippet: str) -> Setup:
    where.write("mixedsched.conf", snippet)
    temporary = "".join(
        f"{name}_temp_path {where.folder}/{name}; " for name in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
    )
    config = where.write(
        "nginx.conf",
        f"""
daemon off; master_process off; pid {where.folder}/pid; error_log {where.folder}/errors;
events {{ worker_connections 64; }}
http {{
    access_log off; {temporary}
    include {where.folder}/mixedsched.conf;
    server {{
        listen 127.0.0.1:{where.port};
        root {where.root};
        location /own/ {{ add_header x-own 1; }}
        location /app/ {{ try_files $uri /index.html; }}
    }}
}}
""",
    )
    base = ("-p", str(where.folder), "-c", str(config), "-e", f"{where.folder}/errors")
    return Setup(program("nginx"), ("-t", *base), base)


def caddy(where: Place, snippet: str) -> Setup:
    where.write("mixedsched.caddy", snippet)
    config = where.write(
        "Caddyfile",
        f"""
{{
\tadmin off
\tauto_https off
\tstorage file_system {where.folder}/data
}}
import mixedsched.caddy
http://127.0.0.1:{where.port} {{
\timport mixedsched_priorities
\troot * {where.root}
\ttry_files {{path}} /index.html
\tfile_server
}}
""",
    )
    found = program("caddy")
    home = {"HOME": str(where.folder), "XDG_DATA_HOME": str(where.folder), "XDG_CONFIG_HOME": str(where.folder)}
    found = Program(found.path, found.prefix, {**found.environment, **home})
    base = ("--adapter", "caddyfile", "--config", str(config))
    return Setup(found, ("validate", *base), ("run", *base))


def apache(where: Place, snippet: str) -> Setup:
    found = program("apache2")
    where.write("mixedsched.conf", snippet)
    modules = found.prefix / "lib" / "apache2" / "modules"
    loaded = "\n".join(
        f"LoadModule {name}_module {modules}/mod_{name}.so"
        for name in ("mpm_event", "authz_core", "authn_core", "dir", "headers")
    )
    config = where.write(
        "apache.conf",
        f"""
ServerRoot {where.folder}
DefaultRuntimeDir {where.folder}
PidFile {where.folder}/pid
ErrorLog {where.folder}/errors
ServerName localhost
User #{_NOBODY}
Group #{_NOBODY}
Listen 127.0.0.1:{where.port}
{loaded}
StartServers 1
ServerLimit 1
ThreadsPerChild 4
MinSpareThreads 1
MaxSpareThreads 4
MaxRequestWorkers 4
DocumentRoot {where.root}
DirectoryIndex index.html
<Directory {where.root}>
    Require all granted
    AllowOverride FileInfo
</Directory>
IncludeOptional mixedsched.conf
""",
    )
    return Setup(found, ("-t", "-f", str(config)), ("-f", str(config), "-DFOREGROUND"))


def h2o(where: Place, snippet: str) -> Setup:
    where.write("mixedsched.yaml", snippet)
    config = where.write(
        "h2o.conf",
        f"""
user: nobody
num-threads: 1
error-log: {where.folder}/errors
listen: {{ host: 127.0.0.1, port: {where.port} }}
hosts:
  default:
    paths:
      "/":
        - !file {where.folder}/mixedsched.yaml
        - file.dir: {where.root}
""",
    )
    return Setup(program("h2o"), ("-t", "-c", str(config)), ("-c", str(config)))


def _wait_for(where: Place, process: subprocess.Popen[bytes]) -> None:
    deadline_s = time.monotonic() + START_LIMIT_S
    while time.monotonic() < deadline_s and process.poll() is None:
        with socket.socket() as client:
            if client.connect_ex(("127.0.0.1", where.port)) == 0:
                return
        time.sleep(0.02)
    said = [(where.folder / name).read_text() for name in ("log", "errors") if (where.folder / name).exists()]
    pytest.fail("the server does not start: " + "\n".join(said))
