"""Keeps a server of other people's: reads a ProgramInput, starts it, says when it listens, ends with it or with its input."""

import contextlib
import os
import select
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator

from mixedsched.errors import ExitCode, MixedschedError
from mixedsched.world.servers._certificates import write_certificate
from mixedsched.world.servers._listening import binds_udp, free_port, is_taken
from mixedsched.world.servers.answers import answers_of
from mixedsched.world.servers.catalog import read_choice
from mixedsched.world.servers.kind import Launch, Order
from mixedsched.world.servers.running import LOG_NAME, PROGRAM_FACTS, PROGRAM_INPUT, ProgramFacts, ProgramInput
from mixedsched.world.system.json_lines import Orders, say, say_error
from mixedsched.world.system.user_programs import ends_with_us

_START_LIMIT_S = 10.0
_STOP_LIMIT_S = 0.5  # then it is killed: nothing of it is kept
_LOOK_S = 0.5  # between looks at whether we are told to end by a signal
_TRIES = 3  # of a free port, which another program may take meanwhile
_LOG_CHARACTERS = 600


class _Server:
    """A started program, the leader of a process group that ends with it."""

    def __init__(self, launch: Launch, order: Order) -> None:
        self._logs = (order.folder / LOG_NAME, *launch.logs)
        environment = {**os.environ, "LC_ALL": "C", **order.program.environment, **launch.environment}
        with (order.folder / LOG_NAME).open("ab") as log:
            self._process = subprocess.Popen(
                [*ends_with_us(), *launch.words],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                cwd=order.folder,
                env=environment,
                process_group=0,
            )

    @property
    def pid(self) -> int:
        return self._process.pid

    @property
    def is_alive(self) -> bool:
        return self._process.poll() is None

    def stop(self) -> None:
        for number in (signal.SIGTERM, signal.SIGKILL):
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self._process.pid, number)
            with contextlib.suppress(subprocess.TimeoutExpired):
                self._process.wait(_STOP_LIMIT_S)

    def last_words(self) -> str:
        """How it ended, and the end of its logs."""
        texts = [file.read_text(errors="replace").strip() for file in self._logs if file.is_file()]
        said = "\n".join(filter(None, texts))[-_LOG_CHARACTERS:]
        code = self._process.poll()
        how = "" if code is None else f"signal {-code} ended it" if code < 0 else f"it ended with exit status {code}"
        return "; ".join(filter(None, (how, f"its log: {said}" if said else "its log is empty")))


def main() -> int:
    """Keep it until standard input ends. Returns the exit code: FAILED if the server ended by itself."""
    orders = Orders()
    given = PROGRAM_INPUT.validate_python(next(orders))
    try:
        with _started(given) as (server, facts):
            say(PROGRAM_FACTS.dump_python(facts, mode="json"))
            return _watch(server, orders, given.spec)
    except MixedschedError as error:
        return say_error(error)
    finally:
        shutil.rmtree(given.folder, ignore_errors=True)


@contextlib.contextmanager
def _started(given: ProgramInput) -> Iterator[tuple[_Server, ProgramFacts]]:
    choice = read_choice(given.spec)
    files = write_certificate(given.folder, given.site.hosts)
    for attempt in range(1, _TRIES + 1):
        port = given.port or free_port(given.host)
        folder = given.folder / f"try-{attempt}"
        folder.mkdir()
        order = Order(
            program=given.program,
            folder=folder,
            host=given.host,
            port=port,
            certificate=files.certificate,
            key=files.key,
            hosts=given.site.hosts,
            answers=answers_of(given.site),
            values=choice.values,
            bursts=given.bursts,
        )
        server = _Server(choice.kind.prepare(order), order)
        try:
            if _listens(server, port):
                yield server, ProgramFacts((given.host, port), files.spki_sha256, server.pid)
                return
            words = server.last_words()
        finally:
            server.stop()
        if given.port or not is_taken(given.host, port):
            break
    raise MixedschedError(
        f"{given.spec} did not start", why=words, fix="`mixedsched servers` tells what is known of it"
    )


def _listens(server: _Server, port: int) -> bool:
    """Wait until it does; False if it ended or takes too long."""
    deadline_s = time.monotonic() + _START_LIMIT_S
    while server.is_alive and time.monotonic() < deadline_s:
        if binds_udp(server.pid, port):
            return server.is_alive
        time.sleep(0.01)
    return False


def _watch(server: _Server, orders: Orders, spec: str) -> int:
    """Until our input ends or the server does."""
    with _end_of(server) as end:
        while not orders.has_ended:
            ready, _, _ = select.select([orders.fd, end], [], [], _LOOK_S)
            if end in ready and not server.is_alive:
                sys.stderr.write(f"{spec} has stopped by itself: {server.last_words()}\n")
                return ExitCode.FAILED
            if orders.fd in ready:
                orders.read()
    return ExitCode.DONE


@contextlib.contextmanager
def _end_of(server: _Server) -> Iterator[int]:
    """A descriptor that can be read once the server has ended."""
    descriptor = os.pidfd_open(server.pid)
    try:
        yield descriptor
    finally:
        os.close(descriptor)


if __name__ == "__main__":
    sys.exit(main())
