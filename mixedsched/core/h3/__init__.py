"""HTTP/3 without sockets: the scheduler seam in aioquic, priority signals, responses pulled by the scheduler, and sessions."""

MAX_TRACE_BYTES = 64 * 1000 * 1000  # of a qlog: about 150,000 packets; here, as settings need no aioquic
LONGEST_FIELD_BYTES = 65_535  # name or value: pylsqpack encodes no longer ones; here, as sites need no aioquic
