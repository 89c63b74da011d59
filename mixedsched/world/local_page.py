"""A web page for the user of this machine alone: a server on 127.0.0.1 whose addresses hold a secret.

Other users of the machine do not know the secret; pages of other sites know neither it nor may use it (their requests come from
another origin); and names that were made to point here (DNS rebinding) are not ours.
"""

import errno
import secrets
import socket
from collections.abc import Awaitable, Callable, MutableMapping
from dataclasses import dataclass, field
from typing import Any

import uvicorn

from mixedsched.errors import MixedschedError

ADDRESS = "127.0.0.1"
DEFAULT_PORT = 8765
PORTS_TRIED = 20
_SECRET_BYTES = 18
_FORM_BYTES_MOST = 16_384
_CONNECTIONS_MOST = 100
_HEAD_BYTES_MOST = 32_768
_METHODS = ("GET", "HEAD", "POST")

Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
Application = Callable[[MutableMapping[str, Any], Receive, Send], Awaitable[None]]

_HEADERS = (
    (b"x-content-type-options", b"nosniff"),
    (b"x-frame-options", b"DENY"),
    (b"cross-origin-resource-policy", b"same-origin"),
    (b"referrer-policy", b"same-origin"),
    (b"cache-control", b"no-store"),
)


def _new_secret() -> str:
    return secrets.token_urlsafe(_SECRET_BYTES)


@dataclass(frozen=True, slots=True)
class Secrets:
    """First parts of addresses that are answered."""

    page: str = field(default_factory=_new_secret)
    # For files that may hold scripts of others: who reads their address does not know that of the page.
    files: str = field(default_factory=_new_secret)


class Guard:
    """Passes on what may be asked; refuses the rest in a word.

    Requests that are passed on have one of the secrets as the first part of their path, and a body that is not long.
    """

    def __init__(self, application: Application, known: Secrets, port: int) -> None:
        self._application = application
        self._known = known
        self._hosts = (f"{ADDRESS}:{port}", f"localhost:{port}")

    async def __call__(self, scope: MutableMapping[str, Any], receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return
        headers: dict[bytes, list[bytes]] = {}
        for name, value in scope["headers"]:
            headers.setdefault(name, []).append(value)
        status, refusal = self._refusal(scope, headers)
        if refusal:
            await _refuse(send, status, refusal)
            return

        async def send_guarded(message: Message) -> None:
            if message["type"] == "http.response.start":
                own = {name for name, _ in message["headers"]}
                message["headers"] = [*message["headers"], *(item for item in _HEADERS if item[0] not in own)]
            await send(message)

        await self._application(scope, receive, send_guarded)

    def _refusal(self, scope: MutableMapping[str, Any], headers: dict[bytes, list[bytes]]) -> tuple[int, str]:
        """Status and words; no words for a request that may be passed on."""
        hosts = headers.get(b"host", [])
        if len(hosts) != 1 or hosts[0].decode("latin-1").lower() not in self._hosts:
            return 403, "This page answers under its own address only."
        first = scope["path"].split("/")[1] if scope["path"].startswith("/") else ""
        is_page = secrets.compare_digest(first.encode(), self._known.page.encode())
        is_file = secrets.compare_digest(first.encode(), self._known.files.encode())
        if not is_page and not is_file:
            return 403, "The address lacks its secret. Open the one that `mixedsched view` printed."
        if scope["method"] not in _METHODS or (is_file and scope["method"] == "POST"):
            return 405, "That cannot be done here."
        if scope["method"] == "POST":
            origins = [value.decode("latin-1").lower() for value in headers.get(b"origin", [])]
            if origins != [f"http://{hosts[0].decode('latin-1').lower()}"]:
                return 403, "Only the page itself may ask for that."
            # In chunks a body is as long as they are, whatever it announces (RFC 9112 section 6.3).
            lengths = [] if b"transfer-encoding" in headers else headers.get(b"content-length", [])
            if len(lengths) != 1 or not lengths[0].isdigit() or int(lengths[0]) > _FORM_BYTES_MOST:
                return 413, "That is too much."
        return 200, ""


async def _refuse(send: Send, status: int, words: str) -> None:
    body = f"{words}\n".encode()
    about = [(b"content-type", b"text/plain; charset=utf-8"), (b"content-length", str(len(body)).encode()), *_HEADERS]
    await send({"type": "http.response.start", "status": status, "headers": about})
    await send({"type": "http.response.body", "body": body})


def listen(port: int | None) -> socket.socket:
    """A socket on 127.0.0.1. port: None for the usual one, or the next that is free. Raises MixedschedError."""
    wanted = range(DEFAULT_PORT, DEFAULT_PORT + PORTS_TRIED) if port is None else (port,)
    refusal: OSError | None = None
    for number in wanted:
        sock = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            sock.bind((ADDRESS, number))
            sock.listen()
        except OSError as error:
            sock.close()
            refusal = error
            if error.errno != errno.EADDRINUSE:
                break
        else:
            return sock
    assert refusal is not None, "there is at least one port"
    what = f"port {port}" if port is not None else f"ports {wanted[0]} to {wanted[-1]}"
    why = "another program listens there" if refusal.errno == errno.EADDRINUSE else refusal.strerror or ""
    raise MixedschedError(f"{what} cannot be had", why=why, fix="name another --port, or leave it out for a free one")


def serve(application: Application, sock: socket.socket) -> None:
    """Answer until Ctrl-C or SIGTERM, which is raised again then."""
    server(application).run(sockets=[sock])


def server(application: Application) -> uvicorn.Server:
    """To be run with a socket. It says nothing, and knows no more than it must."""
    return uvicorn.Server(
        uvicorn.Config(
            application,
            loop="asyncio",
            http="h11",
            ws="none",
            lifespan="off",
            log_config=None,
            access_log=False,
            server_header=False,
            proxy_headers=False,
            limit_concurrency=_CONNECTIONS_MOST,
            h11_max_incomplete_event_size=_HEAD_BYTES_MOST,
            timeout_keep_alive=10,
            timeout_graceful_shutdown=1,
        )
    )
