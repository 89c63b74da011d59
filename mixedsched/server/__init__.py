"""The server's room: UDP sockets, certificates and files around the sessions of `mixedsched.h3`."""
