"""Packets that are answered without a connection."""

from __future__ import annotations

from dataclasses import replace

import pytest
from aioquic.buffer import Buffer  # type: ignore[attr-defined]
from aioquic.quic.packet import QuicHeader, QuicPacketType, pull_quic_header

from mixedsched.world.server._first_packets import AddressProof, is_retry_token

FIRST_ID, OUR_ID, CLIENT_ID = b"F" * 8, b"O" * 8, b"C" * 8
ADDRESS = ("192.0.2.1", 4433)


def initial(destination_id: bytes, token: bytes = b"") -> QuicHeader:
    return QuicHeader(
        version=1,
        packet_type=QuicPacketType.INITIAL,
        packet_length=1200,
        destination_cid=destination_id,
        source_cid=CLIENT_ID,
        token=token,
        integrity_tag=b"",
        supported_versions=[],
    )


def demanded(proof: AddressProof) -> QuicHeader:
    """The Retry packet as the client reads it."""
    packet = proof.demand(initial(FIRST_ID), ADDRESS, OUR_ID, now_s=100.0)
    return pull_quic_header(Buffer(data=packet), host_cid_length=8)


def test_a_token_gives_back_the_first_connection_id() -> None:
    proof = AddressProof()
    retry = demanded(proof)
    assert (retry.source_cid, retry.destination_cid) == (OUR_ID, CLIENT_ID)
    assert proof.check(initial(OUR_ID, retry.token), ADDRESS, now_s=129.0) == FIRST_ID


@pytest.mark.parametrize(
    ("address", "destination_id", "now_s"),
    [
        (("192.0.2.2", 4433), OUR_ID, 101.0),
        (("192.0.2.1", 4434), OUR_ID, 101.0),
        (ADDRESS, b"X" * 8, 101.0),
        (ADDRESS, OUR_ID, 131.0),
    ],
    ids=["another host", "another port", "another connection", "too late"],
)
def test_a_token_is_good_for_its_address_and_connection_and_half_a_minute(
    address: tuple[str, int], destination_id: bytes, now_s: float
) -> None:
    proof = AddressProof()
    header = initial(destination_id, demanded(proof).token)
    with pytest.raises(ValueError, match=r".+"):
        proof.check(header, address, now_s)


def test_a_token_cannot_be_changed_nor_come_from_elsewhere() -> None:
    proof = AddressProof()
    header = initial(OUR_ID, demanded(proof).token)
    changed = header.token[:-1] + bytes([header.token[-1] ^ 1])
    for token in (changed, demanded(AddressProof()).token, header.token[:10], header.token[:20], b"", b"short"):
        with pytest.raises(ValueError, match=r".+"):
            proof.check(replace(header, token=token), ADDRESS, now_s=101.0)


def test_tokens_of_other_servers_are_told_from_those_of_retry() -> None:
    """A browser may show what another server on the same name and port once gave it (RFC 9000 section 8.1.3)."""
    assert is_retry_token(demanded(AddressProof()).token)
    assert not any(map(is_retry_token, (None, b"", b"short", bytes(80))))
