"""HTTP/3 without sockets: the scheduler seam in aioquic, priority signals, responses pulled by the scheduler, and sessions."""
