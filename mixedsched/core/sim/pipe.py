"""Rung `pipe`: a page over an ideal paced pipe, modelled on the simulator of Marx et al. 2019.

One packet is sent at the end of each pace interval, with bytes of exactly one response; the last packet of a response is
shorter and is not filled up. No loss, no round-trip time, no congestion control: only the order differs. The packet of
an interval is chosen at its beginning, or, with a send buffer, as soon as the buffer has room for it.
"""

from collections import deque
from dataclasses import dataclass

from mixedsched.core.sim._withheld import playback_of
from mixedsched.core.sim.jitter import Jitter, JitteryPath, Packet
from mixedsched.core.sim.load import MICROSECONDS_PER_MILLISECOND, Delivery, PlayedLoad, ResourceTimes
from mixedsched.core.sim.playback import Discoveries
from mixedsched.core.sim.requests import request_for
from mixedsched.model.scheme import ConfiguredScheme


@dataclass(frozen=True, slots=True)
class PipeOptions:
    """The pipe. Defaults are those of the study (1.12 Mbit/s)."""

    packet_bytes: int = 1400
    """Payload of a full packet."""
    pace_us: int = 10_000
    """Time between two packets."""
    send_buffer_bytes: int = 0
    """Holds packets that have been chosen and wait for their interval, besides the one being sent; they
    cannot be recalled (14, 280 and 1000 kB in the study). A packet is chosen whenever the buffer holds less than
    that.
    """
    request_slot_us: int = 0
    """At most one request is admitted in this time (10 ms in the study's client)."""
    jitter: Jitter | None = None
    """None = packets arrive as they are sent."""


def play_pipe(discoveries: Discoveries, scheme: ConfiguredScheme, options: PipeOptions | None = None) -> PlayedLoad:
    """Simulate a page under a scheme. Deterministic: the same arguments give the same load."""
    return _PipeLoad(discoveries, scheme, options or PipeOptions()).run()


@dataclass(slots=True)
class _Response:
    """A response under way, in bytes of the stream: headers, then body."""

    index: int
    header_bytes: int
    stops: list[int]
    """Where something happens when that much has been delivered, nearest last: its first packet, each offset at which
    it makes another resource known, its end.
    """
    left_bytes: int
    """Bytes from what is chosen to the next stop."""
    requested_us: int
    first_byte_us: int = -1
    complete_us: int = -1


@dataclass(slots=True)
class _Stop:
    """The packet with this number (from 0) brings a response to a stop."""

    number: int
    stream_id: int
    delivered_bytes: int
    packet_bytes: int
    is_last: bool


