"""The study's testbed inside one machine: a chain of four bridges, one function each, between two network ports. Pure.

server's port | tbf down | netem down | netem up | tbf up | client's port; the netns back end has the same in namespaces.
"""

import itertools
import json
from collections.abc import Sequence
from typing import Any

from mixedsched.world.emulator.kernel.shaping import HOP_NAMES, Hop
from mixedsched.world.emulator.vm.machine import CLIENT_PORT_MAC, SERVER_PORT_MAC

_FORWARDING_TRIES = 100
_STATS_END = "end of qdisc"
# Tools are called by path: busybox prefers an ip and a tc of its own, which know too little.


def device_of(hop: Hop) -> str:
    """The device that carries a hop's qdiscs."""
    return _port(hop.name, hop.toward)


def join_commands() -> list[str]:
    """Shell commands that join the two ports by the chain of bridges, with nothing shaped yet."""
    server_port, client_port = _port(HOP_NAMES[0], "server"), _port(HOP_NAMES[-1], "client")
    rename = (
        'for d in /sys/class/net/eth*; do read -r mac <"$d/address"; case $mac in '
        f'{SERVER_PORT_MAC}) /bin/ip link set "${{d##*/}}" name {server_port};; '
        f'{CLIENT_PORT_MAC}) /bin/ip link set "${{d##*/}}" name {client_port};; esac; done'
    )
    lines = [
        f"link add name {_port(left, 'client')} mtu 1500 type veth peer name {_port(right, 'server')} mtu 1500"
        for left, right in itertools.pairwise(HOP_NAMES)
    ]
    for hop in HOP_NAMES:
        lines.append(f"link add name {hop} mtu 1500 type bridge stp_state 0 forward_delay 0 mcast_snooping 0")
        for side in ("server", "client"):
            lines.append(f"link set dev {_port(hop, side)} gso_max_segs 1 gso_max_size 1514 master {hop}")
            lines.append(f"link set dev {_port(hop, side)} txqueuelen 10000 up")
        lines.append(f"link set dev {hop} up")
    ports = len(HOP_NAMES) * 2
    forwarding = (
        f"n=0; until [ $(cat /sys/class/net/*/brport/state | grep -c '^3$') = {ports} ]; "
        f"do sleep 0.05; n=$((n+1)); [ $n -lt {_FORWARDING_TRIES} ] || exit 1; done"
    )
    return [rename, _batch("ip", lines), forwarding]


def shape_command(hops: Sequence[Hop]) -> str:
    """Sets up all hops afresh, with empty queues and counters at zero."""
    clear = "; ".join(f"/bin/tc qdisc delete dev {device_of(hop)} root 2>/dev/null" for hop in hops)
    return f"{clear}; {_batch('tc', [line for hop in hops for line in hop.tc_lines(device_of(hop))])}"


def stats_command(hops: Sequence[Hop]) -> str:
    """Prints the statistics of the hops' qdiscs; parse_stats() reads them."""
    return "; ".join(f"/bin/tc -s -j qdisc show dev {device_of(hop)} && echo {_STATS_END}" for hop in hops)


def parse_stats(hops: Sequence[Hop], printed: str) -> dict[str, list[dict[str, Any]]]:
    """tc's statistics by the name of the hop."""
    found = [json.loads(text) for text in printed.split(_STATS_END) if text.strip()]
    return {hop.name: stats for hop, stats in zip(hops, found, strict=True)}


def seed_command() -> str:
    """Succeeds if this tc and this kernel support netem's seed (6.6 and later)."""
    return (
        "/bin/tc qdisc add dev lo root netem loss random 1% seed 7 && /bin/tc qdisc show dev lo | grep -q 'seed 7'; s=$?; "
        "/bin/tc qdisc delete dev lo root 2>/dev/null; exit $s"
    )


def _port(hop: str, side: str) -> str:
    """The device by which a bridge looks towards the server or the client; fits into the kernel's 15 characters."""
    return f"{hop}-{side[0]}"


def _batch(tool: str, lines: Sequence[str]) -> str:
    quoted = " ".join(f"'{line}'" for line in lines)
    return rf"printf '%s\n' {quoted} | /bin/{tool} -batch -"
