"""Runs an edge until it is told to stop: in this process, or in several that share its port."""

import datetime as dt
import logging
import tempfile
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter

from mixedsched.core.h3.exchange import ServedRequest
from mixedsched.core.schedulers import SCHEMES
from mixedsched.errors import MixedschedError
from mixedsched.model.scheme import configure
from mixedsched.units import printable
from mixedsched.world import catalog
from mixedsched.world.edge._access import AccessLog
from mixedsched.world.edge._certificates import CertificateStore
from mixedsched.world.edge._exchange import EdgeRequest
from mixedsched.world.edge._metrics import Counters, MetricsServer, Sample, serve_metrics
from mixedsched.world.edge._sum import WorkerCounters, socket_of
from mixedsched.world.edge._watch import FileWatch
from mixedsched.world.edge.responder import Edge, tls_context
from mixedsched.world.edge.rules import read_rules
from mixedsched.world.edge.settings import EdgeFacts, EdgeInput, OriginAddress
from mixedsched.world.server.beacons import LeftAlone
from mixedsched.world.server.log import ServerLog
from mixedsched.world.server.run import listening, run_service
from mixedsched.world.server.running import FACTS, RunningServer, ServerFacts, WorkerInput
from mixedsched.world.server.service import LiveEndpoint, Service
from mixedsched.world.system.children import child

_log = logging.getLogger(__name__)

INPUT = TypeAdapter(EdgeInput)
LOCAL_HOSTS = ("localhost", "127.0.0.1", "::1")


def run_edge(given: EdgeInput, log: ServerLog) -> None:
    """Serve until told to stop, see server.run.run_service. Raises MixedschedError for settings that cannot be used."""
    run_service(_EdgeProcess(given).service(), log)


@asynccontextmanager
async def open_edge(given: EdgeInput, log: ServerLog) -> AsyncIterator[EdgeFacts]:
    """An edge on the running event loop, in one process, until the end of the `async with`, which ends all connections.

    Raises MixedschedError for settings that cannot be used.
    """
    async with listening(_EdgeProcess(given).service(), log) as (_, facts):
        assert isinstance(facts, EdgeFacts)
        yield facts


@asynccontextmanager
async def running_edge(given: EdgeInput, name: str, *, prefix: Sequence[str] = ()) -> AsyncIterator[RunningServer]:
    """An edge in a process of its own, which listens until the end; see server.running.running_server."""
    async with child(
        "mixedsched.world.edge",
        failure=f"the edge for {name} did not start",
        settings=INPUT.dump_python(given, mode="json"),
        prefix=prefix,
    ) as process:
        yield RunningServer(process, FACTS.validate_python(process.first))


