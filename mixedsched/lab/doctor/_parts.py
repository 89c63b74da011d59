"""Certificates, sockets, and the emulated networks."""

import datetime as dt
import socket

from cryptography import x509

from mixedsched.core.h3.certificate import make_certificate
from mixedsched.errors import MixedschedError
from mixedsched.lab.timers import MAX_LATE_P99_US, relay_lateness
from mixedsched.model.profile import Direction, Profile
from mixedsched.world.emulator.kernel.privilege import Privilege, require_privilege
from mixedsched.world.emulator.netns.backend import netns_backend
from mixedsched.world.emulator.vm.machine import require_qemu, require_taps

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
    """Send probes through a relay: how late does it let them go?"""
    late = await relay_lateness()
    detail = f"packets leave {late['p50_us']} us late at the median, {late['p99_us']} us at the 99th percentile"
    if late["p99_us"] > MAX_LATE_P99_US:
        raise MixedschedError(
            detail, why="too late to emulate a network", fix="stop what else is running on this machine"
        )
    return detail


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
