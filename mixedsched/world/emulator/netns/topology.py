"""The study's testbed in namespaces: server | tbf down | netem down | netem up | tbf up | client.

The four in the middle are bridges with one function each, after Sander et al.: tbf and netem do not meet in one namespace,
and no queue pushes back into the stack of the server or the client. Nothing leaves: the only route is to the other end.
Neighbours are known from the start, and there is no ARP, IPv6, spanning tree or multicast chatter, so each packet on the link
is one that a program sent.
"""

import contextlib
import itertools
import json
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal

from mixedsched.errors import MixedschedError
from mixedsched.world.emulator.kernel.namespaces import network_of, network_path, run_in
from mixedsched.world.emulator.kernel.shaping import HOP_NAMES, Hop
from mixedsched.world.emulator.kernel.testbed import CLIENT_HOST, SERVER_HOST
from mixedsched.world.system.programs import find_program

ROLES = ("server", *HOP_NAMES, "client")
_PREFIX_LENGTH = 24
# MAC addresses are locally administered ones.
_ENDS = {"server": (SERVER_HOST, "02:00:00:00:00:01"), "client": (CLIENT_HOST, "02:00:00:00:00:02")}
_IPV6_OFF = tuple(Path(f"/proc/sys/net/ipv6/conf/{which}/disable_ipv6") for which in ("all", "default"))
_FORWARDING_LIMIT_S = 10.0
_OFFLOADS = ("tso", "gso", "gro", "tx", "rx", "sg")


def connect(namespaces: Mapping[str, str]) -> None:
    """Join the namespaces, by role, into the testbed, with nothing shaped yet. Raises MixedschedError."""
    for role in HOP_NAMES:
        _silence(namespaces[role])
    for left, right in itertools.pairwise(ROLES):
        near, far = "link add name toward-client mtu 1500 type veth", "peer name toward-server mtu 1500 netns"
        run_in(namespaces[left], "ip", *near.split(), *far.split(), str(network_path(namespaces[right])))
    set_up_end("server", namespaces["server"], "toward-client")
    set_up_end("client", namespaces["client"], "toward-server")
    for role in HOP_NAMES:
        _set_up_bridge(namespaces[role])
    deadline_s = time.monotonic() + _FORWARDING_LIMIT_S
    while not all(_forwards(namespaces[role]) for role in HOP_NAMES):
        if time.monotonic() > deadline_s:
            raise MixedschedError("the bridges between the namespaces do not forward")
        time.sleep(0.02)


def _silence(namespace: str) -> None:
    """Switch IPv6 off, as it sends packets by itself; ignored if there is none, or the system forbids it."""
    with network_of(namespace), contextlib.suppress(OSError):
        for switch in _IPV6_OFF:
            switch.write_text("1", encoding="ascii")


def _forwards(namespace: str) -> bool:
    """Whether both ports of the bridge pass packets, as they do after about a second."""
    ports = json.loads(run_in(namespace, "bridge", "-j", "link", "show"))
    return [port.get("state") for port in ports] == ["forwarding", "forwarding"]


def set_up_end(role: Literal["server", "client"], namespace: str, device: str) -> None:
    """Give the server's or the client's device on the link its addresses, and tell it those of the other end."""
    (host, mac), (other_host, other_mac) = _ENDS[role], _ENDS["client" if role == "server" else "server"]
    _silence(namespace)
    _batch(
        namespace,
        f"link set dev {device} address {mac}",
        *_unbundled(device),
        f"address add {host}/{_PREFIX_LENGTH} dev {device}",
        "link set dev lo up",
        f"link set dev {device} up",
        f"neighbour add {other_host} lladdr {other_mac} nud permanent dev {device}",
    )
    _switch_offloads_off(namespace, device)


def _set_up_bridge(namespace: str) -> None:
    devices = ("toward-server", "toward-client")
    _batch(
        namespace,
        "link add name bridge mtu 1500 type bridge stp_state 0 forward_delay 0 mcast_snooping 0",
        *(line for device in devices for line in _unbundled(device)),
        *(f"link set dev {device} master bridge" for device in devices),
        *(f"link set dev {device} up" for device in devices),
        "link set dev bridge up",
    )
    for device in devices:
        _switch_offloads_off(namespace, device)


def _unbundled(device: str) -> tuple[str, ...]:
    """Let a device take no bundles of packets: the stack splits them before they are counted, queued or lost as one."""
    return (f"link set dev {device} gso_max_segs 1 gso_max_size 1514 addrgenmode none",)


def _switch_offloads_off(namespace: str, device: str) -> None:
    """The same by the device's features, if there is an ethtool; features that it lacks are ignored."""
    ethtool = find_program("ethtool")
    if ethtool is None:
        return
    switches = [word for offload in _OFFLOADS for word in (offload, "off")]
    with contextlib.suppress(MixedschedError):
        run_in(namespace, ethtool, "-K", device, *switches)


def _batch(namespace: str, *lines: str) -> None:
    run_in(namespace, "ip", "-batch", "-", told="\n".join(lines) + "\n")


def shape_hop(namespace: str, hop: Hop) -> None:
    """Set up a hop's qdiscs afresh, with empty queues and counters at zero."""
    device = f"toward-{hop.toward}"
    if any(item.get("handle") == "1:" for item in hop_stats(namespace, hop)):
        run_in(namespace, "tc", "qdisc", "delete", "dev", device, "root")
    run_in(namespace, "tc", "-batch", "-", told="\n".join(hop.tc_lines(device)) + "\n")


def hop_stats(namespace: str, hop: Hop) -> list[dict[str, Any]]:
    """The statistics of the hop's qdiscs, as tc prints them."""
    printed = run_in(namespace, "tc", "-s", "-j", "qdisc", "show", "dev", f"toward-{hop.toward}")
    found: list[dict[str, Any]] = json.loads(printed)
    return found
