"""A new server takes the place of the one that runs, without a gap and without losing what is under way.

The one that runs listens on a Unix socket. The new one connects there when it has read its files, and is given the UDP sockets
themselves, so that nothing that comes to the port is lost or goes astray. It starts its workers; the old one goes on meanwhile.
When they are ready it asks the old one to read no more, opens further sockets if it has more workers, has its workers read, and
says so. The old one finishes its connections (GOAWAY); their packets are passed on to it, as between workers: connection IDs
begin with the number of the process. If the new one fails, the old one reads on.

Messages from the new one to the old one, on a stream: TAKE, which is answered with PAUSED, and READY, with LEAVING. The first
message is the old one's, with the sockets.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import socket
import time
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Protocol, Self

from mixedsched.errors import MixedschedError
from mixedsched.world.server.handover import MAX_WORKERS, NUMBERS, Handover, is_read
from mixedsched.world.system.udp import unbound_udp_socket

VERSION = 2  # of the messages
TAKE, PAUSED, READY, LEAVING = b"take", b"paused", b"ready", b"leaving"
_PREPARE_S = 60.0  # for the new server to start its workers, beyond which the next may try
_READY_S = 5.0  # from PAUSED to READY, beyond which the old one reads on
_CONNECT_S = 5.0
_ANSWER_S = 10.0  # for an answer of the old one, beyond which it is taken for hung
_PATIENCE_S = 5.0  # for a port whose server has died
_MOST_KNOWN = 128  # processes that may still have connections, the latest ones
_MESSAGE_BYTES = 4096


class Reading(Protocol):
    """What reads the sockets of the port."""

    async def pause(self) -> None: ...

    def read_on(self) -> None: ...


class HeldPort:
    """A server's right to a port. sockets: of the port, which must all be read. path: of the Unix socket."""

    def __init__(self, path: Path, sockets: list[socket.socket], link: socket.socket | None = None) -> None:
        self.sockets = sockets
        self.is_taken_over = link is not None
        self._path = path
        self._link = link  # to the server that has it until we are ready
        # Of all processes that may have connections, by number, the latest at the end.
        self._inboxes: dict[int, socket.socket] = {}
        self._unbound: list[socket.socket] = []

    @classmethod
    def found(cls, path: Path, open_sockets: Callable[[], list[socket.socket]]) -> Self:
        """Take over from the server that listens at the path, or open a port of our own. Raises MixedschedError."""
        if path.exists() and not path.is_socket():
            raise _failed(path, "there is a file of that name")
        limit_s = time.monotonic() + _PATIENCE_S
        while True:
            try:
                found = cls._asked(path)
            except FileNotFoundError:
                return cls(path, open_sockets())
            except (ConnectionRefusedError, ConnectionResetError):  # it has died: of the latter kind, just now
                with contextlib.suppress(MixedschedError):
                    return cls(path, open_sockets())
                if time.monotonic() > limit_s:
                    return cls(path, open_sockets())
            except OSError as error:
                raise _failed(path, error.strerror or str(error)) from error
            else:
                return found
            time.sleep(0.1)  # its workers are about to notice

    @classmethod
    def _asked(cls, path: Path) -> Self:
        """Raises OSError where nobody hands over; MixedschedError for one that cannot hand over to us."""
        link = socket.socket(socket.AF_UNIX)
        link.settimeout(_CONNECT_S)
        offered: list[socket.socket] = []
        try:
            link.connect(str(path))
            message, offered = _received(path, link)
            count, numbers = _read_offer(path, message, offered)
        except BaseException:
            for sock in (link, *offered):
                sock.close()
            raise
        for sock in offered:
            sock.setblocking(False)
        place = cls(path, offered[:count], link)
        place._inboxes = dict(zip(numbers, offered[count:], strict=True))
        return place

    def divided_among(self, workers: int) -> list[list[socket.socket]]:
        """The sockets that each of them reads. Those that the port has are kept, as the kernel goes on to fill them."""
        for _ in range(workers - len(self.sockets)):
            self._unbound.append(unbound_udp_socket(self.sockets[0].family))
        together = [*self.sockets, *self._unbound]
        return [together[worker::workers] for worker in range(workers)]

    def handovers(self, workers: int) -> list[Handover]:
        """The ends of our own processes, which can reach those before. Call it once."""
        first = (list(self._inboxes)[-1] + 1) % NUMBERS if self._inboxes else 0
        ends = Handover.among(workers, first, self._inboxes)
        for number, inbox in self._inboxes.items():
            if ends[0].inboxes[number] is not inbox:  # its number is another one's by now
                inbox.close()
        self._inboxes = dict(ends[0].inboxes)
        return ends

    async def take(self) -> None:
        """From now on the other server reads no more, and we must. Raises MixedschedError."""
        if self._link is not None:
            self._link.setblocking(False)
            await self._say(TAKE, PAUSED)
        self._bind()

    @asynccontextmanager
    async def kept(self, reading: Reading, *leave: Callable[[], None]) -> AsyncIterator[None]:
        """Have the place from now on, and be ready to give it to the next server.

        reading: is reading already. leave: called then, one after the other, once.
        """
        if self._link is not None:
            await self._say(READY, LEAVING)
        self.give_up()
        giving = _Giving(self._path, self.sockets, self._inboxes, reading, leave)
        try:
            yield
        finally:
            await giving.close()

    def give_up(self) -> None:
        """Without a `kept` before, the other server goes on."""
        if self._link is not None:
            self._link.close()
            self._link = None

    def close(self) -> None:
        """Let go of everything."""
        self.give_up()
        for sock in (*self.sockets, *self._unbound, *self._inboxes.values()):
            sock.close()

    async def _say(self, message: bytes, answer: bytes) -> None:
        """If the other server is gone by now, we go on without it."""
        assert self._link is not None
        loop = asyncio.get_running_loop()
        try:
            async with asyncio.timeout(_ANSWER_S):
                await loop.sock_sendall(self._link, message)
                said = await loop.sock_recv(self._link, len(answer))
        except OSError:
            said = b""
        if said != answer and _is_listening(self._path):
            raise _failed(self._path, "the server that runs has not made way, and goes on", "start this one again")

    def _bind(self) -> None:
        """Add further sockets to the port. All that share a port must be set to do so, those that are bound already, too."""
        if not self._unbound:
            return
        try:
            for sock in self.sockets:
                sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
            for sock in self._unbound:
                sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
                sock.bind(self.sockets[0].getsockname())
        except OSError as error:
            raise _failed(
                self._path,
                f"the port has {len(self.sockets)} sockets, and no more can be added: {error.strerror or error}",
                "start it as the user of the one that runs, or with fewer --workers",
            ) from error
        self.sockets += self._unbound
        self._unbound = []


