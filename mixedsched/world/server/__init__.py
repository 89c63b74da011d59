"""The server's room: UDP sockets, certificates and files around the sessions of `mixedsched.core.h3`."""
