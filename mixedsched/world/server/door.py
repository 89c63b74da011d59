"""Who comes in: what becomes of a packet that belongs to no connection yet."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from aioquic.quic.configuration import SMALLEST_MAX_DATAGRAM_SIZE
from aioquic.quic.packet import QuicErrorCode, QuicHeader, QuicPacketType

from mixedsched.core.h3.session import Address
from mixedsched.world.server.admission import Admission, Verdict, client_of
from mixedsched.world.server.handover import make_connection_id
from mixedsched.world.server.memory import MemoryGuard
from mixedsched.world.server.stateless import AddressProof, refusal, version_negotiation


@dataclass(frozen=True, slots=True)
class Entry:
    """A client that may come in. client: as counted by Admission.

    first_id, retry_id: connection IDs of its very first packet, and of our Retry packet if there was one.
    """

    client: str
    first_id: bytes
    retry_id: bytes | None


class Door:
    """Judges first packets, without keeping anything of those that are turned away.

    versions: of QUIC that are spoken here. worker: whose connection IDs are given to clients that must prove their address.
    """

    def __init__(self, versions: Sequence[int], admission: Admission, memory: MemoryGuard, worker: int) -> None:
        self._versions = versions
        self._admission = admission
        self._memory = memory
        self._worker = worker
        self._proof = AddressProof()

    def judge(
        self, header: QuicHeader, size_bytes: int, address: Address, now_s: float, *, is_closed: bool
    ) -> Entry | bytes | None:
        """Who comes in; or a packet to answer with; or None, to say nothing. is_closed: nobody new comes in.

        Packets too small for a first one are not answered, so that nobody can have us send more than was sent to us.
        """
        if size_bytes < SMALLEST_MAX_DATAGRAM_SIZE or not address[1]:  # nobody can be answered at port 0
            return None
        if header.version is not None and header.version not in self._versions:
            if header.packet_type == QuicPacketType.VERSION_NEGOTIATION:
                return None
            return version_negotiation(header, self._versions)
        if header.packet_type != QuicPacketType.INITIAL:
            return None
        entry = Entry(client_of(address), header.destination_cid, None)
        if header.token:
            try:
                first_id = self._proof.check(header, address, now_s)
            except ValueError:
                return refusal(header, QuicErrorCode.INVALID_TOKEN)
            entry = Entry(entry.client, first_id, header.destination_cid)
        proven = entry.retry_id is not None
        match self._admission.judge(entry.client, proven=proven, memory_is_full=self._memory.is_full() or is_closed):
            case Verdict.PROVE_ADDRESS:
                return self._proof.demand(header, address, make_connection_id(self._worker), now_s)
            case Verdict.REFUSE:
                return refusal(header, QuicErrorCode.CONNECTION_REFUSED)
            case Verdict.IGNORE:
                return None
        return entry