class _PipeLoad:
    """One load. Time is what the outermost loop says; packets are numbered as they are chosen, and leave in that order."""

    def __init__(self, discoveries: Discoveries, scheme: ConfiguredScheme, options: PipeOptions) -> None:
        self._page = discoveries.page
        self._discoveries = discoveries
        self._scheme = scheme
        self._scheduler = scheme.create_scheduler()
        self._options = options
        self._playback = playback_of(discoveries, options.request_slot_us)
        self._path = JitteryPath(options.jitter, options.pace_us) if options.jitter else None
        self._now_us = 0
        self._tick = 0  # the next pace interval, which begins at _tick * pace_us
        self._responses: dict[int, _Response] = {}
        self._ready = 0  # responses of which something is not chosen yet
        self._chosen = 0
        self._left = 0  # packets that have left, or are in their interval
        self._buffered_bytes = 0
        self._stops: deque[_Stop] = deque()  # of packets that have not left
        self._leaving: tuple[int, _Stop] | None = None  # a stop's packet in its interval, and when that ends
        self._order: tuple[list[int], list[int]] = ([], [])  # runs: stream IDs, packets
        self._deliveries: list[Delivery] = []
        self._places: dict[int, int] = {}  # packets handed to the jittery path, by stream
        self._arrived_bytes: dict[int, int] = {}  # behind it

    def run(self) -> PlayedLoad:
        while True:
            self._take_what_arrives()
            self._admit()
            if self._playback.is_finished:
                return self._load()
            self._fill_buffer()
            event_us = self._next_event_us()
            starts_us = self._tick * self._options.pace_us
            if event_us is not None and event_us <= starts_us:
                self._now_us = event_us
            elif self._ready or self._chosen > self._left:
                self._send(None if event_us is None else -(-(event_us - starts_us) // self._options.pace_us))
                self._now_us = self._next_event_us() or self._now_us
            else:
                assert event_us is not None, "a page that is not finished has something to wait for"
                self._now_us = event_us
                self._tick = -(-event_us // self._options.pace_us)

    def _next_event_us(self) -> int | None:
        """When something happens next that the scheduler or the client learns of."""
        event_us = self._playback.next_due_us()
        if self._leaving is not None and (event_us is None or self._leaving[0] < event_us):
            event_us = self._leaving[0]
        if self._path is not None:
            arrives_us = self._path.next_due_us()
            if arrives_us is not None and (event_us is None or arrives_us < event_us):
                event_us = arrives_us
        return event_us

    def _admit(self) -> None:
        """Requests that leave by now are with the server at once. One without any bytes completes at once."""
        while (index := self._playback.pop_next(self._now_us)) is not None:
            resource = self._playback.resource(index)
            stream_id = 4 * len(self._responses)
            stops = self._stops_of(index)
            response = _Response(index, resource.header_bytes, stops, stops[-1], self._now_us)
            self._responses[stream_id] = response
            if not response.left_bytes:
                response.first_byte_us = response.complete_us = self._now_us
                self._playback.completed(index, self._now_us)
                continue
            self._ready += 1
            self._scheduler.open(stream_id, self._scheme.place(request_for(self._page, resource, stream_id)))

    def _stops_of(self, index: int) -> list[int]:
        """Where a response stops, the last place first."""
        resource = self._page.resources[index]
        size, total = self._options.packet_bytes, resource.header_bytes + resource.body_bytes
        if self._path is not None:
            return [total, *range(total - total % size - (size if total % size == 0 else 0), 0, -size)]
        found = (resource.header_bytes + child.at_bytes for child in self._discoveries.at_bytes[index])
        stops = {min(total, size), *(min(total, -(-at // size) * size) for at in found if at > size), total}
        return sorted(stops, reverse=True)

    def _fill_buffer(self) -> None:
        """Choose packets until the send buffer has as much as it holds."""
        while self._ready and self._buffered_bytes < self._options.send_buffer_bytes:
            missing_bytes = self._options.send_buffer_bytes - self._buffered_bytes
            self._choose(-(-missing_bytes // self._options.packet_bytes))

    def _send(self, most: int | None) -> None:
        """Let packets leave, one an interval: `most` of them at most, up to the next stop, as long as there are any."""
        while (self._ready or self._chosen > self._left) and most != 0:
            if self._chosen == self._left:
                self._choose(most)
            packets = self._chosen - self._left if most is None else min(most, self._chosen - self._left)
            stop = self._stops[0] if self._stops and self._stops[0].number < self._left + packets else None
            if stop is not None:
                packets = stop.number - self._left + 1
                self._stops.popleft()
            self._left += packets
            self._tick += packets
            last_bytes = stop.packet_bytes if stop is not None else self._options.packet_bytes
            self._buffered_bytes -= (packets - 1) * self._options.packet_bytes + last_bytes
            if stop is not None:
                self._leaving = (self._tick * self._options.pace_us, stop)
            self._fill_buffer()
            if stop is not None:
                return
            if most is not None:
                most -= packets

    def _choose(self, most: int | None) -> None:
        """Have the scheduler choose: `most` packets at most, and not beyond the first that brings a response to a stop."""
        scheduler, size = self._scheduler, self._options.packet_bytes
        if scheduler.is_steady():
            stream_id = scheduler.pick()
            assert stream_id is not None
            self._choose_run(stream_id, most)
            return
        pick, sent, responses = scheduler.pick, scheduler.sent, self._responses
        streams, counts = self._order
        last = streams[-1] if streams else -1
        chosen = 0
        while most is None or chosen < most:
            stream_id = pick()
            assert stream_id is not None
            response = responses[stream_id]
            left_bytes = response.left_bytes
            if stream_id == last:
                counts[-1] += 1
            else:
                streams.append(stream_id)
                counts.append(1)
                last = stream_id
            chosen += 1
            if left_bytes > size:
                sent(stream_id, size)
                response.left_bytes = left_bytes - size
                continue
            sent(stream_id, left_bytes)
            self._chosen += chosen
            self._buffered_bytes += (chosen - 1) * size + left_bytes
            self._note_stop(stream_id, left_bytes)
            return
        self._chosen += chosen
        self._buffered_bytes += chosen * size

    def _choose_run(self, stream_id: int, most: int | None) -> None:
        """Like _choose, but for a run of packets, where the choice is known to stay the same. A shorter last one goes alone."""
        response, size = self._responses[stream_id], self._options.packet_bytes
        packets = max(1, response.left_bytes // size)
        if most is not None:
            packets = min(most, packets)
        size_bytes = min(packets * size, response.left_bytes)
        self._scheduler.sent(stream_id, size_bytes)
        response.left_bytes -= size_bytes
        streams, counts = self._order
        if streams and streams[-1] == stream_id:
            counts[-1] += packets
        else:
            streams.append(stream_id)
            counts.append(packets)
        self._chosen += packets
        self._buffered_bytes += size_bytes
        if not response.left_bytes:
            self._note_stop(stream_id, size_bytes - (packets - 1) * size)

    def _note_stop(self, stream_id: int, packet_bytes: int) -> None:
        """The packet chosen last brings the response to its next stop."""
        response = self._responses[stream_id]
        delivered_bytes = response.stops.pop()
        is_last = not response.stops
        self._stops.append(_Stop(self._chosen - 1, stream_id, delivered_bytes, packet_bytes, is_last))
        if is_last:
            self._scheduler.close(stream_id)
            self._ready -= 1
        else:
            response.left_bytes = response.stops[-1] - delivered_bytes

    def _take_what_arrives(self) -> None:
        """Tell the client what is there by now."""
        if self._leaving is not None and self._leaving[0] <= self._now_us:
            leaves_us, stop = self._leaving
            self._leaving = None
            if self._path is None:
                self._deliver(stop.stream_id, stop.delivered_bytes, stop.is_last)
            else:
                place = self._places.get(stop.stream_id, 0)
                self._places[stop.stream_id] = place + 1
                self._path.push(Packet(stop.number, stop.stream_id, place, stop.packet_bytes), leaves_us)
        for packet in self._path.pop_due(self._now_us) if self._path is not None else ():
            index = self._responses[packet.stream_id].index
            resource = self._page.resources[index]
            self._deliveries.append(Delivery(resource.id, self._now_us / MICROSECONDS_PER_MILLISECOND))
            arrived = self._arrived_bytes.get(packet.stream_id, 0) + packet.size_bytes
            self._arrived_bytes[packet.stream_id] = arrived
            self._deliver(packet.stream_id, arrived, arrived == resource.header_bytes + resource.body_bytes)

    def _deliver(self, stream_id: int, delivered_bytes: int, is_complete: bool) -> None:
        response = self._responses[stream_id]
        if response.first_byte_us < 0:
            response.first_byte_us = self._now_us
        if is_complete:
            response.complete_us = self._now_us
            self._playback.completed(response.index, self._now_us)
        elif delivered_bytes >= response.header_bytes:
            self._playback.delivered(response.index, delivered_bytes - response.header_bytes, self._now_us)

    def _jitter_facts(self) -> dict[str, str | int | bool]:
        jitter = self._options.jitter
        if jitter is None or self._path is None:
            return {}
        return {
            "jitter": jitter.pattern,
            "jitter_packets": f"{jitter.low}-{jitter.high}",
            "hol_blocking": jitter.in_order,
            "held_bytes": self._path.held_bytes,
        }

    def _load(self) -> PlayedLoad:
        names = {stream_id: self._page.resources[item.index].id for stream_id, item in self._responses.items()}
        streams, counts = self._order
        return PlayedLoad(
            page=self._page,
            scheme=self._scheme.label,
            rung="pipe",
            send_buffer_bytes=self._options.send_buffer_bytes,
            resources=tuple(
                ResourceTimes(
                    names[stream_id],
                    item.requested_us / MICROSECONDS_PER_MILLISECOND,
                    item.first_byte_us / MICROSECONDS_PER_MILLISECOND,
                    item.complete_us / MICROSECONDS_PER_MILLISECOND,
                )
                for stream_id, item in self._responses.items()
                if item.complete_us >= 0
            ),
            order=tuple(zip([names[stream_id] for stream_id in streams], counts, strict=True)),
            deliveries=tuple(self._deliveries),
            facts=self._jitter_facts(),
        )
