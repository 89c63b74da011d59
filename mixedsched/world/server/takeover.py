"""A new server process takes the place of the one that runs, without a gap and without losing what is under way.

The one that runs listens on a Unix socket. The new one connects there when it is nearly ready, and is given the UDP socket
itself, so that nothing that comes to the port is lost or goes astray: what comes meanwhile waits there. When the new one is
ready it says so, and reads the socket from then on. The old one finishes its connections (GOAWAY); their packets are passed on
to it, as between workers: connection IDs begin with the number of the process. If the new one fails, the old one goes on.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import socket
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Protocol, Self

from mixedsched.errors import MixedschedError
from mixedsched.world.server.handover import MAX_WORKERS, Handover

READY = b"ready"
_READY_S = 20.0  # for the new process to begin, beyond which the old one goes on
_CONNECT_S = 5.0
_EARLIER = 3  # processes that may still have connections, the latest ones
_MESSAGE_BYTES = 4096


class Reading(Protocol):
    """What reads the socket of the port."""

    def pause(self) -> None: ...

    def read_on(self) -> None: ...


class HeldPort:
    """A process's right to a port. sock: of the port. handover: to processes that had it before. path: of the Unix socket."""

    def __init__(self, path: Path, sock: socket.socket, handover: Handover, link: socket.socket | None = None) -> None:
        self.sock = sock
        self.handover = handover
        self._path = path
        self._link = link  # to the process that has it until we are ready

    @classmethod
    def found(cls, path: Path, open_socket: Callable[[], socket.socket]) -> Self:
        """Take over from the process that listens at the path, or open a port of our own. Raises MixedschedError."""
        if path.exists() and not path.is_socket():
            raise _failed(path, "there is a file of that name")
        link = socket.socket(socket.AF_UNIX)
        link.settimeout(_CONNECT_S)
        try:
            link.connect(str(path))
        except (FileNotFoundError, ConnectionRefusedError):
            link.close()
            return cls(path, open_socket(), Handover.of_process(0, {}))
        except OSError as error:
            link.close()
            raise _failed(path, error.strerror or str(error)) from error
        try:
            message, descriptors, _, _ = socket.recv_fds(link, _MESSAGE_BYTES, _EARLIER + 2)
            numbers = json.loads(message)["processes"]
            sockets = [socket.socket(fileno=descriptor) for descriptor in descriptors]
        except (OSError, ValueError, KeyError) as error:
            link.close()
            raise _failed(path, f"the process that listens there did not hand over: {error}") from error
        port, *inboxes = sockets
        port.setblocking(False)
        earlier = dict(zip(numbers, inboxes, strict=True))
        return cls(path, port, Handover.of_process((numbers[-1] + 1) % MAX_WORKERS, earlier), link)

    @contextmanager
    def kept(self, reading: Reading, leave: Callable[[], None]) -> Iterator[None]:
        """Have the place from now on, and be ready to give it to the next process; then `leave` is called, once.

        reading: is reading already.
        """
        if self._link is not None:
            self._link.sendall(READY)
        self.give_up()
        giving = _Giving(self._path, self.sock, self.handover, reading, leave)
        try:
            yield
        finally:
            giving.close()

    def give_up(self) -> None:
        """Without a `kept` before, the other process goes on."""
        if self._link is not None:
            self._link.close()
            self._link = None


class _Giving:
    """Waits for the next process, on the running event loop."""

    def __init__(
        self, path: Path, sock: socket.socket, handover: Handover, reading: Reading, leave: Callable[[], None]
    ) -> None:
        self._path, self._sock, self._handover, self._reading, self._leave = path, sock, handover, reading, leave
        self._loop = asyncio.get_running_loop()
        self._link: socket.socket | None = None  # to the next process, until it is ready
        self._limit: asyncio.TimerHandle | None = None
        self._listener, self._inode = _listening_at(path)
        self._loop.add_reader(self._listener, self._on_connect)

    def close(self) -> None:
        """Stop waiting. The socket's file goes, if it is not that of the next process."""
        self._stop_listening()
        self._end_link()
        with contextlib.suppress(OSError):
            if self._path.stat().st_ino == self._inode:
                self._path.unlink()

    def _stop_listening(self) -> None:
        if self._listener.fileno() >= 0:
            self._loop.remove_reader(self._listener)
            self._listener.close()

    def _end_link(self) -> None:
        if self._limit is not None:
            self._limit.cancel()
        if self._link is not None:
            self._loop.remove_reader(self._link)
            self._link.close()
            self._link = None

    def _on_connect(self) -> None:
        with contextlib.suppress(OSError):
            link, _ = self._listener.accept()
            if self._link is not None:
                link.close()  # one at a time
                return
            link.setblocking(False)
            self._link = link
            self._reading.pause()
            self._limit = self._loop.call_later(_READY_S, self._go_on)
            self._loop.add_reader(link, self._on_answer)
            numbers, inboxes = self._handover.inboxes_of_last(_EARLIER + 1)
            message = json.dumps({"processes": numbers}).encode()
            try:
                socket.send_fds(link, [message], [item.fileno() for item in (self._sock, *inboxes)])
            except OSError:
                self._go_on()

    def _on_answer(self) -> None:
        assert self._link is not None
        try:
            answer = self._link.recv(len(READY))
        except OSError:
            answer = b""
        if answer == READY:
            self._end_link()
            self._stop_listening()
            self._leave()
        else:
            self._go_on()

    def _go_on(self) -> None:
        """The other one is not ready, and will not be."""
        self._end_link()
        self._reading.read_on()


def _listening_at(path: Path) -> tuple[socket.socket, int]:
    """A Unix socket for this user alone in the place of whatever socket was there, and its inode. Raises MixedschedError."""
    own = path.with_name(f".{path.name}-{os.getpid()}")
    listener = socket.socket(socket.AF_UNIX)
    try:
        own.unlink(missing_ok=True)
        before = os.umask(0o177)
        try:
            listener.bind(str(own))
        finally:
            os.umask(before)
        listener.listen(1)
        listener.setblocking(False)
        own.replace(path)
    except OSError as error:
        listener.close()
        raise _failed(path, error.strerror or str(error)) from error
    return listener, path.stat().st_ino


def _failed(path: Path, why: str) -> MixedschedError:
    return MixedschedError(
        f"cannot use {path} to hand over", why=why, fix="name a socket in a folder of this user with --hand-over"
    )
