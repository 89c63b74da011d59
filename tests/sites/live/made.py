"""Loads made up for tests."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from mixedsched.model.request import ChromiumPriority, Kind
from mixedsched.world.browser.observation import Initiator, InitiatorType, Observation, ObservationJob, ObservedRequest

SHOP = "https://shop.test/"
_MIMES = {Kind.DOCUMENT: "text/html", Kind.SCRIPT: "text/javascript", Kind.IMAGE: "image/png"}


def request(
    url: str, kind: Kind = Kind.IMAGE, *, by: str | None = SHOP, how: InitiatorType = "parser", **more: Any
) -> ObservedRequest:
    """A watched request; `asked_ms` and `lasts_ms` set its times."""
    asked_ms, lasts_ms = more.pop("asked_ms", 10.0), more.pop("lasts_ms", 20.0)
    made = ObservedRequest(
        index=0,
        url=url,
        method="GET",
        kind=kind,
        resource_type=kind.value,
        destination=None,
        priority=ChromiumPriority.LOW,
        final_priority=ChromiumPriority.LOW,
        urgency=None,
        incremental=None,
        request_headers=(),
        status=200,
        protocol="h2",
        mime=_MIMES.get(kind, "application/json"),
        response_headers=(),
        encoding=None,
        sent_bytes=0,
        decoded_bytes=0,
        asked_ms=asked_ms,
        sent_ms=asked_ms,
        first_byte_ms=asked_ms + 1,
        complete_ms=asked_ms + lasts_ms,
        initiator=Initiator(how, by),
        document_url=SHOP,
    )
    return replace(made, **more)


def document(**more: Any) -> ObservedRequest:
    return request(SHOP, **{"kind": Kind.DOCUMENT, "by": None, "how": "navigation", "asked_ms": 0.0, **more})


def load(*requests: ObservedRequest, **more: Any) -> Observation:
    """A load of the requests, in their order."""
    made = Observation(
        url=SHOP,
        final_url=SHOP,
        form_factor="mobile",
        requests=tuple(replace(item, index=index) for index, item in enumerate(requests)),
        ended="quiet",
        notes=(),
        title="A  shop",
        viewport_px=(412, 823),
        lcp_url=None,
        lcp_element=None,
        fcp_ms=100.0,
        lcp_ms=200.0,
        dom_content_loaded_ms=90.0,
        load_ms=300.0,
        chromium_version="156.0",
    )
    return replace(made, **more)


def body(folder: Path, content: bytes | str, name: str = "body") -> Path:
    """A file with a body."""
    path = folder / f"{name}-{len(list(folder.iterdir()))}"
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return path


class Scripted:
    """An observer that gives what it was told to, load by load."""

    def __init__(self, *answers: Observation | Exception) -> None:
        self._answers: Sequence[Observation | Exception] = answers
        self.jobs: list[ObservationJob] = []

    async def observe(self, job: ObservationJob) -> Observation:
        self.jobs.append(job)
        answer = self._answers[len(self.jobs) - 1]
        if isinstance(answer, Exception):
            raise answer
        return replace(answer, form_factor=job.form_factor)
