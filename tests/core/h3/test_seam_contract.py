"""What the seam expects of aioquic's private parts. If something here fails, an upgrade has moved what the seam stands on.

What to do then: docs/seam.md, "A new version of aioquic".
"""

from __future__ import annotations

import ast
import dataclasses
import hashlib
import inspect
import pkgutil
import re
import textwrap
from collections.abc import Callable, Iterator
from functools import cache
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any

import aioquic
import pytest
from aioquic import _crypto, tls
from aioquic.quic import connection, crypto, packet, packet_builder, recovery, stream
from aioquic.quic.congestion.base import create_congestion_control

from mixedsched.core.h3 import seam
from mixedsched.core.h3.seam import ScheduledConnection
from tests.core.h3.stock_pair import CLIENT, SERVER, pair_of

TESTED_WITH = ("1.7.2",)

# Code of aioquic that the seam repeats in short or depends on line by line. A digest leaves out comments and layout.
FOLLOWED: dict[str, str] = {
    "_crypto:HeaderProtection": "ddb9ff9bcecad603",
    "connection:Limit": "2e867d32197e021f",
    "connection:QuicConnection._confirm_handshake": "998f8c6ab63fc9a2",
    "connection:QuicConnection._discard_epoch": "30c922995e9576fb",
    "connection:QuicConnection._flush_builder": "b50ace62a43e3aa3",
    "connection:QuicConnection._handle_crypto_frame": "4e861daa76d86db8",
    "connection:QuicConnection._handshake_data_stranded": "53dff878f975e998",
    "connection:QuicConnection._initialize": "952c4144ecc362ca",
    "connection:QuicConnection._payload_received": "70786d9fab037cae",
    "connection:QuicConnection._push_crypto_data": "3f7f402b762ec4b1",
    "connection:QuicConnection._replenish_connection_ids": "2544903b49ad04c2",
    "connection:QuicConnection._send_probing_frames": "5162f6cd83c18afb",
    "connection:QuicConnection._write_application": "365dc8fbe4c4a89a",
    "connection:QuicConnection._write_connection_limits": "59141ad1f6be3a41",
    "connection:QuicConnection._write_stream_frame": "f490faeb5fcb1424",
    "connection:QuicConnection._write_stream_limits": "f5cf84d9475da2fb",
    "connection:QuicConnection.datagrams_to_send": "1b30695c5c9bf8ca",
    "connection:QuicConnection.receive_datagram": "5ef94f60656f4b53",
    "crypto:CryptoContext": "9dd70d4609b2dddd",
    "crypto:CryptoPair": "c8e4808ad9001a26",
    "packet:decode_packet_number": "7b9c31818eae0961",
    "packet_builder:QuicPacketBuilder": "32ef6713a7370837",
    "recovery:QuicPacketNumberWindow": "2d731867fdfa9ca4",
    "recovery:QuicPacketPacer": "11acda76b917eaf5",
    "recovery:QuicPacketRecovery.__init__": "aeb4c48d3dc9153c",
    "recovery:QuicPacketRecovery.on_ack_received": "5b0f50d82994c755",
    "recovery:QuicPacketRecovery._detect_loss": "e3105f6db26aedda",
    "recovery:QuicPacketRecovery._on_packets_lost": "106ad8c44a68779e",
    "recovery:QuicPacketRecovery.reschedule_data": "97392ffa64e26b7d",
    "stream:QuicStream": "2af88e28ac4e6eaf",
    "stream:QuicStreamReceiver": "98566947dafd1ca7",
    "stream:QuicStreamSender": "b4f9f393fdaf41a6",
    "tls:Context.handle_message": "b2ddb0f807d8a3db",
    "tls:Context._handle_reassembled_message": "096dd1e4fb3d0659",
}

