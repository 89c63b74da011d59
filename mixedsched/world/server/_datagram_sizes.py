"""How large datagrams may be tried, as far as the server's own end knows: what its settings, its socket and the route allow."""

import socket

from mixedsched.core.h3.datagram_size import BASE_BYTES, MAX_BYTES
from mixedsched.core.h3.session import Address
from mixedsched.world.system.udp import forbid_fragments, largest_payload_bytes


class DatagramSizes:
    """Upper bounds for the search of each connection, see core.h3.datagram_size.

    most_bytes: None for what the route's interface takes. If larger datagrams than any path carries are wanted, the socket is
    told not to fragment; where it cannot be, there are none.
    """

    def __init__(self, sock: socket.socket, most_bytes: int | None) -> None:
        wanted_bytes = MAX_BYTES if most_bytes is None else most_bytes
        self._family = sock.family
        self._most_bytes = wanted_bytes if wanted_bytes > BASE_BYTES and forbid_fragments(sock) else BASE_BYTES

    def limit_bytes(self, address: Address) -> int:
        """The largest datagram to try towards a client; BASE_BYTES for none larger."""
        if self._most_bytes == BASE_BYTES:
            return BASE_BYTES
        route_bytes = largest_payload_bytes(address, self._family)
        return BASE_BYTES if route_bytes is None else max(BASE_BYTES, min(self._most_bytes, route_bytes))
