"""What `benchmarks.networks` and `benchmarks.backends` make of stored findings: pooled numbers, tables, figures."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest

from benchmarks import _backends_page, _networks_page
from benchmarks._networks_pooled import stored_networks
from mixedsched.world.emulator.probe import _losses as probe_losses
from mixedsched.world.emulator.probe import _plan as probe_plan
from mixedsched.world.emulator.probe import _timing as probe_timing
from mixedsched.world.emulator.probe.checking import LinkCheck
from tests.world.emulator.probing import STUDY, played

MACHINE = {"system": "Linux", "processor": "a processor", "cores": 2, "load_before": 0.25}
PAGE = (
    "before\n<!-- measured: begin -->\nold\n<!-- measured: end -->\n<!-- pages: begin -->\n<!-- pages: end -->\nafter\n"
)


def check(backend: str, seed: int, extra_us: int) -> LinkCheck:
    """A link that delays by so much more than its profile says, probed in virtual time."""
    slow = replace(STUDY, delay_us=STUDY.delay_us + extra_us)
    losses = played(slow, probe_plan.numbers(STUDY, 20.0), seed)
    findings = (
        probe_timing.delay_finding(played(slow, probe_plan.sparse(STUDY), seed), STUDY, "down"),
        probe_timing.trains_rate_finding(played(slow, probe_plan.trains(STUDY), seed), STUDY, "down"),
        probe_timing.queue_finding(played(slow, probe_plan.saturated(STUDY), seed), STUDY, "down"),
        probe_losses.loss_finding(losses, STUDY, "down", 0),
        probe_losses.burst_finding(losses, STUDY, "down", 0),
    )
    return LinkCheck("sander-burst5", backend, seed, (), findings)


@pytest.fixture
def results(tmp_path: Path) -> Path:
    for backend, extra_us in (("relay", 0), ("vm", 800)):
        rounds = [{"machine": MACHINE, **check(backend, seed, extra_us).to_dict()} for seed in (1, 2)]
        stored = {"backend": backend, "link": "sander-burst5", "rounds": rounds}
        (tmp_path / f"{backend}.json").write_text(json.dumps(stored))
    return tmp_path


def test_rounds_are_added_up(results: Path) -> None:
    relay, vm = stored_networks(results, ("relay", "vm"))
    assert (relay.backend, vm.backend) == ("relay", "vm")
    loss, bursts = relay.loss(), relay.bursts()
    assert loss is not None
    assert bursts is not None
    details = [finding["details"] for finding in relay.findings("loss")]
    assert loss.trials == sum(item["sent"] for item in details)
    assert loss.measured == sum(item["lost"] for item in details) / loss.trials
    assert bursts.interval.low < bursts.measured < bursts.interval.high
    assert bursts.trials == sum(finding["details"]["bursts"] for finding in relay.findings("burst length"))
    passed = relay.passed_shares()
    assert passed is not None
    assert passed[0] == pytest.approx(passed[1], abs=0.02)


def test_the_page_gets_tables_and_figures_and_keeps_the_rest(results: Path, tmp_path: Path) -> None:
    docs = tmp_path / "docs"
    (docs / "images").mkdir(parents=True)
    page = docs / "networks.md"
    page.write_text(PAGE)
    written = _networks_page.write_page(results, docs)
    text = page.read_text()
    assert text.startswith("before\n<!-- measured: begin -->\n")
    assert text.endswith("<!-- pages: end -->\nafter\n")
    assert "old" not in text
    assert "| sander-burst5 | relay | +0.00 (+0.00 to +0.00) |" in text
    assert "off: one-way delay down" in text
    for file in written[:-1]:
        assert ET.fromstring(file.read_text().split("\n", 1)[1]).tag.endswith("svg")
        assert f"images/{file.name}" in text
    again = text
    _networks_page.write_page(results, docs)
    assert page.read_text() == again


def test_pages_on_all_back_ends_stand_beside_each_other(tmp_path: Path) -> None:
    (tmp_path / "images").mkdir()
    (tmp_path / "networks.md").write_text(PAGE)
    row = {"scheme": "rr", "link_seed": 1, "finished_ms": 2000.0, "hol_bytes": 5000}
    rows = [{**row, "where": "relay", "fcp_ms": 400.0, "lcp_ms": 900.0, "si_ms": 700.0}, {**row, "where": "stack"}]
    stored = {"site": "a", "link": "b", "machine": MACHINE, "left_out": {"netns": "no netem"}, "rows": rows}
    (tmp_path / "pages-a-b.json").write_text(json.dumps(stored))
    _backends_page.write_page(tmp_path, tmp_path)
    text = (tmp_path / "networks.md").read_text()
    assert "| rr | relay | 1 | 400 ms (400 ms to 400 ms) |" in text
    assert "| rr | rung stack, no browser | 1 | – | – | – | 2.00 s (2.00 s to 2.00 s) | 5 kB (5 kB to 5 kB) |" in text
    assert "Left out: namespaces. No netem." in text


def test_nothing_stored_writes_nothing(tmp_path: Path) -> None:
    assert _networks_page.write_page(tmp_path, tmp_path) == []
    assert _backends_page.write_page(tmp_path, tmp_path) == []
