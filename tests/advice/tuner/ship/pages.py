"""Small pages for tests of what is shipped."""

from __future__ import annotations

from typing import Any

from mixedsched.advice.tuner.candidate import Candidate
from mixedsched.advice.tuner.ship.headers import HeaderPlan, header_plans
from mixedsched.model.page import Page
from mixedsched.model.priority import Priority
from mixedsched.model.request import ChromiumPriority, Kind
from mixedsched.world import catalog

HOSTS = ("shop.test", "cdn.test")


def resource(path: str, kind: str, *flags: str, size_bytes: int = 10_000, **more: Any) -> dict[str, Any]:
    found = {"found_by": "html", "found_when": "bytes", "found_at_bytes": 0}
    return {
        "id": path.rpartition("/")[2],
        "path": path,
        "kind": kind,
        "body_bytes": size_bytes,
        "flags": flags,
        **found,
        **more,
    }


def page_of(*resources: dict[str, Any]) -> Page:
    main = {"id": "html", "path": "/", "kind": "document", "body_bytes": 4000, "flags": ["main", "critical"]}
    return Page.from_dict({"format": "mixedsched.page/1", "name": "shop", "resources": [main, *resources]})


SHOP = page_of(
    resource("/css/site.css", "stylesheet", "in_head", "critical"),
    resource("/js/app.js", "script", "in_head", "critical"),
    resource("/img/hero.jpg", "image", "hero", size_bytes=90_000),
    *(resource(f"/img/p{index}.jpg", "image") for index in range(6)),
    resource("/img/logo.jpg", "image", "above_fold"),
    resource("/fonts/a.woff2", "font", found_by="site.css", found_when="complete"),
    resource("/fonts/b.woff2", "font", found_by="site.css", found_when="complete"),
    resource("/js/late.js", "script", "defer"),
    resource("/js/chat.js", "script", "async", host=1),
)  # fmt: skip

LOW_IMAGES_LAST = Candidate("eps", cells=(((ChromiumPriority.LOW, Kind.IMAGE), Priority(6, True)),))


def plan_of(candidate: Candidate, page: Page = SHOP) -> HeaderPlan:
    """The nearest way to say it."""
    return header_plans(page, candidate, catalog.load_mapping)[0]


def lines_of(plan: HeaderPlan) -> list[str]:
    """As "/img/*.jpg: u=5, i"."""
    return [f"{rule.match}: {rule.value}" for rule in plan.rules]
