"""Made-up experiments for tests: seeded, plausible, with every field that a real run leaves behind."""

from __future__ import annotations

import base64
import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Any

from mixedsched.lab.model import Arm, Arrival, Block, Connection, Plan, Run, RunStatus
from mixedsched.model.profile import Direction, Profile, RandomLoss

LINK = Profile(
    name="sander-loss2",
    description="",
    source="",
    down=Direction(rate_bps=2_000_000, delay_us=30_000, queue_bytes=37_500, loss=RandomLoss(0.02)),
    up=Direction(rate_bps=None, delay_us=30_000, queue_bytes=None),
)

# A grey picture of 16 by 12 pixels: the smallest thing that a browser draws as JPEG.
GREY_JPEG = base64.b64decode(
    "/9j/4AAQSkZJRgABAQAAAQABAAD/2wBDABsSFBcUERsXFhceHBsgKEIrKCUlKFE6PTBCYFVlZF9VXVtqeJmBanGQc1tdhbWGkJ6jq62rZ4C8yb"
    "qmx5moq6T/2wBDARweHigjKE4rK06kbl1upKSkpKSkpKSkpKSkpKSkpKSkpKSkpKSkpKSkpKSkpKSkpKSkpKSkpKSkpKSkpKSkpKT/wAARCAAM"
    "ABADASIAAhEBAxEB/8QAFQABAQAAAAAAAAAAAAAAAAAAAAX/xAAUEAEAAAAAAAAAAAAAAAAAAAAA/8QAFAEBAAAAAAAAAAAAAAAAAAAAAv/EAB"
    "QRAQAAAAAAAAAAAAAAAAAAAAD/2gAMAwEAAhEDEQA/ALABC//Z"
)

BASE_METRICS = {"fcp_ms": 900.0, "lcp_ms": 2400.0, "si_ms": 1500.0, "tbt_ms": 80.0, "cls": 0.05, "tti_ms": 3100.0}

# path, kind, Lighthouse's resource type, Chromium priority, signal, bytes, requested at
RESPONSES: tuple[tuple[str, str, str, str, str, int, float], ...] = (
    ("/", "document", "Document", "VeryHigh", "u=0, i", 14_000, 2),
    ("/css/site.css", "stylesheet", "Stylesheet", "VeryHigh", "u=0", 32_000, 140),
    ("/css/theme.css?v=7", "stylesheet", "Stylesheet", "VeryHigh", "u=0", 9_000, 141),
    ("/js/app.js", "script", "Script", "High", "u=1", 90_000, 143),
    ("/js/consent.js", "script", "Script", "Low", "u=3", 40_000, 144),
    ("/fonts/text-regular.woff2", "font", "Font", "VeryHigh", "u=0", 28_000, 330),
    ("/img/hero.jpg", "image", "Image", "High", "u=2, i", 180_000, 145),
    ("/img/a-rather-long-name-of-a-picture-that-does-not-fit.jpg", "image", "Image", "Low", "u=3, i", 60_000, 420),
    ("/img/b.jpg", "image", "Image", "Low", "u=3, i", 60_000, 421),
    ("/img/c.jpg", "image", "Image", "Low", "u=3, i", 70_000, 422),
    ("/api/prices.json", "xhr", "Fetch", "High", "u=1, i", 4_000, 640),
    ("/media/teaser.webm", "media", "Media", "Low", "u=3, i", 80_000, 660),
    ("/site.webmanifest", "other", "Manifest", "Medium", "u=2, i", 900, 700),
)

_RATE_BYTES_PER_MS = 250.0  # 2 Mbit/s
_ROUND_TRIP_MS = 60.0
_FRAME_BYTES = 1200


def made_up_plan(blocks: int = 20, arms: Sequence[str] = ("round-robin", "mixed"), **changes: Any) -> Plan:
    """A plan of `blocks` blocks after one warm-up block; the first arm is the baseline."""
    rng = random.Random(blocks)
    numbered = []
    for index in range(blocks + 1):
        order = rng.sample(list(arms), len(arms))
        numbered.append(Block(index, rng.getrandbits(24), tuple(order), warm_up=index == 0))
    facts = {
        "site": "made-up shop",
        "site_digest": "3f2a9c1e77b0",
        "link": LINK.name,
        "link_facts": LINK.facts(),
        "form_factor": "mobile",
        "arms": tuple(Arm(label, label) for label in arms),
        "baseline": arms[0],
        "primary": ("lcp_ms", "si_ms"),
        "seed": 7,
        "blocks": tuple(numbered),
    }
    return Plan(**{**facts, **changes})


