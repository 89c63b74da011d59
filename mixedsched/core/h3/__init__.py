"""HTTP/3 without sockets: the scheduler seam in aioquic, the client's signals, pulled responses, and one session of it all."""
