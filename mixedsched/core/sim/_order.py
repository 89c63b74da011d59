"""In which order a server's response packets left."""

from collections.abc import Iterator

from mixedsched.core.h3.seam import ScheduledConnection


class PacketOrder:
    """Listens to a server's connection and notes which responses each packet carried, run by run.

    A packet that carries several responses counts once for each. Repeats of lost data count like the rest. sent_bytes: stream
    data of responses, repeats included.
    """

    def __init__(self, connection: ScheduledConnection) -> None:
        self.sent_bytes = 0
        self._connection = connection
        self._told = connection.sent
        self._packet = -1
        self._in_packet: list[int] = []
        self._streams: list[int] = []
        self._packets: list[int] = []
        connection.sent = self._note

    def runs(self) -> Iterator[tuple[int, int]]:
        """(stream ID, packets), in order."""
        return zip(self._streams, self._packets, strict=True)

    def _note(self, stream_id: int, size_bytes: int, again_bytes: int, fin: bool) -> None:
        self.sent_bytes += size_bytes
        self._told(stream_id, size_bytes, again_bytes, fin)
        if self._packet != self._connection.packet:
            self._packet = self._connection.packet
            self._in_packet.clear()
        if stream_id in self._in_packet:
            return
        self._in_packet.append(stream_id)
        if self._streams and self._streams[-1] == stream_id:
            self._packets[-1] += 1
        else:
            self._streams.append(stream_id)
            self._packets.append(1)
