"""A page for one user: who is let in."""

from __future__ import annotations

import http.client
import threading
from collections.abc import Iterator, Mapping

import pytest

from mixedsched.errors import MixedschedError
from mixedsched.world.local_page import ADDRESS, DEFAULT_PORT, Guard, Message, Receive, Secrets, Send, listen, server

KNOWN = Secrets(page="p" * 24, files="f" * 24)  # the same in every process, as names of tests have to be


async def application(scope: Message, receive: Receive, send: Send) -> None:
    await send({"type": "http.response.start", "status": 200, "headers": []})
    await send({"type": "http.response.body", "body": b"let in"})


@pytest.fixture(scope="module")
def port() -> Iterator[int]:
    sock = listen(0)
    number = sock.getsockname()[1]
    running = server(Guard(application, KNOWN, number))
    thread = threading.Thread(target=running.run, kwargs={"sockets": [sock]})
    thread.start()
    yield number
    running.should_exit = True
    thread.join()


def ask(port: int, path: str, method: str = "GET", **headers: str) -> tuple[int, str, Mapping[str, str]]:
    named = {"Host": f"{ADDRESS}:{port}"} | {name.replace("_", "-"): value for name, value in headers.items()}
    connection = http.client.HTTPConnection(ADDRESS, port, timeout=10)
    connection.putrequest(method, path, skip_host=True)
    for name, value in named.items():
        connection.putheader(name, value)
    if method == "POST" and "Content-Length" not in named:
        connection.putheader("Content-Length", "0")
    connection.endheaders()
    answer = connection.getresponse()
    found = answer.status, answer.read().decode(), dict(answer.getheaders())
    connection.close()
    return found


def own_origin(port: int) -> str:
    return f"http://{ADDRESS}:{port}"


@pytest.mark.parametrize("secret", [KNOWN.page, KNOWN.files])
def test_who_knows_a_secret_is_let_in(port: int, secret: str) -> None:
    status, body, headers = ask(port, f"/{secret}/")
    assert (status, body) == (200, "let in")
    assert headers["x-content-type-options"] == "nosniff"
    assert headers["x-frame-options"] == "DENY"
    assert headers["cache-control"] == "no-store"


@pytest.mark.parametrize("path", ["/", "/favicon.ico", f"/{KNOWN.page[:-1]}/", f"/x/{KNOWN.page}/", f"//{KNOWN.page}/"])
def test_without_the_secret_nothing_is_told(port: int, path: str) -> None:
    status, body, _ = ask(port, path)
    assert status == 403
    assert "secret" in body


@pytest.mark.parametrize(
    "host", ["evil.example", "evil.example:{port}", "127.0.0.1", "127.0.0.1:1", "127.0.0.1.evil.example:{port}"]
)
def test_another_name_for_this_address_is_refused(port: int, host: str) -> None:
    assert ask(port, f"/{KNOWN.page}/", Host=host.format(port=port))[0] == 403


def test_deeds_are_done_for_the_page_itself_alone(port: int) -> None:
    path = f"/{KNOWN.page}/result/x/stop"
    assert ask(port, path, "POST", Origin=own_origin(port))[0] == 200
    assert ask(port, path, "POST")[0] == 403, "not even without an origin"
    for origin in ("null", "http://evil.example", f"http://localhost:{port}", f"https://{ADDRESS}:{port}"):
        assert ask(port, path, "POST", Origin=origin)[0] == 403
    assert ask(port, f"/{KNOWN.files}/x", "POST", Origin=own_origin(port))[0] == 405, "files are read"


def test_other_methods_and_long_bodies_are_refused(port: int) -> None:
    assert ask(port, f"/{KNOWN.page}/", "DELETE")[0] == 405
    for length in ({"Content_Length": "99999999"}, {"Content_Length": "1", "Transfer_Encoding": "chunked"}):
        assert ask(port, f"/{KNOWN.page}/", "POST", Origin=own_origin(port), **length)[0] == 413


def test_secrets_differ_and_are_long() -> None:
    made = [secret for known in (Secrets(), Secrets()) for secret in (known.page, known.files)]
    assert len(set(made)) == 4
    assert all(len(secret) >= 24 for secret in made)


def test_a_taken_port_is_said_and_the_usual_one_gives_way(port: int) -> None:
    with pytest.raises(MixedschedError, match="another program listens there"):
        listen(port)
    with listen(None) as first, listen(None) as second:
        numbers = [sock.getsockname()[1] for sock in (first, second)]
    assert numbers[0] != numbers[1]
    assert all(DEFAULT_PORT <= number < DEFAULT_PORT + 20 for number in numbers)
