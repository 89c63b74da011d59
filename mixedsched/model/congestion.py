"""The congestion controls that a server can use."""

from enum import StrEnum


class CongestionControl(StrEnum):
    CUBIC = (
        "cubic"  # aioquic's: RFC 9438 with HyStart, paced, and back to its start after 2 s without an acknowledgement
    )
    RENO = "reno"  # aioquic's, with HyStart and paced
    CUBIC_2022 = "cubic-2022"  # RFC 8312 as the testbed of Sander et al. 2022 had it, see core.h3.seam
