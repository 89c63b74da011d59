"""The page that has VGPrio beside `tune`: what it counts, and that it tells what is missing."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from pathlib import Path
from typing import Any

from benchmarks._vgprio_page import write_pages

ARMS = ("chrome", "eps", "sequential", "firefox", "rr", "tune")


def place(site: str, vgprio_ms: float, **changes: Any) -> dict[str, Any]:
    """Every order has a Speed Index of 1000 ms over each of three seeds, but VGPrio's."""
    times = dict.fromkeys(ARMS, 1000.0) | {"vgprio": vgprio_ms}
    return {
        "site": site, "link": "vgprio-bw2-rtt50", "seed": 1, "learned_si_ms": vgprio_ms,
        "simulated": {"vgprio": 270, "tune": 200},
        "arms": {arm: {key: [ms, ms, None] for key in ("fcp_ms", "lcp_ms", "si_ms")} for arm, ms in times.items()},
    } | changes  # fmt: skip


def told(folder: Path, places: list[dict[str, Any]]) -> str:
    write_pages(places, folder)
    return (folder / "README.md").read_text(encoding="utf-8")


def test_sites_beyond_two_per_cent_are_counted(tmp_path: Path) -> None:
    page = told(tmp_path, [place("a", 900.0), place("b", 985.0), place("c", 1015.0), place("d", 1100.0)])
    row = next(line for line in page.splitlines() if line.startswith("| 2 Mbit/s, 50 ms | VGPrio | 4 |"))
    assert row.endswith("| +10 % | 25% | 25% |")
    assert row.split(" | ")[3].startswith("0.0 %")


def test_places_that_did_not_end_are_told_and_networks_without_any_are_left_out(tmp_path: Path) -> None:
    failed = {"site": "b", "link": "vgprio-bw10-loss2", "seed": 1, "error": "no load of the page ever ends"}
    page = told(tmp_path, [place("a", 900.0), failed])
    assert "Places that did not end: 1." in page
    assert "10 Mbit/s, 10 ms" not in page


def test_the_picture_has_a_panel_for_each_network_and_says_how_many_sites(tmp_path: Path) -> None:
    told(tmp_path, [place("a", 900.0), place("b", 1100.0), place("a", 950.0, link="sander-rtt50")])
    texts = [item.text or "" for item in ET.parse(tmp_path / "curves.svg").iter("{http://www.w3.org/2000/svg}text")]
    assert "2 sites" in texts
    assert "1 sites" in texts
