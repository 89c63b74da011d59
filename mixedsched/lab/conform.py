"""Finds out which rules of HTTP/3 and of its priorities a server keeps, by asking it: one connection for each question."""

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from mixedsched.core.h3.conform import wire
from mixedsched.core.h3.conform.frames import ASKED_STREAM, FRAME_PROBES, FrameProbe, judge_frames
from mixedsched.core.h3.conform.orders import LATE_BYTES, LEAST_FILE_BYTES, ORDER_PROBES, OrderProbe, is_seen_enough
from mixedsched.core.h3.conform.seen import SeenConnection
from mixedsched.core.h3.conform.verdict import RuleVerdict, over_tries
from mixedsched.core.h3.conform.wire import WirePiece
from mixedsched.errors import InputError, MissingPartError, MixedschedError
from mixedsched.world.client.talk import Talk

TRIES = 3
LIMIT_S = 100.0
"""All probes together; what is not asked by then is told as unclear."""
MOST_BYTES = 64_000_000
"""Of data of responses, all probes together."""
_PROBE_S = 6.0
_SETTLE_S = 0.25
_ROUND_TRIPS = 4


@dataclass(frozen=True, slots=True)
class AskedServer:
    """A server, and the file that it is asked for."""

    host: str
    port: int
    path: str
    name: str
    """Of the host, in the handshake and in requests."""

    @property
    def authority(self) -> str:
        """As in requests."""
        name = f"[{self.name}]" if ":" in self.name else self.name
        return name if self.port == 443 else f"{name}:{self.port}"


@dataclass(frozen=True, slots=True)
class ProbeFinding:
    """What came of a probe."""

    kind: str
    """`frames` or `orders`."""
    rule: str
    """A number is a rule of docs/conformance.md; else an RFC and its section."""
    what: str
    wanted: str
    verdict: RuleVerdict

    def to_dict(self) -> dict[str, Any]:
        return {
            "kind": self.kind,
            "rule": self.rule,
            "what": self.what,
            "wanted": self.wanted,
            "did": self.verdict.did,
            "verdict": self.verdict.word,
        }


