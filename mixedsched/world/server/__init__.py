"""The HTTP/3 server: UDP sockets, certificates and files around the sessions of `mixedsched.core.h3`."""
