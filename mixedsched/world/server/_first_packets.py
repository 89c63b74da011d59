"""Packets that belong to no connection: which new clients get one, and who is answered (Version Negotiation, Retry, a refusal).

Nothing is kept of those that do not get a connection.
"""

import os
import sys
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum, auto
from pathlib import Path

from aioquic.quic.configuration import SMALLEST_MAX_DATAGRAM_SIZE
from aioquic.quic.connection import TRANSPORT_CLOSE_FRAME_CAPACITY
from aioquic.quic.crypto import CryptoPair
from aioquic.quic.packet import (
    QuicErrorCode,
    QuicFrameType,
    QuicHeader,
    QuicPacketType,
    encode_quic_retry,
    encode_quic_version_negotiation,
)
from aioquic.quic.packet_builder import QuicPacketBuilder
from aioquic.quic.retry import QuicRetryTokenHandler

from mixedsched.core.h3.session import Address
from mixedsched.world.server.clients import client_of
from mixedsched.world.server.handover import make_connection_id
from mixedsched.world.server.settings import Limits, RetryPolicy

_MEMORY_EVERY_S = 0.25
_TOKEN_MARK = b"mixedsched"
_OWN_MEMORY = Path("/proc/self/statm")


class Admittance(Enum):
    """The decision on a client's first packet."""

    ACCEPT = auto()
    PROVE_ADDRESS = auto()
    REFUSE = auto()
    IGNORE = auto()


class Admission:
    """Counts connections and handshakes, and admits new clients by them. Pure: its caller reports what happens."""

    def __init__(self, limits: Limits, retry: RetryPolicy) -> None:
        self._limits = limits
        self._retry = retry
        self._connections = 0
        self._by_client: Counter[str] = Counter()
        self._handshakes = 0
        self._unproven_handshakes = 0

    @property
    def connections(self) -> int:
        return self._connections

    def judge(self, client: str, *, proven: bool, memory_is_full: bool) -> Admittance:
        """Decide on a client's first packet. proven: it has shown that it receives what is sent to its address.

        The proof is demanded before anything is refused, so that a client with a forged address learns and costs nothing more.
        """
        limits = self._limits
        if not proven and self._must_prove():
            return Admittance.PROVE_ADDRESS
        if (
            memory_is_full
            or self._connections >= limits.connections
            or self._by_client[client] >= limits.connections_per_client
        ):
            return Admittance.REFUSE
        return Admittance.ACCEPT if self._handshakes < limits.handshakes else Admittance.IGNORE

    def opened(self, client: str, *, proven: bool) -> None:
        """A handshake begins."""
        self._connections += 1
        self._by_client[client] += 1
        self._handshakes += 1
        self._unproven_handshakes += not proven

    def established(self, *, proven: bool) -> None:
        """A handshake has ended, well or not."""
        self._handshakes -= 1
        self._unproven_handshakes -= not proven

    def closed(self, client: str) -> None:
        """A connection is gone; its handshake must have ended."""
        self._connections -= 1
        self._by_client[client] -= 1
        if not self._by_client[client]:
            del self._by_client[client]

    def _must_prove(self) -> bool:
        if self._retry is RetryPolicy.AUTO:
            return self._unproven_handshakes >= self._limits.unproven_handshakes
        return self._retry is RetryPolicy.ALWAYS


class MemoryLimit:
    """Tells when this process uses more memory than it may. Pages of mapped files do not count: the system can drop them.

    Where the system does not tell what a process uses (no /proc), there is no limit.
    """

    def __init__(self, limit_bytes: int) -> None:
        self._limit_bytes = limit_bytes
        self._measured_at_s = float("-inf")
        self._is_exceeded = False

    def is_exceeded(self) -> bool:
        """Measured anew at most every quarter of a second."""
        now_s = time.monotonic()
        if now_s >= self._measured_at_s + _MEMORY_EVERY_S:
            self._measured_at_s = now_s
            self._is_exceeded = _own_memory_bytes() > self._limit_bytes
        return self._is_exceeded


def _own_memory_bytes() -> int:
    """Of this process now; 0 where nobody knows."""
    try:
        resident, shared = _OWN_MEMORY.read_bytes().split()[1:3]  # in pages; see proc(5)
    except OSError:
        return 0 if sys.platform == "linux" else _own_memory_elsewhere_bytes()
    return (int(resident) - int(shared)) * os.sysconf("SC_PAGE_SIZE")


def _own_memory_elsewhere_bytes() -> int:
    """The same on other systems than Linux."""
    import psutil  # here, because it takes a while to load

    try:
        return int(psutil.Process().memory_info().rss)
    except psutil.Error:
        return 0


@dataclass(frozen=True, slots=True)
class NewClient:
    """A client that gets a connection."""

    client: str  # as counted by Admission
    first_id: bytes  # destination connection ID of its very first packet
    retry_id: bytes | None  # connection ID of our Retry packet, if there was one