PRIVATE: dict[str, tuple[str, ...]] = {
    "connection": (
        "_QuicConnection__frame_handlers",
        "_ack_delay",
        "_ack_eliciting_sent_since_receipt",
        "_close_at",
        "_close_pending",
        "_crypto_buffers",
        "_crypto_streams",
        "_cryptos",
        "_cryptos_initial",
        "_datagrams_pending",
        "_flush_builder",
        "_handle_max_stream_data_frame",
        "_handle_stream_frame",
        "_handshake_confirmed",
        "_handshake_done_pending",
        "_host_cids",
        "_idle_timeout",
        "_initialize",
        "_is_client",
        "_local_initial_source_connection_id",
        "_local_max_data",
        "_local_max_streams_bidi",
        "_local_max_streams_uni",
        "_local_next_stream_id_bidi",
        "_logger",
        "_loss",
        "_max_datagram_size",
        "_network_paths",
        "_on_ack_delivery",
        "_on_max_stream_data_delivery",
        "_on_ping_delivery",
        "_pacing_at",
        "_parse_transport_parameters",
        "_payload_received",
        "_peer_cid",
        "_ping_pending",
        "_probe_pending",
        "_quic_logger",
        "_remote_max_data",
        "_remote_max_data_used",
        "_remote_max_streams_bidi",
        "_replenish_connection_ids",
        "_retire_connection_ids",
        "_packet_number",
        "_send_probe",
        "_send_probing_frames",
        "_spaces",
        "_spin_bit",
        "_spin_highest_pn",
        "_state",
        "_stream_is_discarded",
        "_streams",
        "_streams_blocked_pending",
        "_streams_queue",
        "_version",
        "_write_application",
        "_write_connection_limits",
        "_write_stream_limits",
    ),
    "builder": (
        "_buffer_capacity",
        "_datagram_needs_padding",
        "_datagrams",
        "_end_packet",
        "_flight_bytes",
        "_packet_number",
        "_packets",
        "_total_bytes",
    ),
    "sender": (
        "_acked",
        "_acked_fin",
        "_buffer",
        "_buffer_fin",
        "_buffer_start",
        "_buffer_stop",
        "_pending",
        "_pending_eof",
        "_reset_error_code",
    ),
    "recovery": (
        "_cc",
        "_detect_loss",
        "_in_persistent_congestion",
        "_on_packets_lost",
        "_pacer",
        "_pto_count",
        "_rtt_initialized",
        "_rtt_latest",
        "_rtt_min",
        "_rtt_smoothed",
    ),
    "pacer": ("_max_datagram_size",),
    "cubic": ("_max_datagram_size",),
    "reno": ("_max_datagram_size",),
    "tls": ("_receive_buffer", "_server_handle_hello", "_session_resumed"),
    "crypto context": ("_setup_cb", "_teardown_cb"),
    "crypto pair": ("_update_key_requested",),
    "header protection": ("_mask",),
}


def advice(what: str) -> str:
    return f"{what}: see docs/seam.md, 'A new version of aioquic' (installed: {aioquic.__version__})"


def test_the_version_is_one_that_the_seam_was_tested_with() -> None:
    assert aioquic.__version__ in TESTED_WITH, advice(f"the seam was tested with aioquic {', '.join(TESTED_WITH)}")


@cache
def owners() -> dict[str, object]:
    """One of each of aioquic's objects that the seam looks into, of a server after its handshake."""
    client, server = pair_of("aioquic")
    client.connect(SERVER, now=0.0)
    for step in range(20):
        for data, _ in client.datagrams_to_send(now=0.01 * step):
            server.receive_datagram(data, CLIENT, now=0.01 * step)
        for data, _ in server.datagrams_to_send(now=0.01 * step):
            client.receive_datagram(data, SERVER, now=0.01 * step)
    pair = server._cryptos[tls.Epoch.ONE_RTT]
    assert pair.send.hp is not None
    return {
        "connection": server,
        "builder": packet_builder.QuicPacketBuilder(
            host_cid=b"", peer_cid=b"", version=1, is_client=False, max_datagram_size=1200
        ),
        "sender": stream.QuicStreamSender(stream_id=0, writable=True),
        "recovery": server._loss,
        "pacer": server._loss._pacer,
        "cubic": create_congestion_control("cubic", max_datagram_size=1200),
        "reno": create_congestion_control("reno", max_datagram_size=1200),
        "tls": server.tls,
        "crypto context": pair.recv,
        "crypto pair": pair,
        "header protection": pair.send.hp,
    }


@pytest.mark.parametrize(("owner", "name"), [(owner, name) for owner, names in PRIVATE.items() for name in names])
def test_a_private_name_is_where_the_seam_looks_for_it(owner: str, name: str) -> None:
    assert hasattr(owners()[owner], name), advice(f"aioquic's {owner} has no {name} any more")


def seam_modules() -> Iterator[ModuleType]:
    for found in pkgutil.iter_modules(seam.__path__):
        yield import_module(f"{seam.__name__}.{found.name}")


def private_names(tree: ast.AST) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and node.attr.startswith("_") and not node.attr.startswith("__"):
            yield node.attr


def own_names(tree: ast.AST) -> Iterator[str]:
    """Methods that are defined, and attributes that an object gives itself."""
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef):
            yield node.name
        if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store) and ast.unparse(node.value) == "self":
            yield node.attr


def test_every_private_name_that_the_seam_uses_is_listed_here() -> None:
    trees = [ast.parse(inspect.getsource(module)) for module in seam_modules()]
    own = {name for tree in trees for name in own_names(tree)}
    used = {name for tree in trees for name in private_names(tree)}
    listed = {name for names in PRIVATE.values() for name in names}
    assert sorted(used - own - listed) == []
    assert sorted(listed - used - own) == [], "listed, but used no more"


def test_only_the_seam_touches_private_parts() -> None:
    """Outside of it, `_name` is reached through `self`, `cls` or a module of the same package only."""
    home = Path(seam.__file__).parent
    listed = {name for names in PRIVATE.values() for name in names}
    for path in home.parents[2].rglob("*.py"):
        text = path.read_text(encoding="utf-8")
        if home in path.parents or not re.search(r"\b(_?quic|client|server)\s*\.\s*_", text):  # to parse all takes long
            continue
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.Attribute) and node.attr in listed:
                through = node.value.attr if isinstance(node.value, ast.Attribute) else ""
                assert through not in {"quic", "_quic", "client", "server"}, f"{path.name}:{node.lineno}: {node.attr}"


