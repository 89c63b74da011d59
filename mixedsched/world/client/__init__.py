"""One request to a web server, as a browser's first visit would make it: over TCP, and over HTTP/3."""

from mixedsched.world.client._answer import BODY_MOST_BYTES, HttpsAnswer, HttpsPage, RefusedError
from mixedsched.world.client._over_quic import ask_over_quic
from mixedsched.world.client._over_tcp import ask_over_tcp

__all__ = ["BODY_MOST_BYTES", "HttpsAnswer", "RefusedError", "HttpsPage", "ask_over_quic", "ask_over_tcp"]
