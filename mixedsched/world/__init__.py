"""Files, sockets, processes and real time: the server, emulated networks, browsers, what is stored where."""
