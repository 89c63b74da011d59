"""What the relay is made of: clock, timers, clients, counts of lateness."""

from __future__ import annotations

import gc
import os
import resource
import select
import socket
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mixedsched.lab._lab import LIMIT_SLACK_S, LabSetup
from mixedsched.lab._validity import MAX_HELD_RATIO
from mixedsched.lab.diagnostics import held_ms
from mixedsched.model.profile import CoDel, Direction, Profile
from mixedsched.world.emulator._timestamps import ANCILLARY_BYTES, arrived_ns, ask_for_timestamps, missed_before
from mixedsched.world.emulator.relay._clients import Client, Clients, source_towards
from mixedsched.world.emulator.relay._core import PreciseSelector, Relay, RelayClock, _Way
from mixedsched.world.emulator.relay._punctuality import LATE_US, Lateness, Stalls, punctuality
from tests.patience import wait_until
from tests.world.emulator.relaying import LOOPBACK, udp

LATENESS = st.lists(st.integers(0, 20_000), min_size=1)


def counted(late_us: list[int]) -> Lateness:
    lateness = Lateness()
    for value in late_us:
        lateness.note(value)
    return lateness


class TestLateness:
    @given(late_us=LATENESS, share=st.floats(0.01, 1))
    def test_a_quantile_is_the_least_that_so_many_packets_keep(self, late_us: list[int], share: float) -> None:
        quantile_us = counted(late_us).quantile_us(share)
        needed = share * len(late_us)
        assert sum(value <= quantile_us for value in late_us) >= needed
        if quantile_us < 10_000:
            assert sum(value < quantile_us for value in late_us) < needed
        else:
            assert quantile_us == max(late_us)

    @given(late_us=LATENESS)
    def test_late_are_those_beyond_a_millisecond(self, late_us: list[int]) -> None:
        lateness = counted(late_us)
        assert lateness.late == sum(value > LATE_US for value in late_us)
        assert (lateness.delivered, lateness.worst_us) == (len(late_us), max(late_us))

    def test_without_packets_nothing_is_late(self) -> None:
        assert Lateness().facts() == {"delivered": 0, "late": 0, "p50_us": 0, "p99_us": 0, "worst_us": 0}

    def test_both_directions_count_together(self) -> None:
        told = punctuality(counted([1, 2000]), counted([3, 5, 1500]), late_timers=4, stalls=Stalls())
        assert {key: told[key] for key in ("delivered", "late", "worst_us", "late_timers")} == {
            "delivered": 5,
            "late": 2,
            "worst_us": 2000,
            "late_timers": 4,
        }
        assert told["up"]["p50_us"] == 5


class TestStalls:
    @given(held=st.lists(st.tuples(st.integers(0, 5_000), st.integers(0, 30_000)), max_size=60))
    def test_they_are_the_times_in_which_a_packet_was_kept_each_counted_once(self, held: list[tuple[int, int]]) -> None:
        stalls, kept, now_us = Stalls(), set(), 0
        for pause_us, late_us in held:
            now_us += pause_us
            due_us = max(0, now_us - late_us)
            stalls.note(due_us, now_us)
            if now_us - due_us > LATE_US:
                kept.update(range(due_us, now_us))
        facts = stalls.facts()
        assert facts["held_us"] == len(kept)
        assert {moment for from_us, to_us in facts["stalls_us"] for moment in range(from_us, to_us)} == kept
        ends = [moment for stall in facts["stalls_us"] for moment in stall]
        assert ends == sorted(ends)

    def test_punctual_packets_make_none(self) -> None:
        stalls = Stalls()
        stalls.note(500, 500 + LATE_US)
        assert stalls.facts() == {"held_us": 0, "stalls_us": []}

    def test_however_many_there_are_all_are_counted_and_so_many_told_that_no_load_counts(self) -> None:
        stalls, late_us = Stalls(), LATE_US + 1
        for number in range(10_000):
            stalls.note(number * 10_000, number * 10_000 + late_us)
        setup = LabSetup(Profile("", "", "", Direction(), Direction()), "mobile", {})
        facts, longest_ms = stalls.facts(), (setup.limit_s - LIMIT_SLACK_S) * 1000
        assert facts["held_us"] == 10_000 * late_us
        assert len(facts["stalls_us"]) < 10_000
        assert held_ms(facts, longest_ms) > MAX_HELD_RATIO * longest_ms

    def test_beyond_these_too_the_packets_of_one_stall_count_once(self) -> None:
        stalls = Stalls()
        for number in range(8000):
            stalls.note(number * 10_000, number * 10_000 + 2000)
        for due_us in range(80_000_000, 80_005_000, 100):
            stalls.note(due_us, 80_010_000)
        assert stalls.facts()["held_us"] == 8000 * 2000 + 10_000


def clock_offset_ns() -> int:
    """How far the wall clock, by which the kernel notes arrivals, is ahead of the monotonic one."""
    return time.time_ns() - time.monotonic_ns()


