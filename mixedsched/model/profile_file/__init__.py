"""Network profiles as files, `vm/profiles/*.toml`. Pure: the caller reads the files.

name = "3g"
description = "..."
source = "..."
rate_down_bps = 1_600_000      # absent: no rate limit; or trace_down = "file", a packet-delivery trace beside this file
rate_up_bps = 768_000
rtt_ms = 300                   # half of it each way

# Each of these may stand here, for both directions, or in a table [down] or [up], for one:
queue_bytes = 60_000           # or queue_bdp = 1.0, in bandwidth-delay products of the rate or trace; absent: no limit
aqm = "drop-tail"              # or "codel", if there is a rate or a trace, with codel_target_ms = 5 and codel_interval_ms = 100
burst_bytes = 1514             # of a token bucket; 0 or absent: like a wire
jitter_ms = 10                 # more or less than the delay, by up to this
jitter_reorders = false        # whether jitter lets packets overtake each other
reorder_ratio = 0.01           # of packets that are not delayed at all
duplicate_ratio = 0.001
packet_overhead_bytes = 28     # added to a datagram's payload: IPv4 and UDP; 42 with Ethernet

[down]
delay_ms = 100                 # in [down] or [up] only, instead of half of rtt_ms; the other direction has the rest

[loss.down]                    # absent: none; [loss] alone means both directions
model = "random"
ratio = 0.02
[loss.up]
model = "gilbert-elliott"      # optional: bad_loss_ratio = 1, good_loss_ratio = 0
p = 0.004
r = 0.2
"""

from pydantic import ValidationError

from mixedsched.errors import ProfileError
from mixedsched.model.profile import Profile
from mixedsched.model.profile_file._build import ReadTrace, build_profile
from mixedsched.model.profile_file._schema import ProfileFile
from mixedsched.model.profile_file._trace import parse_trace
from mixedsched.model.toml_file import parse_toml, wrong_keys

__all__ = ["ReadTrace", "parse_profile", "parse_trace"]


def parse_profile(text: str, origin: str, read_trace: ReadTrace | None = None) -> Profile:
    """Read a profile file. origin: what errors call it. read_trace: contents of a trace by its name in the file.

    Raises ProfileError for anything absurd, and for a trace where traces cannot be read.
    """
    tables = parse_toml(text, origin, ProfileError)
    try:
        file = ProfileFile.model_validate(tables)
    except ValidationError as error:
        raise ProfileError(f"{origin} is refused", why=wrong_keys(error)) from error
    return build_profile(file, origin, read_trace)