@dataclass
class MadeUp:
    """Draws runs of a plan. factors: by arm, what its times are multiplied with; jpeg_of: (arm, progress 0..1) -> picture."""

    plan: Plan
    seed: int = 1
    factors: Mapping[str, float] = field(default_factory=dict)
    noise: float = 0.03
    jpeg_of: Callable[[str, float], bytes] = lambda _arm, progress: numbered_jpeg(int(progress * 20))

    def runs(self) -> list[Run]:
        rng = random.Random(self.seed)
        made = []
        for block in self.plan.blocks:
            shared = rng.gauss(0, 0.1)  # what one block's network does to every arm
            for position, label in enumerate(block.order):
                metrics = self._metrics(label, shared, rng)
                made.append(self.run(label, metrics, block=block.index, position=position, lost=rng.randrange(4, 12)))
        return made

    def _metrics(self, label: str, shared: float, rng: random.Random) -> dict[str, float]:
        factor = self.factors.get(label, 1.0)
        metrics = {}
        for key, base in BASE_METRICS.items():
            spread = shared + rng.gauss(0, self.noise)
            if key == "tbt_ms":
                metrics[key] = max(0.0, base * (factor - 1) + base * rng.choice((0.0, 1 + spread)))
            elif key == "cls":
                metrics[key] = base
            else:
                metrics[key] = base * factor * 2.718281828**spread
        return metrics

    def run(self, label: str, metrics: Mapping[str, float], **fields: Any) -> Run:
        """An ok run of an arm with these metrics. The arm called "mixed" is served sequentially, others in turns."""
        arrivals = made_up_arrivals(interleaved="mixed" not in label)
        lost = fields.pop("lost", 5)
        return Run(
            **{
                "block": 1,
                "attempt": 1,
                "arm": label,
                "position": 0,
                "status": RunStatus.OK,
                "cost_s": 8.0,
                "page_load": self._page_load(label, metrics, arrivals),
                "arrivals": arrivals,
                "connections": 2,
                "lost_packets": lost,
                "relay": {"down": {"packets": 600, "size_bytes": 700_000, "overflowed": 3 * lost, "lost": lost}},
                "placements": _placements(),
                "quic": (made_up_connection(arrivals, lost),),
                **fields,
            }
        )

    def _page_load(self, label: str, metrics: Mapping[str, float], arrivals: Sequence[Arrival]) -> dict[str, Any]:
        ends = {item.path: item.to_ms for item in arrivals}
        done_ms = metrics["lcp_ms"]
        moments = [done_ms * step / 16 for step in range(17) if done_ms * step / 16 >= metrics["fcp_ms"]]
        pictures = [(0.0, self.jpeg_of(label, 0.0))] + [(at, self.jpeg_of(label, at / done_ms)) for at in moments]
        return {
            "metrics": dict(metrics),
            "requests": [
                {
                    "url": f"https://shop.test{path}",
                    "protocol": "h3",
                    "priority": priority,
                    "resource_type": resource_type,
                    "status": 200,
                    "transfer_bytes": size + 60,
                    "resource_bytes": size,
                    "start_ms": max(0.0, at_ms - 40 * (priority == "Low")),
                    "request_ms": at_ms,
                    "end_ms": ends[path] + 3,
                    "finished": path != "/site.webmanifest",
                }
                for path, _, resource_type, priority, _, size, at_ms in RESPONSES
            ],
            "frames": [{"at_ms": at, "jpeg_base64": base64.b64encode(jpeg).decode()} for at, jpeg in pictures],
            "lcp_element": '<img class="hero" src="/img/hero.jpg">',
            "warnings": [],
            "observed": {"load_ms": max(ends.values())},
            "benchmark_index": 1450.0,
            "versions": {"chromium": "156.0", "lighthouse": "12.8.2"},
        }


@cache
def made_up_arrivals(*, interleaved: bool) -> tuple[Arrival, ...]:
    """Frames over one link of 2 Mbit/s: the most urgent response alone, or all open ones in turn."""
    left = {path: size for path, _, _, _, _, size, _ in RESPONSES}
    open_at = {path: at_ms + _ROUND_TRIP_MS for path, _, _, _, _, _, at_ms in RESPONSES}
    urgency = {path: signal for path, _, _, _, signal, _, _ in RESPONSES}
    now_ms, turn, arrivals = 0.0, 0, []
    while left:
        ready = [path for path in left if open_at[path] <= now_ms]
        if not ready:
            now_ms = min(open_at[path] for path in left)
            continue
        path = ready[turn % len(ready)] if interleaved else min(ready, key=lambda item: (urgency[item], open_at[item]))
        turn += 1
        size = min(_FRAME_BYTES, left[path])
        blocked = size if len(arrivals) % (40 if interleaved else 8) == 7 else 0
        arrivals.append(Arrival(path, now_ms, now_ms + size / _RATE_BYTES_PER_MS, 1, size, blocked))
        now_ms += size / _RATE_BYTES_PER_MS
        left[path] -= size
        if left[path] <= 0:
            del left[path]
    return tuple(arrivals)


def made_up_connection(arrivals: Sequence[Arrival], lost: int) -> Connection:
    """So many packets lost of 600. What waited for them is what the arrivals say, and a bit more for every loss."""
    hol_bytes = sum(item.blocked_bytes for item in arrivals) + 500 * lost
    losses = tuple((item.from_ms, 1) for item in arrivals if item.blocked_bytes)
    return Connection(
        "shop.test", "first", "there was none before it", hol_bytes, hol_bytes + 9000, 600 - lost, lost, losses
    )


def _placements() -> tuple[dict[str, Any], ...]:
    return tuple(
        {
            "path": path,
            "kind": kind,
            "signal": signal,
            "signalled_by": "field",
            "chromium_priority": priority,
            "placement": signal,
            "scheme": "made-up",
            "body_bytes": size,
            "sent_bytes": size,
            "requested_ms": at_ms,
            "first_byte_ms": at_ms + 1,
            "last_byte_ms": at_ms + 100,
            "connection": 1,
            "stream_id": 4 * index,
        }
        for index, (path, kind, _, priority, signal, size, at_ms) in enumerate(RESPONSES)
    )


def numbered_jpeg(number: int) -> bytes:
    """The grey picture with a comment segment, so that pictures differ in content as real frames do."""
    return GREY_JPEG[:2] + b"\xff\xfe\x00\x06" + f"{number:04d}".encode() + GREY_JPEG[2:]
