"""Loads a page in a real Chromium, scores it with Lighthouse, and reads what the browser saw on the wire."""

from mixedsched.world.browser.find import find_chromium, find_node
from mixedsched.world.browser.netlog import (
    ArrivalRun,
    Closing,
    FrameArrival,
    LoggedRequest,
    NetLog,
    OpenReason,
    QuicSession,
    StreamArrival,
    StreamRequest,
    arrival_order,
    read_netlog,
    read_traffic,
)
from mixedsched.world.browser.observation import Initiator, Observation, ObservationJob, ObservedRequest
from mixedsched.world.browser.observe import Observer
from mixedsched.world.browser.pageload import (
    Frame,
    LoadedRequest,
    PageLoad,
    PageLoadFailed,
    PageLoadJob,
    Versions,
)
from mixedsched.world.browser.runner import LighthouseRunner

__all__ = [
    "LighthouseRunner",
    "PageLoadJob",
    "PageLoad",
    "PageLoadFailed",
    "LoadedRequest",
    "Frame",
    "Versions",
    "Observer",
    "ObservationJob",
    "Observation",
    "ObservedRequest",
    "Initiator",
    "find_chromium",
    "find_node",
    "read_netlog",
    "arrival_order",
    "NetLog",
    "QuicSession",
    "OpenReason",
    "Closing",
    "StreamRequest",
    "FrameArrival",
    "StreamArrival",
    "ArrivalRun",
    "read_traffic",
    "LoggedRequest",
]