class _EdgeProcess:
    """One process of an edge: what it has read from files, and what it counts."""

    def __init__(self, given: EdgeInput) -> None:
        edge = given.edge
        address = OriginAddress.parse(edge.origin)
        if address.is_tls:
            tls_context(edge)
        self._given = given
        self._certificates = CertificateStore(edge.certificates, edge.hosts) if edge.certificates else None
        self._rules = read_rules(edge.rules)
        names = self._certificates.names if self._certificates is not None else LOCAL_HOSTS
        self._hosts = edge.hosts or names
        self._counters = Counters()
        self._access = AccessLog(edge.log)
        self._edge: Edge | None = None
        self._endpoint: LiveEndpoint | None = None
        self._metrics: MetricsServer | None = None
        self._metrics_url: str | None = None
        self._counted: WorkerCounters | None = None  # of the workers, in the process that has them

    def service(self) -> Service:
        given, store = self._given, self._certificates
        return Service(
            module="mixedsched.world.edge",
            input=self._worker_input,
            beside=self._beside_workers,
            scheme=given.scheme,
            mapping=given.mapping,
            settings=given.settings,
            worker=given.worker,
            memory=given.memory,
            hosts=[host.removeprefix("*.") for host in self._hosts],
            responding=self._responding,
            described=self._described,
            choose_certificate=store.choose if store is not None else None,
            joined=self._joined,
            reload=self.reload,
            leaving=self._leave,
        )

    def _worker_input(self, worker: WorkerInput) -> Any:
        """What a worker reads: it counts for itself, and says so to the process that has started it."""
        given = self._given
        if self._counted is not None:
            log = replace(given.edge.log, metrics_port=socket_of(self._counted.folder, worker.number))
            given = replace(given, edge=replace(given.edge, log=log))
        return INPUT.dump_python(replace(given, worker=worker), mode="json")

    @asynccontextmanager
    async def _beside_workers(self) -> AsyncIterator[None]:
        """In the process that has the workers: answer with what they count, all together."""
        port = self._given.edge.log.metrics_port
        if port is None:
            yield
            return
        with tempfile.TemporaryDirectory(prefix="mixedsched-edge-") as folder:
            self._counted = WorkerCounters(Path(folder), self._given.settings.workers)
            shared = self._given.settings.hand_over is not None
            metrics = await serve_metrics(port, self._counted.samples, shared=shared)
            self._metrics, self._metrics_url = metrics, metrics.url
            try:
                yield
            finally:
                metrics.close()

    @asynccontextmanager
    async def _responding(self, _log: ServerLog) -> AsyncIterator[Edge]:
        settings = self._given.edge
        async with AsyncExitStack() as stack:
            stack.enter_context(self._access)
            if settings.log.metrics_port is not None:
                metrics = await serve_metrics(
                    settings.log.metrics_port, self._own_samples, shared=self._given.settings.hand_over is not None
                )
                stack.callback(metrics.close)
                self._metrics, self._metrics_url = metrics, metrics.url
            watch = FileWatch(self._files(), self.reload)
            stack.callback(watch.stop)
            self._edge = await stack.enter_async_context(
                Edge(settings, self._hosts, self._rules, self._over, self._left_alone())
            )
            yield self._edge

    def _left_alone(self) -> LeftAlone | None:
        memory = self._given.memory
        return LeftAlone(_log.warning) if memory is not None and memory.beacons else None

    def _joined(self, endpoint: LiveEndpoint) -> None:
        self._endpoint = endpoint

    def _described(self, facts: ServerFacts) -> ServerFacts:
        host = next((name for name in self._hosts if not name.startswith("*")), "localhost")
        shown = f"[{host}]" if ":" in host else host
        return EdgeFacts(
            **{
                **asdict(facts),
                "site": self._given.edge.origin,
                "url": f"https://{shown}:{facts.address[1]}/",
                "hosts": self._hosts,
                "connections": 1,
            },
            origin=self._given.edge.origin,
            metrics=self._metrics_url,
        )

    def _files(self) -> Iterator[Path]:
        settings = self._given.edge
        for files in settings.certificates:
            yield from (files.certificate, files.key)
        if settings.rules is not None:
            yield settings.rules
        if self._given.mapping is not None and Path(self._given.mapping).is_file():
            yield Path(self._given.mapping)

    def reload(self) -> None:
        """Read all files again. What cannot be read stays as it was, and the log says so."""
        if self._certificates is not None:
            self._certificates.reload()
            self._hosts = self._given.edge.hosts or self._certificates.names
            if self._edge is not None:
                self._edge.hosts = self._hosts
        try:
            rules = read_rules(self._given.edge.rules)
            scheme = configure(self._given.scheme, SCHEMES, catalog.load_mapping, self._given.mapping)
        except MixedschedError as error:
            _log.error("%s; the old rules and mapping remain in use", error)
            return
        if self._edge is not None:
            self._edge.rules = rules
        if self._endpoint is not None:
            self._endpoint.use_scheme(scheme)

    def _over(self, request: EdgeRequest, record: ServedRequest) -> None:
        self._counters.count(record, request.origin_ms, is_fault=request.is_origins_fault)
        self._access.write(request, record, dt.datetime.now().astimezone())
        if request.why is not None and record.status >= 500:
            path = printable(request.head.path[:200])
            _log.warning("%s %s: %d, %s", request.head.method, path, record.status, request.why)

    def _leave(self) -> None:
        if self._metrics is not None:
            self._metrics.close()  # from now on the other process answers

    async def _own_samples(self) -> Iterator[Sample]:
        return self._samples()

    def _samples(self) -> Iterator[Sample]:
        yield from self._counters.samples()
        if self._edge is not None:
            pool = self._edge.pool
            yield "mixedsched_edge_origin_connections", "gauge", "", pool.open_connections
            yield "mixedsched_edge_origin_waiting", "gauge", "", pool.waiting
            yield "mixedsched_edge_origin_up", "gauge", "", int(not pool.is_down)
            if self._edge.health is not None:
                health = self._edge.health
                yield "mixedsched_edge_health_checks_total", "counter", '{result="passed"}', health.passed
                yield "mixedsched_edge_health_checks_total", "counter", '{result="failed"}', health.failures
            yield "mixedsched_edge_held_bytes", "gauge", "", self._edge.budget.held_bytes
        if self._endpoint is not None:
            traffic = self._endpoint.traffic
            yield "mixedsched_edge_lost_packets_total", "counter", "", traffic.lost_packets
            yield "mixedsched_edge_repeated_bytes_total", "counter", "", traffic.again_bytes
            yield "mixedsched_edge_late_bytes_total", "counter", "", traffic.late_bytes
            sessions = self._endpoint.sessions
            rtts = [session.quic.rtt_s for session in sessions if session.quic.is_established]
            yield "mixedsched_edge_connections", "gauge", "", len(sessions)
            yield "mixedsched_edge_rtt_seconds", "gauge", "", sum(rtts) / len(rtts) if rtts else 0.0