class TestTimestamps:
    @pytest.mark.usefixtures("real_time")
    def test_the_time_that_a_datagram_waits_in_its_socket_is_known(self) -> None:
        """Soon after it was asked for: a kernel that nobody has asked before begins to note arrivals a little later."""
        with noting() as receiver, udp() as sender:
            clock = RelayClock()

            def is_known() -> bool:
                offset_ns = clock_offset_ns()
                sender.sendto(b"hello", receiver.getsockname())
                time.sleep(0.05)
                _, notes, _, _ = receiver.recvmsg(100, ANCILLARY_BYTES)
                arrived, now = (arrived_ns(notes), clock.arrival_us(notes)), (time.monotonic_ns(), clock.now_us())
                was_clock_set = abs(clock_offset_ns() - offset_ns) > 1_000_000
                # What a clock that is slewed may be off by meanwhile is allowed for.
                return not was_clock_set and arrived[0] <= now[0] - 49_000_000 and arrived[1] <= now[1] - 49_000

            assert wait_until(is_known, 10)

    def test_datagrams_that_found_no_room_are_counted_beside_the_next_one(self) -> None:
        sent = 300
        with noting() as receiver, udp() as sender:
            receiver.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 20_000)
            receiver.setblocking(False)
            for _ in range(sent):
                sender.sendto(bytes(1000), receiver.getsockname())
            received = 0
            with suppress(BlockingIOError):
                while True:
                    assert missed_before(receiver.recvmsg(2000, ANCILLARY_BYTES)[1]) == 0
                    received += 1
            sender.sendto(b"next", receiver.getsockname())
            assert missed_before(receiver.recvmsg(2000, ANCILLARY_BYTES)[1]) == sent - received > 0

    def test_without_the_kernels_word_it_came_in_just_now_and_none_is_missed(self) -> None:
        before_ns = time.monotonic_ns()
        assert before_ns <= arrived_ns([]) <= time.monotonic_ns()
        assert missed_before([]) == 0

    @pytest.mark.usefixtures("real_time")
    def test_a_pause_between_the_readings_of_two_clocks_makes_no_datagram_older(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        with noting() as receiver, udp() as sender:
            sender.sendto(b"hello", receiver.getsockname())
            sent_ns = time.monotonic_ns()
            _, notes, _, _ = receiver.recvmsg(100, ANCILLARY_BYTES)
            pauses = iter([0.03, 0.03, 0.0, 0.03])
            read_wall = time.time_ns

            def held_up() -> int:
                time.sleep(next(pauses))
                return read_wall()

            monkeypatch.setattr("mixedsched.world.emulator._timestamps.time.time_ns", held_up)
            assert arrived_ns(notes) >= sent_ns - 20_000_000

    def test_time_begins_anew_where_it_is_told_to(self) -> None:
        clock = RelayClock()
        before_us = clock.now_us()
        clock.begin_at(-1_000_000)
        assert clock.now_us() >= before_us + 1_000_000


@contextmanager
def noting() -> Iterator[socket.socket]:
    with udp() as sock, udp() as sender:
        ask_for_timestamps(sock)
        sender.sendto(b"", sock.getsockname())
        if not sock.recvmsg(10, ANCILLARY_BYTES)[1]:
            pytest.skip("this system notes nothing")
        yield sock


class TestSelector:
    def test_it_waits_for_fractions_of_a_millisecond_and_not_less(self) -> None:
        selector = PreciseSelector()
        started_ns = time.monotonic_ns()
        assert selector.wait(700) == []
        assert time.monotonic_ns() - started_ns >= 700_000
        selector.close()

    def test_it_calls_for_files_that_select_cannot_take(self) -> None:
        soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        if soft < 1100:
            if hard != resource.RLIM_INFINITY and hard < 1100:
                pytest.skip(f"this account may not open more than {hard} files")
            resource.setrlimit(resource.RLIMIT_NOFILE, (1100, hard))
        selector = PreciseSelector()
        with ExitStack() as files:
            reading, writing = os.pipe()
            high = 1050
            os.dup2(reading, high)
            for file in (reading, writing, high):
                files.callback(os.close, file)
            with pytest.raises(ValueError, match="out of range"):
                select.select([high], [], [], 0)
            called: list[str] = []
            selector.add(high, lambda: called.append("high"))
            assert selector.wait(1000) == []
            os.write(writing, b"x")
            for ready in selector.wait(1_000_000):
                ready()
            assert called == ["high"]
            selector.remove(high)
            assert selector.wait(0) == []
        selector.close()
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


class TestClients:
    SERVER = (LOOPBACK, 9)

    def clients(self, limit: int) -> tuple[Clients, list[str]]:
        said: list[str] = []

        def name(client: Client) -> str:
            return str(client.address[0])

        return Clients(
            self.SERVER,
            came=lambda client: said.append(f"{name(client)} came"),
            goes=lambda client: said.append(f"{name(client)} goes"),
            limit=limit,
            idle_us=1000,
        ), said

    def test_each_address_has_a_socket_of_its_own(self) -> None:
        clients, said = self.clients(2)
        one, two = clients.of(("a", 1), 0), clients.of(("b", 1), 0)
        assert one is not None
        assert two is not None
        assert one.upstream.getsockname() != two.upstream.getsockname()
        assert clients.of(("a", 1), 5) is one
        assert said == ["a came", "b came"]
        clients.close()

    def test_the_one_idle_for_longest_makes_room(self) -> None:
        clients, said = self.clients(2)
        for name, now_us in (("a", 0), ("b", 10), ("a", 20), ("c", 1010)):
            clients.of((name, 1), now_us)
        assert said == ["a came", "b came", "b goes", "c came"]
        assert (clients.total, clients.refused) == (3, 0)
        clients.close()

    def test_nobody_in_use_has_to_go(self) -> None:
        clients, said = self.clients(2)
        for name, now_us in (("a", 0), ("b", 10), ("c", 900), ("c", 901), ("d", 902)):
            clients.of((name, 1), now_us)
        assert said == ["a came", "b came"]
        assert (clients.refused, clients.refused_datagrams) == (2, 3)
        clients.close()

    def test_one_that_was_refused_comes_in_once_there_is_room(self) -> None:
        clients, said = self.clients(1)
        for now_us in (0, 999):
            clients.of((f"at {now_us}", 1), now_us)
        assert clients.of(("at 999", 1), 1000) is not None
        assert said == ["at 0 came", "at 0 goes", "at 999 came"]
        clients.close()

    @pytest.mark.parametrize(
        ("server", "source"),
        [("127.0.0.1", "127.0.0.1"), ("::1", "::1"), ("192.0.2.1", "0.0.0.0"), ("2001:db8::1", "::")],
    )
    def test_they_send_from_where_the_server_is_reached(self, server: str, source: str) -> None:
        assert source_towards(server) == source


class TestRelay:
    def test_nothing_on_a_packets_way_makes_work_for_the_garbage_collector(self) -> None:
        wire = Direction(rate_bps=1_000_000_000, delay_us=100, queue_bytes=10_000_000)
        with udp() as server, udp() as client:
            relay = Relay(Profile("x", "", "", wire, wire), 1, server.getsockname(), (LOOPBACK, 0))
            self.carry(relay, client, server, rounds=1)
            gc.collect()
            gc.disable()
            try:
                self.carry(relay, client, server, rounds=100)
                assert gc.collect() < 10
            finally:
                gc.enable()
                relay.close()

    def test_what_leaves_the_queue_under_codel_at_its_time_is_not_held_up_by_a_late_look(self) -> None:
        """Three packets of 1 ms each, and 50 ms on the way: they leave at 1, 2 and 3 ms, and arrive at 51, 52 and 53."""
        wire = Direction(rate_bps=8_000_000, delay_us=50_000, queue_bytes=100_000, codel=CoDel())
        stalls, sent = Stalls(), list[bytes]()
        way = _Way("down", wire, 1, None, stalls, lambda _, data: sent.append(data), 1472)
        with udp() as upstream:
            client = Client((LOOPBACK, 1), upstream, 0)
            for number in range(3):
                way.push(client, bytes([number]) * (1000 - wire.overhead_bytes), 0)
        way.deliver(lambda: 30_000)
        assert (stalls.facts()["held_us"], sent) == (0, [])
        way.deliver(lambda: 55_000)
        assert (stalls.facts()["stalls_us"], len(sent)) == ([[51_000, 55_000]], 3)

    def test_what_the_system_will_not_send_on_is_counted_and_stops_nothing(self) -> None:
        sent: list[bytes] = []

        def send(_: Client, data: bytes) -> None:
            if data == b"refused":
                raise OSError("no buffer space available")
            sent.append(data)

        way = _Way("down", Direction(), 1, None, Stalls(), send, 1472)
        with udp() as upstream:
            client = Client((LOOPBACK, 1), upstream, 0)
            for data in (b"one", b"refused", b"two"):
                way.push(client, data, 0)
        way.deliver(lambda: 0)
        assert (sent, way.facts()["undeliverable"]) == ([b"one", b"two"], 1)

    def carry(self, relay: Relay, client: socket.socket, server: socket.socket, rounds: int) -> None:
        """Send packets to the server, some at a time, and let the relay work until they are there."""
        packets = 20
        for _ in range(rounds):
            for _ in range(packets):
                client.sendto(b"hello", relay.address)
            relay.run(lambda: select.select([server], [], [], 0)[0] != [])
            for _ in range(packets):
                relay.run(lambda: select.select([server], [], [], 0)[0] != [])
                assert server.recv(10) == b"hello"
