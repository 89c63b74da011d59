"""A new edge takes the place of the one that runs: nothing that is under way is lost, and no new client is turned away."""

from __future__ import annotations

import asyncio
import socket
import stat
import subprocess
from contextlib import ExitStack
from pathlib import Path

import pytest

from mixedsched.errors import MixedschedError
from mixedsched.world.server.handover import MAX_WORKERS, Handover, make_connection_id
from mixedsched.world.server.takeover import HeldPort
from tests.world.edge.commanding import FACTS, edge_command
from tests.world.edge.edging import Origin, Script, client_of, origin_running, plain, run

SIZE = 3_000_000
BODY = bytes(index % 251 for index in range(SIZE))


class Reader:
    """Stands where an endpoint reads its socket: notes whether it does."""

    def __init__(self) -> None:
        self.reads = True

    def pause(self) -> None:
        self.reads = False

    def read_on(self) -> None:
        self.reads = True


def bound() -> socket.socket:
    sock = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    sock.bind(("127.0.0.1", 0))
    return sock


def nobody() -> socket.socket:
    raise AssertionError("the port is there already")


async def seen(holds: object) -> None:
    async with asyncio.timeout(30):
        while not holds():  # type: ignore[operator]
            await asyncio.sleep(0.01)


def close(*places: HeldPort) -> None:
    for place in places:
        place.handover.close()
        place.sock.close()


def test_the_next_process_gets_the_socket_itself_and_the_one_before_leaves(tmp_path: Path) -> None:
    async def play() -> None:
        path, old_reads, left = tmp_path / "edge", Reader(), []
        old = HeldPort.found(path, bound)
        with old.kept(old_reads, lambda: left.append("old")):
            assert stat.S_IMODE(path.stat().st_mode) == 0o600
            new = await asyncio.to_thread(HeldPort.found, path, nobody)
            assert new.sock.getsockname() == old.sock.getsockname()
            await seen(lambda: not old_reads.reads)
            with new.kept(Reader(), lambda: left.append("new")):
                await seen(lambda: left == ["old"])
                assert not old_reads.reads
                connection_id = make_connection_id(old.handover.worker)
                assert new.handover.owner_of(connection_id) == old.handover.worker
                new.handover.give(old.handover.worker, b"packet", ("127.0.0.1", 1))
                assert list(old.handover.take()) == [(b"packet", ("127.0.0.1", 1))]
        assert not path.exists()
        close(old, new)

    run(play)


def test_where_the_next_process_fails_the_one_before_goes_on(tmp_path: Path) -> None:
    async def play() -> None:
        path, reads = tmp_path / "edge", Reader()
        old = HeldPort.found(path, bound)
        with old.kept(reads, lambda: pytest.fail("it has left")):
            new = await asyncio.to_thread(HeldPort.found, path, nobody)
            await seen(lambda: not reads.reads)
            new.give_up()
            await seen(lambda: reads.reads)
        close(old, new)

    run(play)


def test_a_socket_that_nobody_listens_on_any_more_is_replaced_and_a_file_is_not(tmp_path: Path) -> None:
    async def play() -> None:
        path, file = tmp_path / "edge", tmp_path / "file"
        with socket.socket(socket.AF_UNIX) as left_behind:
            left_behind.bind(str(path))
        place = HeldPort.found(path, bound)
        with place.kept(Reader(), lambda: None):
            assert path.is_socket()
        file.write_text("mine")
        with pytest.raises(MixedschedError, match="hand over"):
            HeldPort.found(file, bound)
        close(place)

    run(play)


def test_a_process_knows_those_before_it_and_numbers_never_run_out() -> None:
    before = Handover.of_process(MAX_WORKERS - 1, {})
    numbers, inboxes = before.inboxes_of_last(4)
    after = Handover.of_process((numbers[-1] + 1) % MAX_WORKERS, dict(zip(numbers, inboxes, strict=True)))
    assert (after.worker, after.inboxes_of_last(4)[0]) == (0, [MAX_WORKERS - 1, 0])
    assert after.owner_of(make_connection_id(0)) is None
    assert after.owner_of(make_connection_id(7)) is None
    after.close()
    before.close()


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


@pytest.mark.slow
def test_a_download_goes_on_at_the_old_edge_while_the_new_one_serves_and_no_client_is_refused(tmp_path: Path) -> None:
    origin = Origin()

    async def play() -> None:
        gate = asyncio.Event()
        options = ["--host", "x.test", "--hand-over", str(tmp_path / "edge"), "--metrics-port", "0", "--grace", "50s"]
        async with origin_running(origin, gated(origin, gate)):
            with ExitStack() as stack:
                old, said = await asyncio.to_thread(stack.enter_context, edge_command("--origin", origin.url, *options))
                facts = FACTS.validate_python(said)
                port = facts.address[1]
                async with client_of(facts) as client:
                    slow = client.begin("GET", "/slow")
                    await client.got[slow].until(lambda: len(client.got[slow].body) > 0)
                    new, said = await asyncio.to_thread(
                        stack.enter_context, edge_command("--origin", origin.url, *options, port=port)
                    )
                    assert FACTS.validate_python(said).address[1] == port
                    for _ in range(4):
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
                assert served(new) == ["/"] * 5

    run(play)


def served(process: subprocess.Popen[str]) -> list[str]:
    assert process.stdout is not None
    return [line.split('"path": "')[1].split('"')[0] for line in process.stdout.read().splitlines()]