class Examination:
    """Asks one server. `server`: what it calls itself; bytes, connections: what was asked of it so far."""

    def __init__(self, target: AskedServer, *, tries: int = TRIES, with_risky: bool = False) -> None:
        self._target = target
        self._host = target.host
        self._tries = tries
        self._with_risky = with_risky
        self._end_s = time.monotonic() + LIMIT_S
        self._settle_s = _SETTLE_S
        self.server = ""
        self.received_bytes = 0
        self.connections = 0
        self.died_after = ""
        """The probe after which the server answered no more; empty as long as it answers."""

    def look(self) -> None:
        """See that the file is there and large enough.

        Raises MissingPartError if nothing there speaks HTTP/3, InputError if there is no large file, MixedschedError if the
        server ends the connection.
        """
        target = self._target
        began_s = time.monotonic()
        with self._talk() as talk:
            self._settle_s = _SETTLE_S + _ROUND_TRIPS * (time.monotonic() - began_s)
            request = WirePiece(0, wire.request(target.authority, target.path), ends=True)
            self._say(talk, [WirePiece(wire.CONTROL, wire.BEGINNING), request])
            talk.run(_is_known, 2 * _PROBE_S)
            seen = talk.seen
        self.received_bytes += seen.received_bytes
        self.server = seen.servers.get(0, "")
        self._refuse_what_is_no_large_file(seen)

    def findings(self) -> Iterator[ProbeFinding]:
        """One probe after another, orders first: frames that must not be may cost a server more."""
        for order in ORDER_PROBES:
            yield ProbeFinding("orders", order.rule, order.what, order.wanted, self.ask_order(order))
            if self.died_after:
                return
        for frames in FRAME_PROBES:
            if frames.is_risky and not self._with_risky:
                continue
            yield ProbeFinding("frames", frames.rule, frames.what, frames.wanted, self.ask_frames(frames))
            if self.died_after:
                return

    def _refuse_what_is_no_large_file(self, seen: SeenConnection) -> None:
        path, where = self._target.path, f"{self._target.host}:{self._target.port}"
        fix = f"name a file of at least {LEAST_FILE_BYTES // 1000} kB with --path"
        status = seen.statuses.get(0)
        if seen.closed is not None:
            reason = seen.closed.reason or f"error {seen.closed.code:#x}"
            raise MixedschedError(f"{where} closes the connection instead of answering", why=reason)
        if status is None:
            why = f"nothing came within {2 * _PROBE_S:.0f} s"
            if 0 in seen.resets:
                why = f"the request was cut off with error {seen.resets[0]:#x}"
            raise MixedschedError(f"no response for {path} from {where}", why=why)
        if status != 200:
            raise InputError(f"{path} is answered with status {status}", fix=fix)
        size = seen.lengths.get(0, seen.received_bytes)
        if size < LEAST_FILE_BYTES:
            is_known = 0 in seen.lengths or 0 in seen.ended
            why = f"it has {size} bytes" if is_known else f"{size} bytes of it came within {2 * _PROBE_S:.0f} s"
            raise InputError(f"{path} is no large file", why=why, fix=fix)

    def _talk(self) -> Talk:
        """A new connection, always to the same address: a name may have several, and other servers behind them."""
        self.connections += 1
        talk = Talk(self._host, self._target.port, self._target.name)
        self._host = talk.host
        return talk

    def ask_order(self, probe: OrderProbe) -> RuleVerdict:
        """One probe on orders, as often as it is to be tried."""
        verdicts: list[RuleVerdict] = []
        for _ in range(self._tries):
            verdict = self._asked(lambda: self._order(probe), probe.what)
            verdicts.append(verdict)
            if self.died_after:
                return verdict
        return over_tries(verdicts)

    def ask_frames(self, probe: FrameProbe) -> RuleVerdict:
        """One probe on frames, once."""
        return self._asked(lambda: self._frames(probe), probe.what)

    def _asked(self, ask: Callable[[], RuleVerdict], what: str) -> RuleVerdict:
        if time.monotonic() >= self._end_s or self.received_bytes >= MOST_BYTES:
            return RuleVerdict("unclear", "not asked: the time or the bytes allowed were used up")
        try:
            return ask()
        except MissingPartError:
            self._see_whether_it_lives(what)
            return (
                RuleVerdict("wrong", "the server is gone") if self.died_after else RuleVerdict("unclear", "no answer")
            )
        except MixedschedError as error:
            return RuleVerdict("unclear", str(error))

    def _see_whether_it_lives(self, what: str) -> None:
        time.sleep(self._settle_s)
        try:
            with self._talk():
                return
        except MissingPartError:
            self.died_after = what
        except MixedschedError:
            return

    def _order(self, probe: OrderProbe) -> RuleVerdict:
        target = self._target
        with self._talk() as talk:
            self._say(talk, probe.pieces_for(target.authority, target.path))
            if probe.is_late:
                talk.run(lambda seen: seen.received_bytes >= LATE_BYTES, _PROBE_S)
                self._say(talk, probe.late_pieces_for(target.authority, target.path))
            talk.run(lambda seen: is_seen_enough(probe, seen), _PROBE_S)
            seen = talk.seen
        self.received_bytes += seen.received_bytes
        if seen.closed is not None:
            return RuleVerdict("unclear", f"the connection ended: {seen.closed.reason or hex(seen.closed.code)}")
        return probe.judge(seen)

    def _frames(self, probe: FrameProbe) -> RuleVerdict:
        target = self._target
        with self._talk() as talk:
            self._say(talk, probe.pieces)
            if probe.code is not None:
                talk.run(_never, self._settle_s)  # ends with the connection
            self._say(talk, [probe.request_for(target.authority, target.path)])
            talk.run(lambda seen: ASKED_STREAM in seen.statuses or ASKED_STREAM in seen.resets, _PROBE_S)
            if probe.code is not None:
                talk.run(_never, self._settle_s)  # control streams may be read beside requests
            seen = talk.seen
        self.received_bytes += seen.received_bytes
        return judge_frames(probe, seen)

    def _say(self, talk: Talk, pieces: Sequence[WirePiece]) -> None:
        for piece in pieces:
            talk.write(piece.stream_id, piece.data, ends=piece.ends)
            if piece.waits:
                talk.run(_never, self._settle_s / 5)


def _never(_: SeenConnection) -> bool:
    return False


def _is_known(seen: SeenConnection) -> bool:
    """Whether the first answer says enough."""
    if 0 in seen.resets or (0 in seen.ended and 0 in seen.statuses):
        return True
    is_told = 0 in seen.lengths or seen.received_bytes >= LEAST_FILE_BYTES
    return 0 in seen.statuses and (seen.statuses[0] != 200 or is_told)
