"""Certificates, sockets, and the emulated networks."""

import asyncio
import datetime as dt
import socket
from collections.abc import Mapping

from cryptography import x509

from mixedsched.core.h3.certificate import make_certificate
from mixedsched.errors import MixedschedError
from mixedsched.model.profile import Direction, Profile
from mixedsched.world.emulator.kernel.privilege import Privilege, require_privilege
from mixedsched.world.emulator.netns.backend import netns_backend
from mixedsched.world.emulator.relay.backend import relay_backend
from mixedsched.world.emulator.vm.machine import require_qemu, require_taps

_PROBES = 400
_PROBE_GAP_S = 0.002
_MAX_LATE_P99_US = 2000
_TRIES = 3
_SHAPED = Direction(rate_bps=2_000_000, delay_us=10_000, queue_bytes=20_000, burst_bytes=1514)


def prove_certificate() -> str:
    hosts = ["a.test", "b.test", "127.0.0.1"]
    certificate = make_certificate(hosts, dt.datetime.now(dt.UTC))
    names = certificate.certificate.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    covered = {*names.get_values_for_type(x509.DNSName), *map(str, names.get_values_for_type(x509.IPAddress))}
    missing = [host for host in hosts if host not in covered]
    if missing:
        raise MixedschedError(
            f"a self-made certificate does not cover {', '.join(missing)}", fix="reinstall cryptography"
        )
    return f"self-made, covers {len(hosts)} names, key hash {certificate.spki_sha256[:12]}..."


def prove_ports() -> str:
    with (
        socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as first,
        socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as second,
    ):
        for sock in (first, second):
            sock.bind(("127.0.0.1", 0))
        return f"for instance {first.getsockname()[1]} and {second.getsockname()[1]} on the loopback interface"


async def prove_relay() -> str:
    """Send probes through a relay with 10 ms each way: how late does it let them go? After a busy moment it is asked again."""
    for _ in range(_TRIES):
        late = await _lateness()
        if late["p99_us"] <= _MAX_LATE_P99_US:
            break
    detail = f"packets leave {late['p50_us']} us late at the median, {late['p99_us']} us at the 99th percentile"
    if late["p99_us"] > _MAX_LATE_P99_US:
        raise MixedschedError(
            detail, why="too late to emulate a network", fix="stop what else is running on this machine"
        )
    return detail


async def _lateness() -> Mapping[str, int]:
    """How late the relay let probes to a server go: percentiles in us."""
    loop = asyncio.get_running_loop()
    ten_ms = Direction(delay_us=10_000)
    with (
        socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as server,
        socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as client,
    ):
        for sock in (server, client):
            sock.bind(("127.0.0.1", 0))
            sock.setblocking(False)
        async with (
            relay_backend(Profile("probe", "", "", ten_ms, ten_ms)) as backend,
            backend.link(server.getsockname(), 1) as link,
        ):
            await loop.sock_connect(client, link.address)
            for _ in range(_PROBES):
                await loop.sock_sendall(client, b"probe")
                await asyncio.wait_for(loop.sock_recv(server, 64), 5)
                await asyncio.sleep(_PROBE_GAP_S)
    up: Mapping[str, int] = link.counters["punctuality"]["up"]
    return up


async def prove_namespaces() -> str:
    """Set up the kernel's link in namespaces, and take it down."""
    async with netns_backend(Profile("probe", "", "", _SHAPED, _SHAPED)) as backend:
        how = "" if backend.privilege is Privilege.ROOT else " in a user namespace, without root"
        return "; ".join((f"`--backend netns` works here{how}", *backend.notes))


def prove_router() -> str:
    """See that all is there that the router VM needs; it is not started."""
    require_privilege()
    require_taps()
    return f"`--backend vm` has what it needs: {require_qemu()}"
