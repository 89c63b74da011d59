"""Small file servers of ours on libraries of others (quic-go/main.go, quiche/src): what they are told of a site."""

import json
from collections.abc import Callable, Mapping

from mixedsched.world.servers._versions import number_in, said_by
from mixedsched.world.servers.kind import Launch, Order, Program, Version
from mixedsched.world.system.udp import host_and_port


def launch(order: Order, environment: Mapping[str, str] | None = None) -> Launch:
    """One that reads all answers from a file."""
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
    return Launch((str(order.program.path), str(config)), environment or {})


def version_of(library: str) -> Callable[[Program], Version]:
    """How to get the library's version from a program on it."""

    def read(program: Program) -> Version:
        number = number_in(said_by(program, "--version"), rf"{library} v?(\d\S*)")
        return Version(number or "unknown", "" if number else f"it is not our file server on {library}")

    return read
