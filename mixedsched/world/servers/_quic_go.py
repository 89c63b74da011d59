"""quic-go by a small file server of ours (quic-go/main.go), which leaves all order of bytes to the library."""

import json

from mixedsched.world.servers._versions import number_in, said_by
from mixedsched.world.servers.kind import Abilities, Launch, Order, Program, ServerKind, Version
from mixedsched.world.system.udp import host_and_port

_WITHOUT_BURSTS = {"QUIC_GO_DISABLE_GSO": "true"}


def _prepare(order: Order) -> Launch:
    responses = [
        {
            "method": item.method,
            "host": item.host,
            "target": item.target,
            "file": "" if item.file is None else str(item.file),
            "status": item.status,
            "delay_ms": item.delay_ms,
            "fields": item.all_fields,
        }
        for item in order.answers
    ]
    facts = {
        "listen": host_and_port(order.host, order.port),
        "certificate": str(order.certificate),
        "key": str(order.key),
        "responses": responses,
    }
    config = order.write("config.json", json.dumps(facts))
    return Launch((str(order.program.path), str(config)), {} if order.bursts else _WITHOUT_BURSTS)


def _version(program: Program) -> Version:
    number = number_in(said_by(program, "--version"), r"quic-go v?(\d\S*)")
    return Version(number or "unknown", "" if number else "it is not our file server on quic-go")


QUIC_GO = ServerKind(
    name="quic-go",
    title="quic-go's HTTP/3 server",
    programs=("mixedsched-quic-go",),
    priorities=(
        "since 0.62 follows the request's priority field and PRIORITY_UPDATE of streams that it knows; in one urgency the "
        "first whole response (N) and the shared ones (I) take turns 1:1; its own response field is not read, by decision"
    ),
    source="quic-go 0.62 to 0.65 read, 0.65.0 measured in November 2026",
    stand_in="server-quic-go",
    how_to_get="with Go 1.26 or newer: scripts/setup --lab builds our small file server on it",
    read_versions=("0.62", "0.63", "0.64", "0.65"),
    version_of=_version,
    prepare=_prepare,
    abilities=Abilities(delays=True, methods=True),
)
