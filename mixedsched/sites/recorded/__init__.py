"""Recorded exchanges become a site: names, graph, headers, manifest."""

from mixedsched.sites.recorded._write import check_target, write_recording
from mixedsched.sites.recorded.coding import decode_body, encode_body
from mixedsched.sites.recorded.names import site_name_of_url
from mixedsched.sites.recorded.records import KindSum, LeftOut, RecordedExchange, RecordingFacts, RecordingSummary

__all__ = [
    "RecordedExchange",
    "LeftOut",
    "KindSum",
    "RecordingFacts",
    "RecordingSummary",
    "check_target",
    "decode_body",
    "encode_body",
    "site_name_of_url",
    "write_recording",
]