class _Giving:
    """Waits for the next server, on the running event loop; one after the other, where several want the place."""

    def __init__(
        self,
        path: Path,
        sockets: Sequence[socket.socket],
        inboxes: dict[int, socket.socket],
        reading: Reading,
        leave: Sequence[Callable[[], None]],
    ) -> None:
        self._path, self._sockets, self._inboxes, self._reading, self._leave = path, sockets, inboxes, reading, leave
        self._listener, self._inode = _listening_at(path)
        self._task = asyncio.create_task(self._run())

    async def close(self) -> None:
        """Stop waiting. The socket's file goes, if it is not that of the next server."""
        self._task.cancel()
        await asyncio.gather(self._task, return_exceptions=True)
        self._listener.close()
        with contextlib.suppress(OSError):
            if self._path.stat().st_ino == self._inode:
                self._path.unlink()

    async def _run(self) -> None:
        loop = asyncio.get_running_loop()
        while True:
            link, _ = await loop.sock_accept(self._listener)
            with link:
                link.setblocking(False)
                if await self._give(link):
                    self._listener.close()
                    for call in self._leave:
                        call()
                    return

    async def _give(self, link: socket.socket) -> bool:
        """Returns whether the process at the other end has the port from now on."""
        loop = asyncio.get_running_loop()
        for number in [number for number, inbox in self._inboxes.items() if not is_read(inbox)]:
            self._inboxes.pop(number).close()
        known = list(self._inboxes.items())[-_MOST_KNOWN:]
        offer = {"version": VERSION, "sockets": len(self._sockets), "numbers": [number for number, _ in known]}
        given = [sock.fileno() for sock in (*self._sockets, *(inbox for _, inbox in known))]
        asked = False
        try:
            socket.send_fds(link, [json.dumps(offer).encode()], given)
            async with asyncio.timeout(_PREPARE_S):
                asked = await loop.sock_recv(link, len(TAKE)) == TAKE
            if not asked:
                return False
            async with asyncio.timeout(_READY_S):
                await self._reading.pause()
                await loop.sock_sendall(link, PAUSED)
                is_ready = await loop.sock_recv(link, len(READY)) == READY
            if is_ready:
                with contextlib.suppress(OSError):
                    await loop.sock_sendall(link, LEAVING)
                return True
        except OSError:
            pass  # it has ended, or takes too long: not ready, and will not be
        if asked:
            self._reading.read_on()
        return False


def _received(path: Path, link: socket.socket) -> tuple[bytes, list[socket.socket]]:
    """The first message. Raises ConnectionResetError if the other one has ended."""
    try:
        message, descriptors, _, _ = socket.recv_fds(link, _MESSAGE_BYTES, MAX_WORKERS + _MOST_KNOWN)
    except TimeoutError as error:
        raise _failed(
            path, "the process that listens there does not answer; perhaps another server is taking over"
        ) from error
    if not message:
        raise ConnectionResetError
    return message, [socket.socket(fileno=descriptor) for descriptor in descriptors]


def _read_offer(path: Path, message: bytes, offered: Sequence[socket.socket]) -> tuple[int, list[int]]:
    """How many of the sockets are the port's, and the numbers of the processes that read the others."""
    try:
        said = json.loads(message)
        version, count, numbers = said.get("version", 1), said.get("sockets", 0), said.get("numbers", [])
    except (ValueError, AttributeError) as error:
        raise _failed(path, "the process that listens there does not hand over a port") from error
    if version != VERSION:
        raise _failed(
            path,
            f"the server that runs hands over in version {version}, and this one takes over in version {VERSION}",
            "stop the one that runs, then start this one",
        )
    ports = [sock for sock in offered[:count] if sock.family != socket.AF_UNIX and sock.type == socket.SOCK_DGRAM]
    if not ports or not numbers or len(ports) + len(numbers) != len(offered):
        raise _failed(path, "the process that listens there does not hand over a port")
    return count, numbers


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


def _is_listening(path: Path) -> bool:
    with socket.socket(socket.AF_UNIX) as sock:
        sock.settimeout(_CONNECT_S)
        try:
            sock.connect(str(path))
        except (FileNotFoundError, ConnectionRefusedError):
            return False
        except OSError:
            return True
    return True


def _failed(
    path: Path, why: str, fix: str = "name a socket in a folder of this user with --hand-over"
) -> MixedschedError:
    return MixedschedError(f"cannot use {path} to hand over", why=why, fix=fix)
