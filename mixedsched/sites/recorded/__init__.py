"""Recorded exchanges become a site: names, graph, headers, manifest."""

from mixedsched.sites.recorded.coding import decode_body, encode_body
from mixedsched.sites.recorded.records import Exchange, KindTotal, LeftOut, RecordingFacts, RecordingSummary
from mixedsched.sites.recorded.write import check_target, write_recording

__all__ = [
    "Exchange",
    "LeftOut",
    "KindTotal",
    "RecordingFacts",
    "RecordingSummary",
    "check_target",
    "decode_body",
    "encode_body",
    "write_recording",
]