def digest(source: str) -> str:
    tree = ast.parse(textwrap.dedent(source))
    return hashlib.sha256(spelled(without_docstrings(tree)).encode()).hexdigest()[:16]


def spelled(part: Any) -> str:
    """Source without comments and layout, the same by every interpreter: newer ones know more fields, which are empty here."""
    if isinstance(part, list):
        return f"[{', '.join(map(spelled, part))}]"
    if not isinstance(part, ast.AST):
        return repr(part)
    fields = (f"{name}={spelled(value)}" for name, value in ast.iter_fields(part) if value is not None and value != [])
    return f"{type(part).__name__}({', '.join(fields)})"


def without_docstrings(tree: ast.Module) -> ast.Module:
    for node in ast.walk(tree):
        if isinstance(node, (ast.FunctionDef, ast.ClassDef)) and ast.get_docstring(node) is not None:
            node.body = node.body[1:]
    return tree


def found(name: str) -> Any:
    module, _, rest = name.partition(":")
    thing: Any = {
        "connection": connection,
        "crypto": crypto,
        "_crypto": _crypto,
        "packet": packet,
        "packet_builder": packet_builder,
        "recovery": recovery,
        "stream": stream,
        "tls": tls,
    }[module]
    for part in rest.split("."):
        thing = getattr(thing, part)
    return thing


@pytest.mark.parametrize("name", sorted(FOLLOWED))
def test_code_that_the_seam_follows_is_as_it_was(name: str) -> None:
    assert digest(inspect.getsource(found(name))) == FOLLOWED[name], advice(f"aioquic's {name} has changed")


def test_a_digest_leaves_out_comments_docstrings_and_layout_and_nothing_else() -> None:
    written = "def f(a, *, b=None):\n    return f'{a!r:>{b}} of'\n"
    laid_out = 'def f( a, *, b = None ):\n    """What it is."""\n    # why\n    return (f"{a!r:>{b}} of")\n'
    assert digest(laid_out) == digest(written)
    for old, new in (("b=None", "b=0"), ("!r", ""), (">", "<"), ("def", "async def"), ("return ", ""), ("of", "or")):
        assert digest(written.replace(old, new)) != digest(written), f"{old} -> {new}"


@pytest.mark.parametrize(
    ("thing", "fields"),
    [
        (
            packet_builder.QuicSentPacket,
            (
                "epoch in_flight is_ack_eliciting is_crypto_packet packet_number packet_type sent_time sent_bytes "
                "delivery_handlers quic_logger_frames"
            ),
        ),
        (packet.QuicStreamFrame, "data fin offset"),
        (connection.QuicReceiveContext, "epoch host_cid network_path quic_logger_frames time version"),
    ],
)
def test_records_that_the_seam_makes_have_the_fields_it_fills(thing: type, fields: str) -> None:
    assert [field.name for field in dataclasses.fields(thing)] == fields.split(), advice(
        f"{thing.__name__} has changed"
    )


def overrides() -> Iterator[tuple[str, Callable[..., Any], Callable[..., Any]]]:
    for module in seam_modules():
        for class_name, owner in inspect.getmembers(module, inspect.isclass):
            if owner.__module__ != module.__name__:
                continue
            for name, method in vars(owner).items():
                for base in owner.__mro__[1:]:
                    if base.__module__.startswith("aioquic.") and inspect.isfunction(vars(base).get(name)):
                        yield f"{class_name}.{name}", method, vars(base)[name]


@pytest.mark.parametrize(
    ("method", "original"),
    [
        pytest.param(method, original, id=name)
        for name, method, original in overrides()
        if not name.endswith("__init__")
    ],
)
def test_an_override_is_called_as_what_it_overrides(method: Any, original: Any) -> None:
    assert inspect.isfunction(method), advice("aioquic now has a method where the seam has something else")
    names = list(inspect.signature(original).parameters)
    assert list(inspect.signature(method).parameters) == names, advice("aioquic has changed what a method takes")


def test_aioquic_still_calls_what_is_overridden() -> None:
    source = inspect.getsource(connection.QuicConnection)
    writer = inspect.getsource(connection.QuicConnection._write_application)
    assert writer.count("for stream in self._streams_queue") == 2, "a packet walks the streams to serve and to rebuild"
    assert "self._streams_queue.extend(sent)" in writer, "the end of a packet is known by it"
    assert source.count("self._streams.values()") == 1, "streams are walked by ID for nothing but their limits"
    assert "self._write_application(builder, network_path, now)" in source
    assert "builder.start_packet(packet_type, crypto)" in writer, "it is stopped there after one packet"
    assert issubclass(ScheduledConnection, connection.QuicConnection)
