"""What the log of a server tells of a connection."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Connected:
    """A handshake that is over: a line of the server's log where connections are to be told of.

    connection: as requests name it. client: address and port. server_name: the host that the client asked for in its handshake,
    None if for none.
    """

    connection: int
    client: str
    server_name: str | None

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)
