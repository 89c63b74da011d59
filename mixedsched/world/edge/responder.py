"""The edge itself: answers each request with what the origin says."""

import base64
import os
import ssl
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Self

from mixedsched.core.h3.exchange import ServedRequest
from mixedsched.core.h3.forwarding import refusal
from mixedsched.core.h3.live import LiveRequest, LiveResponder, Reply
from mixedsched.core.h3.response import RequestHead, Response
from mixedsched.core.learning.beacon import is_beacon
from mixedsched.errors import UsageError
from mixedsched.world.edge._budget import Budget
from mixedsched.world.edge._certificates import covers
from mixedsched.world.edge._exchange import EdgeRequest
from mixedsched.world.edge._health import HealthCheck
from mixedsched.world.edge._pool import OriginPool
from mixedsched.world.edge.rules import Rules
from mixedsched.world.edge.settings import EdgeSettings, OriginAddress
from mixedsched.world.server.beacons import LeftAlone, answer_to_beacon

Over = Callable[[EdgeRequest, ServedRequest], None]


class Edge(LiveResponder):
    """Passes requests on to the origin, on the running event loop. Close it at the end.

    hosts: names that are served; none: all. over: told of each request that is over. left_alone: told of documents that get no
    script of the beacon; None where none does. Raises UsageError.
    """

    def __init__(
        self,
        settings: EdgeSettings,
        hosts: tuple[str, ...],
        rules: Rules,
        over: Over,
        left_alone: LeftAlone | None = None,
    ) -> None:
        self.settings = settings
        self.hosts = hosts
        self.rules = rules
        self.left_alone = left_alone
        self.budget = Budget(settings.buffers.all_bytes)
        self.spooled = Budget(settings.buffers.spool_all_bytes)
        address = OriginAddress.parse(settings.origin)
        self.pool = OriginPool(address, settings.limits, partial(tls_context, settings) if address.is_tls else None)
        self._over = over
        host = settings.origin_host or next((name for name in hosts if not name.startswith("*")), "localhost")
        path, every_s = settings.limits.health_path, settings.limits.health_s
        self.health = HealthCheck(self.pool, path, host, every_s) if path is not None else None

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        if self.health is not None:
            self.health.stop()
        self.pool.close()

    def begin(self, head: RequestHead, reply: Reply) -> LiveRequest:
        refused = refusal(head, self._is_served)
        request = EdgeRequest(self, head, reply)
        if refused is not None:
            request.refuse(refused.status, refused.why, refused.fields)
        elif self.left_alone is not None and is_beacon(head.path):
            request.answer_here(answer_to_beacon(head))
        else:
            request.start()
        return request

    def response(self, head: RequestHead, response: Response) -> Response:
        """The response with the operator's own priority for its path, which goes before the origin's."""
        value = self.rules.value_for(head.path)
        if value is None:
            return response
        fields = [item for item in response.fields if item[0] != b"priority"]
        return replace(response, fields=[*fields, (b"priority", value)])

    def is_over(self, request: EdgeRequest, record: ServedRequest) -> None:
        self._over(request, record)

    def websocket_key(self) -> bytes:
        """RFC 6455 section 4.1; HTTP/3 clients send none."""
        return base64.b64encode(os.urandom(16))

    def _is_served(self, host: str) -> bool:
        return not self.hosts or any(covers(name, host) for name in self.hosts)


def tls_context(settings: EdgeSettings) -> ssl.SSLContext:
    """How to speak with an https origin. Raises UsageError if its authority cannot be read."""
    try:
        context = ssl.create_default_context(cafile=settings.origin_ca)
    except (OSError, ssl.SSLError) as error:
        raise UsageError(
            f"the authority {settings.origin_ca} cannot be used", why=str(error), fix="name a PEM file with --origin-ca"
        ) from error
    if not settings.origin_verify:
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
    return context
