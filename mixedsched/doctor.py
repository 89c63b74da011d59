"""Proves, part by part, that pages can be measured here."""

from __future__ import annotations

import asyncio
import datetime as dt
import json
import socket
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from cryptography import x509

from mixedsched import catalog
from mixedsched.browser import LighthouseRunner, PageLoadFailed, find_chromium, find_node
from mixedsched.errors import MissingPartError, MixedschedError
from mixedsched.experiment.children import child
from mixedsched.experiment.lab import Lab, Scene
from mixedsched.experiment.model import Arm, Run, RunStatus
from mixedsched.h3.certificate import make_certificate
from mixedsched.profile import Direction, Profile
from mixedsched.sites import Site

_PROBES = 400
_PROBE_GAP_S = 0.002
_MAX_LATE_P99_MS = 2.0
_MAX_CONNECTIONS = 3  # Chromium's privacy modes: first party, third party, without credentials


@dataclass(frozen=True, slots=True)
class Check:
    """One finding. is_missing_part: it failed because something is not installed or not allowed."""

    name: str
    ok: bool
    detail: str
    fix: str = ""
    is_missing_part: bool = False

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)


def examine(open_site: Callable[[], Site], site_names: Sequence[str]) -> Iterator[Check]:
    """All checks, cheap ones first; what needs a part that has failed is not tried.

    open_site: the bundled site that is loaded as a proof. site_names: what `sites` lists.
    """
    yield _checked("sites", lambda: f"{len(site_names)} bundled: {', '.join(site_names)}")
    yield _checked("certificate", _prove_certificate)
    yield _checked("free UDP ports", _prove_ports)
    yield _checked("relay timers", lambda: asyncio.run(_prove_relay()))
    parts = [
        _checked("Node", lambda: str(find_node())),
        _checked("Chromium", lambda: str(find_chromium())),
    ]
    yield from parts
    if not all(part.ok for part in parts):
        return
    runner = _checked("lighthouse-runner", lambda: asyncio.run(_prove_runner()))
    yield runner
    if runner.ok:
        yield from _prove_page_load(open_site)


def _checked(name: str, prove: Callable[[], str]) -> Check:
    """Run a proof; its text is the detail, its error the failure."""
    try:
        return Check(name, True, prove())
    except MixedschedError as error:
        detail = f"{error.what}: {error.why}" if error.why else error.what
        return Check(name, False, detail, error.fix, isinstance(error, MissingPartError))
    except OSError as error:
        return Check(name, False, error.strerror or str(error), "check the limits and permissions of this account")


def _prove_certificate() -> str:
    hosts = ["a.test", "b.test", "127.0.0.1"]
    certificate = make_certificate(hosts, dt.datetime.now(dt.UTC))
    names = certificate.certificate.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    covered = {*names.get_values_for_type(x509.DNSName), *map(str, names.get_values_for_type(x509.IPAddress))}
    missing = [host for host in hosts if host not in covered]
    if missing:
        raise MixedschedError(
            f"a self-made certificate does not cover {', '.join(missing)}", fix="reinstall cryptography"
        )
    return f"self-made, covers {len(hosts)} names, key hash {certificate.spki_sha256[:12]}..."


def _prove_ports() -> str:
    with (
        socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as first,
        socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as second,
    ):
        for sock in (first, second):
            sock.bind(("127.0.0.1", 0))
        return f"for instance {first.getsockname()[1]} and {second.getsockname()[1]} on the loopback interface"


async def _prove_relay() -> str:
    """Send probes through a relay with 10 ms each way; how late do they come?"""
    loop = asyncio.get_running_loop()
    with (
        socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as server,
        socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as client,
    ):
        for sock in (server, client):
            sock.bind(("127.0.0.1", 0))
            sock.setblocking(False)
        ten_ms = Direction(None, 10_000, None, 0.0)
        settings = {
            "profile": Profile("probe", "", "", ten_ms, ten_ms).facts(),
            "seed": 1,
            "server": server.getsockname(),
            "listen": ["127.0.0.1", 0],
        }
        failed = MixedschedError("the relay did not start")
        async with child("mixedsched.emulator.relay", [json.dumps(settings)], lambda _: failed) as relay:
            await loop.sock_connect(client, tuple(relay.first["listening"]))
            late_ms = []
            for _ in range(_PROBES):
                sent_s = time.monotonic()
                await loop.sock_sendall(client, b"probe")
                await asyncio.wait_for(loop.sock_recv(server, 64), 5)
                late_ms.append((time.monotonic() - sent_s) * 1000 - 10)
                await asyncio.sleep(_PROBE_GAP_S)
    late_ms.sort()
    median_ms, p99_ms = late_ms[len(late_ms) // 2], late_ms[int(len(late_ms) * 0.99)]
    detail = f"a packet leaves {median_ms:.2f} ms after its time at the median, {p99_ms:.2f} ms at the 99th percentile"
    if p99_ms > _MAX_LATE_P99_MS:
        raise MixedschedError(
            detail, why="too late to emulate a network", fix="stop what else is running on this machine"
        )
    return detail


async def _prove_runner() -> str:
    try:
        async with LighthouseRunner(catalog.home() / "lighthouse-runner") as runner:
            versions = await runner.versions()
    except PageLoadFailed as error:
        raise MissingPartError(
            "the lighthouse-runner does not answer", why=error.detail, fix="run `make setup`"
        ) from error
    return f"Lighthouse {versions.lighthouse}, Chromium {versions.chromium}, Node {versions.node}"


def _prove_page_load(open_site: Callable[[], Site]) -> Iterator[Check]:
    """One real page load through server, relay and browser."""
    try:
        site = open_site()
        run = asyncio.run(_load(site))
    except MixedschedError as error:
        yield Check("page load", False, str(error), error.fix, isinstance(error, MissingPartError))
        return
    if run.status is RunStatus.FAILED:
        yield Check(
            "page load", False, run.reason, "read what Chromium says: start it by hand with --headless --dump-dom"
        )
        return
    metrics = run.page_load["metrics"]
    told = f"{site.name} with six metrics, LCP {metrics['lcp_ms']:.0f} ms, in {run.cost_s:.1f} s"
    if run.reason:
        told = f"{site.name} was loaded, but would not count: {run.reason}"
    yield Check(
        "page load", run.status is RunStatus.OK, told, "stop what else is running on this machine, and try again"
    )
    requests = run.page_load["requests"]
    over_h3 = sum(1 for request in requests if request["protocol"] == "h3")
    yield Check(
        "HTTP/3 only",
        over_h3 == len(requests),
        f"{over_h3} of {len(requests)} requests over h3",
        "another program may answer for the site's host; close other proxies and VPNs",
    )
    yield Check(
        "connections",
        1 <= run.connections <= _MAX_CONNECTIONS,
        f"{run.connections} QUIC connection{'s' if run.connections != 1 else ''}",
        "see docs/measuring.md on how Chromium splits a page over connections",
    )


async def _load(site: Site) -> Run:
    arm = Arm("eps", "eps")
    scene = Scene(site.name, site.url, site.hosts, catalog.load_profile("cdn"), "mobile")
    with tempfile.TemporaryDirectory(prefix="mixedsched-doctor-") as folder:
        async with Lab(scene, [arm], Path(folder)) as lab:
            return await lab.run(arm=arm.label, block=1, attempt=1, position=0, link_seed=1)
