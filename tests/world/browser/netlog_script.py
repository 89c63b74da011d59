"""NetLogs for tests. The events are Chromium's own form, as version 156 writes them; the numbers are made up."""

from __future__ import annotations

import json
from collections.abc import Collection, Sequence
from pathlib import Path
from typing import Any, Self

from mixedsched.world.browser.netlog import NetLog, read_netlog

HEADER = "QUIC_SESSION_UNAUTHENTICATED_PACKET_HEADER_RECEIVED"
FRAME = "QUIC_SESSION_STREAM_FRAME_RECEIVED"
COMPLETE = "QUIC_SESSION_CRYPTO_HANDSHAKE_COMPLETE"
CLOSED = "QUIC_SESSION_CLOSED"
MATCHING_IP = "QUIC_SESSION_POOL_MATCHING_IP_SESSION_FOUND"
OTHER_IP = "QUIC_SESSION_POOL_CAN_POOL_BUT_DIFFERENT_IP"

EVENT_NAMES = (
    "QUIC_SESSION",
    COMPLETE,
    FRAME,
    "QUIC_SESSION_PACKET_RECEIVED",
    "QUIC_SESSION_PACKET_SENT",
    "QUIC_SESSION_PACKET_LOST",
    HEADER,
    CLOSED,
    MATCHING_IP,
    OTHER_IP,
    "HTTP3_HEADERS_SENT",
    "HTTP3_PRIORITY_UPDATE_SENT",
    "HTTP2_SESSION",
    "URL_REQUEST_START_JOB",
)
NUMBERS = {name: number for number, name in enumerate(EVENT_NAMES, start=700)}
SAME_SITE, CROSS_SITE = "https://site.test same_site", "https://site.test cross_site"
POOLED = "An active session exists for the given IP."


class Script:
    """Builds a log event by event, as Chromium would write it: constants in the first line, then an event a line."""

    def __init__(self) -> None:
        self.events: list[dict[str, Any]] = []

    def event(self, name: str, time_ms: float, source: int = 1, phase: int = 0, **params: Any) -> Self:
        self.events.append(
            {
                "type": NUMBERS[name],
                "time": str(time_ms),
                "source": {"id": source, "type": 13},
                "phase": phase,
                "params": params,
            }
        )
        return self

    def session(
        self,
        source: int = 1,
        time_ms: float = 100,
        *,
        host: str = "site.test",
        privacy_mode: str = "disabled",
        partition: str = SAME_SITE,
        finished: bool = True,
    ) -> Self:
        key = {"host": host, "privacy_mode": privacy_mode, "network_anonymization_key": partition}
        self.event("QUIC_SESSION", time_ms, source, phase=1, **key)
        return self.event(COMPLETE, time_ms + 1, source) if finished else self

    def close(self, source: int = 1, time_ms: float = 900, details: str = "net error", error: int = 70) -> Self:
        """Told twice, as Chromium does."""
        for _ in range(2):
            self.event(CLOSED, time_ms, source, details=details, quic_error=error, from_peer=False)
        return self.event("QUIC_SESSION", time_ms, source, phase=2)

    def request(self, stream_id: int, path: str, *headers: str, source: int = 1) -> Self:
        lines = [":method: GET", ":authority: site.test", f":path: {path}", *headers]
        return self.event("HTTP3_HEADERS_SENT", 110, source, stream_id=stream_id, headers=lines)

    def header(self, number: Any, time_ms: float = 120, source: int = 1, long: str | None = None) -> Self:
        """A packet begins. long: "INITIAL" or "HANDSHAKE"; a 1-RTT packet without."""
        form = "LONG" if long else "SHORT"
        params = {"packet_number": number, "header_format": f"IETF_QUIC_{form}_HEADER_PACKET"}
        return self.event(HEADER, time_ms, source, **params, **({"long_header_type": long} if long else {}))

    def frame(
        self, stream_id: int, offset: Any, length: Any, time_ms: float = 120, source: int = 1, *, fin: bool = False
    ) -> Self:
        params = {"stream_id": stream_id, "offset": offset, "length": length, "fin": fin}
        return self.event(FRAME, time_ms, source, **params)

    def packet(self, number: int, *frames: Sequence[int], time_ms: float = 120, source: int = 1) -> Self:
        """A 1-RTT packet with (stream ID, offset, length) frames."""
        self.header(number, time_ms, source)
        for stream_id, offset, length in frames:
            self.frame(stream_id, offset, length, time_ms, source)
        return self

    def document(self, without: Collection[str] = ()) -> dict[str, Any]:
        """The log as one object. without: names of events that the browser does not know."""
        known = {name: number for name, number in NUMBERS.items() if name not in without}
        client = {"version": "156.0.1.2", "command_line": "chromium --x"}
        errors = {"QUIC_CONNECTION_CANCELLED": 70, "QUIC_CONNECTION_IP_POOLED": 62}
        constants = {"logEventTypes": known, "clientInfo": client, "quicError": errors}
        events = [event for event in self.events if event["type"] in known.values()]
        return {"constants": constants, "events": events, "polledData": [{}]}

    def text(self, without: Collection[str] = ()) -> str:
        """In Chromium's layout."""
        made = self.document(without)
        lines = ",\n".join(json.dumps(event) for event in made["events"])
        return f'{{"constants":{json.dumps(made["constants"])},\n"events": [\n{lines}],\n"polledData": [{{}}]\n}}\n'

    def read(self, directory: Path, without: Collection[str] = ()) -> NetLog:
        return read(directory, self.text(without))


def read(directory: Path, text: str) -> NetLog:
    file = directory / "net.json"
    file.write_text(text, encoding="utf-8")
    return read_netlog(file)
