"""One request over QUIC: what counts for its answer, and how long it is waited for."""

from __future__ import annotations

import asyncio
from pathlib import Path
from types import SimpleNamespace

import pytest

from mixedsched.world.client import HttpsPage, _over_quic, ask_over_quic
from mixedsched.world.client._answer import joined_fields
from tests.world.client.https import Page, http3, write_certificate


@pytest.fixture
def certificate(tmp_path: Path) -> Path:
    return write_certificate(tmp_path, "localhost")


def test_what_comes_on_other_streams_is_not_the_answer(certificate: Path) -> None:
    page = Page(pushed=b"something else")
    with http3(page, certificate) as port:
        answer = asyncio.run(ask_over_quic(HttpsPage("localhost", port, "/", certificate)))
    assert (answer.status, answer.body_bytes, "x-pushed" in answer.fields) == (200, len(page.body), False)


def test_another_host_may_be_an_address_in_brackets(certificate: Path) -> None:
    """As Alt-Svc announces those of IPv6."""
    with http3(Page(), certificate) as port:
        target = HttpsPage("localhost", 443, "/", certificate)
        assert asyncio.run(ask_over_quic(target, port, "[::ffff:127.0.0.1]")).status == 200


@pytest.mark.parametrize("count", [1, 2, 1_000_000])
def test_lines_of_one_name_are_joined_however_many_there_are(count: int) -> None:
    lines = [("Via", "1.1 a"), ("vary", "x"), *([("via", "1.1 b")] * (count - 1))]
    assert joined_fields(lines) == {"via": ", ".join(["1.1 a", *["1.1 b"] * (count - 1)]), "vary": "x"}


def test_an_answer_is_waited_for_while_more_of_it_comes(monkeypatch: pytest.MonkeyPatch) -> None:
    """A megabyte over a slow link takes longer than silence is allowed to."""
    monkeypatch.setattr(_over_quic, "TIMEOUT_S", 0.2)

    async def waited(pieces: int, *, ends: bool) -> int:
        """All timers are of one loop, so that their order is certain however busy the machine is."""
        loop = asyncio.get_running_loop()
        client = SimpleNamespace(body=bytearray(), answered=loop.create_future())
        for number in range(pieces):
            loop.call_later(0.1 + 0.15 * number, client.body.append, 0)
        if ends:
            loop.call_later(0.1 + 0.15 * pieces, client.answered.set_result, True)
        await _over_quic._answered(client)  # type: ignore[arg-type]
        return len(client.body)

    assert asyncio.run(waited(4, ends=True)) == 4
    for pieces in (0, 3):
        with pytest.raises(TimeoutError):
            asyncio.run(waited(pieces, ends=False))