class FirstPackets:
    """Decides on packets that belong to no connection.

    versions: of QUIC that are spoken here. worker: number in the connection IDs for clients that must prove their address.
    """

    def __init__(self, versions: Sequence[int], admission: Admission, memory: MemoryLimit, worker: int) -> None:
        self._versions = versions
        self._admission = admission
        self._memory = memory
        self._worker = worker
        self._proof = AddressProof()

    def judge(
        self, header: QuicHeader, size_bytes: int, address: Address, now_s: float, *, is_closed: bool
    ) -> NewClient | bytes | None:
        """The new client; or a packet to answer with; or None to stay silent. is_closed: all new clients are refused.

        Packets too small for a first one are not answered, so that we never send more than was sent to us.
        """
        if size_bytes < SMALLEST_MAX_DATAGRAM_SIZE or not address[1]:  # there is no answering to port 0
            return None
        if header.version is not None and header.version not in self._versions:
            if header.packet_type == QuicPacketType.VERSION_NEGOTIATION:
                return None
            return version_negotiation(header, self._versions)
        if header.packet_type != QuicPacketType.INITIAL:
            return None
        new = NewClient(client_of(address), header.destination_cid, None)
        if is_retry_token(header.token):
            try:
                first_id = self._proof.check(header, address, now_s)
            except ValueError:
                return refusal(header, QuicErrorCode.INVALID_TOKEN)
            new = NewClient(new.client, first_id, header.destination_cid)
        proven = new.retry_id is not None
        match self._admission.judge(new.client, proven=proven, memory_is_full=self._memory.is_exceeded() or is_closed):
            case Admittance.PROVE_ADDRESS:
                return self._proof.demand(header, address, make_connection_id(self._worker), now_s)
            case Admittance.REFUSE:
                return refusal(header, QuicErrorCode.CONNECTION_REFUSED)
            case Admittance.IGNORE:
                return None
        return new


def version_negotiation(header: QuicHeader, supported_versions: Sequence[int]) -> bytes:
    """Tells a client with another version which ones there are."""
    return encode_quic_version_negotiation(
        source_cid=header.destination_cid,
        destination_cid=header.source_cid,
        supported_versions=list(supported_versions),
    )


def refusal(header: QuicHeader, error_code: QuicErrorCode) -> bytes:
    """Answers an Initial packet by closing its connection, so that the client need not wait (RFC 9000 section 10.2.3)."""
    assert header.version is not None, "Initial packets have a version"
    crypto = CryptoPair()
    crypto.setup_initial(cid=header.destination_cid, is_client=False, version=header.version)
    builder = QuicPacketBuilder(
        host_cid=header.destination_cid,
        is_client=False,
        max_datagram_size=SMALLEST_MAX_DATAGRAM_SIZE,
        peer_cid=header.source_cid,
        version=header.version,
    )
    builder.start_packet(QuicPacketType.INITIAL, crypto)
    buffer = builder.start_frame(QuicFrameType.TRANSPORT_CLOSE, capacity=TRANSPORT_CLOSE_FRAME_CAPACITY)
    buffer.push_uint_var(error_code)
    buffer.push_uint_var(QuicFrameType.PADDING)
    buffer.push_uint_var(0)
    datagrams, _ = builder.flush()
    return datagrams[0]


def is_retry_token(token: bytes | None) -> bool:
    """Whether a server of this kind has made the token, for a Retry packet.

    Browsers keep tokens that a server has sent with NEW_TOKEN, and show them to whichever server they find at that name and
    port later. One that is not ours proves nothing, and is no reason to refuse its client (RFC 9000 section 8.1.3).
    """
    return token is not None and token.startswith(_TOKEN_MARK)


class AddressProof:
    """Has clients prove that they receive what is sent to their address: with a Retry packet, whose token they send back.

    A token holds the address, the time and the first connection ID, encrypted with a key of this process. It is valid for half
    a minute and for that address only. It begins with a mark, by which it is told from tokens of other servers.
    """

    def __init__(self) -> None:
        self._tokens = QuicRetryTokenHandler()

    def demand(self, header: QuicHeader, address: Address, connection_id: bytes, now_s: float) -> bytes:
        """The Retry packet. connection_id: a fresh one, which the client must use in its next packet."""
        assert header.version is not None, "Initial packets have a version"
        token = _TOKEN_MARK + self._tokens.create_token(
            address=address,
            original_destination_connection_id=header.destination_cid,
            retry_source_connection_id=connection_id,
            now=now_s,
        )
        return encode_quic_retry(
            version=header.version,
            source_cid=connection_id,
            destination_cid=header.source_cid,
            original_destination_cid=header.destination_cid,
            retry_token=token,
        )

    def check(self, header: QuicHeader, address: Address, now_s: float) -> bytes:
        """The connection ID of the client's very first packet. Raises ValueError if the token is not valid."""
        return self._tokens.validate_token(
            address=address,
            destination_cid=header.destination_cid,
            token=header.token.removeprefix(_TOKEN_MARK),
            now=now_s,
        )
