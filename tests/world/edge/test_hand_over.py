"""A new edge takes the place of the one that runs: nothing that is under way is lost, and no new client is turned away."""

from __future__ import annotations

import asyncio
import socket
import stat
import subprocess
import threading
from collections.abc import AsyncIterator
from contextlib import ExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from mixedsched.errors import MixedschedError
from mixedsched.world.edge.settings import EdgeFacts
from mixedsched.world.server.handover import NUMBERS, Handover, make_connection_id
from mixedsched.world.server.takeover import HeldPort
from mixedsched.world.system.udp import open_shared_udp_sockets, open_udp_socket
from tests.patience import until
from tests.world.edge.commanding import FACTS, edge_command
from tests.world.edge.edging import Origin, Script, answering, client_of, origin_running, plain, run

SIZE = 3_000_000
BODY = (bytes(range(251)) * (SIZE // 251 + 1))[:SIZE]


class Reader:
    """Stands where an endpoint reads its socket: notes whether it does."""

    def __init__(self) -> None:
        self.reads = True

    async def pause(self) -> None:
        self.reads = False

    def read_on(self) -> None:
        self.reads = True


def bound() -> list[socket.socket]:
    return [open_udp_socket()]


def close(*items: HeldPort | Handover) -> None:
    for item in items:
        item.close()


def nobody() -> list[socket.socket]:
    raise AssertionError("the port is there already")


def test_the_next_server_gets_the_sockets_themselves_and_the_one_before_leaves(tmp_path: Path) -> None:
    async def play() -> None:
        path, old_reads, left = tmp_path / "edge", Reader(), []
        old = HeldPort.found(path, bound)
        (old_end,) = old.handovers(1)
        async with old.kept(old_reads, lambda: left.append("old")):
            assert stat.S_IMODE(path.stat().st_mode) == 0o600
            new = await asyncio.to_thread(HeldPort.found, path, nobody)
            assert [sock.getsockname() for sock in new.sockets] == [sock.getsockname() for sock in old.sockets]
            (new_end,) = new.handovers(1)
            assert old_reads.reads
            await new.take()
            assert not old_reads.reads
            async with new.kept(Reader(), lambda: left.append("new")):
                await until(lambda: left == ["old"])
                assert not old_reads.reads
                assert new_end.owner_of(make_connection_id(old_end.worker)) == old_end.worker
                new_end.give(old_end.worker, b"packet", ("127.0.0.1", 1))
                assert list(old_end.take()) == [(b"packet", ("127.0.0.1", 1))]
        assert not path.exists()
        close(old, old_end, new, new_end)

    run(play)


@pytest.mark.parametrize("got_to", ["connected", "taken"])
def test_where_the_next_server_fails_the_one_before_goes_on(tmp_path: Path, got_to: str) -> None:
    async def play() -> None:
        path, reads = tmp_path / "edge", Reader()
        old = HeldPort.found(path, bound)
        (end,) = old.handovers(1)
        async with old.kept(reads, lambda: pytest.fail("it has left")):
            for _ in range(2):  # and can be asked again
                new = await asyncio.to_thread(HeldPort.found, path, nobody)
                if got_to == "taken":
                    await new.take()
                    assert not reads.reads
                new.close()
                await until(lambda: reads.reads)
        close(old, end)

    run(play)


def test_a_socket_that_nobody_listens_on_any_more_is_replaced_and_a_file_is_not(tmp_path: Path) -> None:
    async def play() -> None:
        path, file = tmp_path / "edge", tmp_path / "file"
        with socket.socket(socket.AF_UNIX) as left_behind:
            left_behind.bind(str(path))
        place = HeldPort.found(path, bound)
        async with place.kept(Reader(), lambda: None):
            assert path.is_socket()
        file.write_text("mine")
        with pytest.raises(MixedschedError, match="hand over"):
            HeldPort.found(file, bound)
        place.close()

    run(play)


@pytest.mark.parametrize(
    ("said", "told"),
    [
        (b'{"processes": [0]}', "hands over in version 1"),
        (b'{"version": 3, "sockets": 1, "numbers": [0]}', "hands over in version 3"),
        (b'{"version": 2, "sockets": 1, "numbers": [0]}', "does not hand over a port"),
        (b"HTTP/1.1 400 Bad Request", "does not hand over a port"),
    ],
)
def test_who_cannot_hand_over_to_us_is_told_and_left_alone(tmp_path: Path, said: bytes, told: str) -> None:
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(tmp_path / "edge"))
        listener.listen(1)

        def answer() -> None:
            link, _ = listener.accept()
            with link:
                link.sendall(said)
                assert link.recv(10) == b""

        thread = threading.Thread(target=answer)
        thread.start()
        with pytest.raises(MixedschedError, match=told):
            HeldPort.found(tmp_path / "edge", nobody)
        thread.join()


@pytest.mark.parametrize(("before", "after"), [(1, 3), (3, 2), (2, 2), (4, 1)])
def test_all_sockets_of_the_port_are_read_by_whatever_number_of_workers(
    tmp_path: Path, before: int, after: int
) -> None:
    async def play() -> None:
        path = tmp_path / "edge"
        old = HeldPort.found(path, lambda: open_shared_udp_sockets("127.0.0.1", 0, before) if before > 1 else bound())
        old_ends = old.handovers(before)
        async with old.kept(Reader(), lambda: None):
            new = await asyncio.to_thread(HeldPort.found, path, nobody)
            divided = new.divided_among(after)
            new_ends = new.handovers(after)
            assert [end.worker for end in new_ends] == list(range(before, before + after))
            await new.take()
            port = old.sockets[0].getsockname()
            assert [sock.getsockname() for sockets in divided for sock in sockets] == [port] * max(before, after)
            assert all(divided)
            close(new, *new_ends)
        close(old, *old_ends)

    run(play)


def test_a_server_reaches_the_processes_before_it_that_live_and_numbers_never_run_out(tmp_path: Path) -> None:
    async def play() -> None:
        path = tmp_path / "edge"
        places = [HeldPort.found(path, bound)]
        live: dict[int, Handover] = {}
        for generation in range(NUMBERS + 2):
            place = places[-1]
            (end,) = place.handovers(1)
            assert end.worker == generation % NUMBERS
            assert set(end.inboxes) == {*live, end.worker}
            place.give_up()
            async with place.kept(Reader(), lambda: None):
                if generation % 50 != 1:  # the others' connections are over
                    close(*[live.pop(number) for number in [*live][-1:]])
                close(*[live.pop(number) for number in [*live] if number == end.worker])
                live[end.worker] = end
                places.append(await asyncio.to_thread(HeldPort.found, path, nobody))
        close(*places, *live.values())

    run(play)


def test_a_connection_id_that_a_client_has_made_belongs_to_nobody() -> None:
    first, second = Handover.among(2)
    made = (bytes([second.worker]) + index.to_bytes(7) for index in range(1000))
    assert sum(first.owner_of(connection_id) is not None for connection_id in made) < 5
    first.close()
    second.close()


def gated(origin: Origin, gate: asyncio.Event) -> Script:
    """Sends half of the body of /slow, and the rest when the gate opens; answers everything else at once."""

    async def script(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while True:
            head = await origin.read(reader)
            if not head.startswith("GET /slow"):
                writer.write(plain())
                continue
            writer.write(plain(BODY)[: SIZE // 2])
            await gate.wait()
            writer.write(plain(BODY)[SIZE // 2 :])

    return script


def given(origin: Origin, folder: Path) -> list[str]:
    return ["--origin", origin.url, "--host", "x.test", "--hand-over", str(folder / "edge")]


async def entered(stack: ExitStack, *options: str, port: int = 0) -> tuple[subprocess.Popen[str], EdgeFacts]:
    process, said = await asyncio.to_thread(stack.enter_context, edge_command(*options, port=port))
    return process, FACTS.validate_python(said)


@pytest.mark.slow
@pytest.mark.parametrize(("before", "after"), [(1, 1), (2, 2), (3, 1), (1, 3)])
def test_a_download_goes_on_at_the_old_edge_while_the_new_one_serves_and_no_client_is_refused(
    tmp_path: Path, before: int, after: int
) -> None:
    origin = Origin()

    async def play() -> None:
        gate = asyncio.Event()
        async with origin_running(origin, gated(origin, gate)):
            options = [*given(origin, tmp_path), "--metrics-port", "0", "--grace", "50s"]
            with ExitStack() as stack:
                old, facts = await entered(stack, *options, "--workers", str(before))
                async with client_of(facts) as client:
                    slow = client.begin("GET", "/slow")
                    await client.got[slow].until(lambda: len(client.got[slow].body) > 0)
                    new, new_facts = await entered(stack, *options, "--workers", str(after), port=facts.address[1])
                    assert (new_facts.address, new_facts.workers) == (facts.address, after)
                    for _ in range(8):
                        async with client_of(facts) as other:
                            assert (await other.ask("GET", "/")).body == b"hello"
                    gate.set()
                    got = await client.got[slow].whole()
                    assert (got.reset, bytes(got.body) == BODY) == (None, True)
                code = await asyncio.to_thread(old.wait, 60)
                assert code == 0, old.stderr.read() if old.stderr else ""
                assert served(old) == ["/slow"]
                async with client_of(facts) as other:
                    assert (await other.ask("GET", "/")).body == b"hello"
                new.terminate()
                assert await asyncio.to_thread(new.wait, 60) == 0
                assert served(new) == ["/"] * 9

    run(play)


@pytest.mark.slow
def test_an_old_edge_that_is_killed_midway_leaves_the_port_to_the_new_one(tmp_path: Path) -> None:
    """It has offered its sockets, and is killed before it makes way."""

    async def play() -> None:
        async with two_workers(tmp_path) as running:
            place = await asyncio.to_thread(HeldPort.found, tmp_path / "edge", nobody)
            running.edge.kill()
            await asyncio.to_thread(running.edge.wait, 60)
            await place.take()
            assert [sock.getsockname() for sock in place.sockets] == [running.facts.address] * 2
            place.close()
            _, facts = await running.another(running.facts.address[1])
            assert facts.address == running.facts.address
            await greeted(facts)

    run(play)


@pytest.mark.slow
def test_a_new_edge_that_dies_midway_leaves_the_old_workers_serving(tmp_path: Path) -> None:
    async def play() -> None:
        async with two_workers(tmp_path) as running:
            for _ in range(2):
                place = await asyncio.to_thread(HeldPort.found, tmp_path / "edge", nobody)
                await place.take()  # nobody reads now
                place.close()
                await greeted(running.facts)

    run(play)


@pytest.mark.slow
def test_another_port_is_told_and_the_old_one_stays(tmp_path: Path) -> None:
    async def play() -> None:
        async with two_workers(tmp_path) as running:
            new, facts = await running.another(running.facts.address[1] + 1)
            assert facts.address == running.facts.address
            new.terminate()
            await asyncio.to_thread(new.wait, 60)
            assert new.stderr is not None
            assert f"listens on 127.0.0.1:{facts.address[1]}, and so will this one" in new.stderr.read()

    run(play)


@dataclass
class Running:
    """An edge of two workers that may be taken over from."""

    stack: ExitStack
    options: list[str]
    edge: subprocess.Popen[str]
    facts: EdgeFacts

    async def another(self, port: int) -> tuple[subprocess.Popen[str], EdgeFacts]:
        return await entered(self.stack, *self.options, port=port)


@asynccontextmanager
async def two_workers(folder: Path) -> AsyncIterator[Running]:
    origin = Origin()
    async with origin_running(origin, answering(origin, plain())):
        options = [*given(origin, folder), "--workers", "2"]
        with ExitStack() as stack:
            edge, facts = await entered(stack, *options)
            yield Running(stack, options, edge, facts)


async def greeted(facts: EdgeFacts) -> None:
    """More clients than workers get what they ask for."""
    for _ in range(4):
        async with client_of(facts) as client:
            assert (await client.ask("GET", "/")).body == b"hello"


def served(process: subprocess.Popen[str]) -> list[str]:
    assert process.stdout is not None
    return [line.split('"path": "')[1].split('"')[0] for line in process.stdout.read().splitlines()]
