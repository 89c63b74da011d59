"""A PostgreSQL server of our own, for tests and benchmarks: in a temporary folder, reached by a socket, and gone with us."""

import contextlib
import os
import pwd
import shutil
import signal
import subprocess
import tempfile
import time
from pathlib import Path
from typing import Self

_USERS = ("postgres", "nobody")  # root must not run PostgreSQL
_START_S = 30


def binaries() -> Path | None:
    """The folder with initdb and postgres; None where PostgreSQL is not installed."""
    folders = [*sorted(Path("/usr/lib/postgresql").glob("*/bin"), reverse=True)]
    if (program := shutil.which("initdb")) is not None:
        folders.append(Path(program).resolve().parent)
    return next((folder for folder in folders if (folder / "initdb").exists() and (folder / "postgres").exists()), None)


class Postgres:
    """Use with `with`. It listens on no network, and may be killed and started again."""

    def __init__(self, folder: Path) -> None:
        """folder: of initdb and postgres."""
        self._binaries = folder
        self._user = next((name for name in _USERS if _is_user(name)), None) if os.getuid() == 0 else None
        self._place = Path(tempfile.mkdtemp(prefix="mixedsched-pg-", dir="/tmp"))
        self._data = self._place / "data"
        self._process: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> Self:
        try:
            self._make()
            self.start()
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self.kill()
        shutil.rmtree(self._place, ignore_errors=True)

    def _make(self) -> None:
        if self._user is not None:
            shutil.chown(self._place, self._user)
        arguments = ["--no-sync", "--auth=trust", "--username=lab", "--encoding=UTF8", "--locale=C", str(self._data)]
        subprocess.run([str(self._binaries / "initdb"), *arguments], check=True, capture_output=True, user=self._user)

    def start(self) -> None:
        """Start it and wait until it answers."""
        program = str(self._binaries / "postgres")
        arguments = [
            "-D",
            str(self._data),
            "-k",
            str(self._place),
            "-c",
            "listen_addresses=",
            "-c",
            "max_connections=60",
        ]
        self._process = subprocess.Popen(
            ["setpriv", "--pdeathsig", "KILL", program, *arguments],  # however this process ends
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            user=self._user,
            start_new_session=True,
        )
        ready = [str(self._binaries / "pg_isready"), "-q", "-h", str(self._place)]
        ends_s = time.monotonic() + _START_S
        while subprocess.run(ready, check=False).returncode:
            if time.monotonic() > ends_s or self._process.poll() is not None:
                raise RuntimeError("PostgreSQL does not start")
            time.sleep(0.05)

    def kill(self) -> None:
        """As by kill -9: without a word to its clients, and all of its processes."""
        if self._process is not None:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self._process.pid, signal.SIGKILL)
            self._process.wait()
            self._process = None

    def new_database(self, name: str) -> str:
        """Make an empty database and return its address for SQLAlchemy."""
        subprocess.run([str(self._binaries / "createdb"), "-h", str(self._place), "-U", "lab", name], check=True)
        return f"postgresql://lab@/{name}?host={self._place}"

    @property
    def socket(self) -> Path:
        """By which it is reached."""
        return self._place / ".s.PGSQL.5432"


def _is_user(name: str) -> bool:
    try:
        pwd.getpwnam(name)
    except KeyError:
        return False
    return True
