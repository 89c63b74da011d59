"""One request to a web server, as a browser's first visit would make it: over TCP, and over HTTP/3."""

from mixedsched.world.client._answer import HttpsAnswer, HttpsPage, RefusedError
from mixedsched.world.client._over_quic import ask_over_quic
from mixedsched.world.client._over_tcp import ask_over_tcp

__all__ = ["HttpsAnswer", "HttpsPage", "RefusedError", "ask_over_quic", "ask_over_tcp"]
