"""The scheduler seam: the only package that touches aioquic's private parts. See docs/seam.md.

    _streams     senders that pull a body's bytes when a packet has room
    _receivers   receivers that report what changed, and keep what came out of order within bounds
    _service     stands where aioquic keeps its list of streams, and serves them as the scheduler picks
    _express     fast path: packets with nothing but response data, put together at once
    _receiving   fast path: datagrams of an established connection, read at once
    _recovery    acknowledgements at the cost of what they acknowledge; probes that repeat data of the most urgent response
    _path_size   datagrams as large as the path takes
    _one_packet  packets one at a time
    _hello       the host name that a client asks for, and the certificate that it is shown
    _confirmed   what is kept of a handshake that is over; handlers of frames
    _number_window  packet numbers that were received of late
    _credit      what a client may send ahead of what was read
    _credited    a connection with limits of that kind
    _pacer       bursts that one system call can send; or no pacing
    _flight_cubic  congestion control for clients that acknowledge many packets at once, as browsers do
    _cubic_2022  congestion control as in the testbed of Sander et al. 2022
    _connection  a server's connection, which joins all of it
    _observed    a client for virtual time, which reports which packets brought which stream data

`tests/core/h3/test_seam_contract.py` says what is expected of aioquic, and fails with a clear message when a version moves it.
"""

from mixedsched.core.h3.seam._connection import ScheduledConnection
from mixedsched.core.h3.seam._observed import ObservedConnection

__all__ = ["ObservedConnection", "ScheduledConnection"]
