"""`compare --until decided --fail-if`: when it stops, how it ends, and what it leaves for continuous integration.

The laboratory is a script: loads are drawn, all else is real.
"""

from __future__ import annotations

import json
import math
import random
import xml.etree.ElementTree as ET
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from mixedsched.lab.bench import Bench
from mixedsched.lab.engine import Laboratory
from mixedsched.lab.model import Run, RunStatus
from mixedsched.lab.results import ExperimentFacts
from mixedsched.model.profile import Profile
from tests.command import Result, run
from tests.lab.scripted import InterruptedRunError
from tests.report.made_up_runs import BASE_METRICS, MadeUp, made_up_plan

MAKER = MadeUp(made_up_plan())


class DrawnLab:
    """Loads of `mixed` take `change` longer than those of `sequential`, with log-normal noise that belongs to the block."""

    def __init__(self, change: float, noise: float) -> None:
        self.change, self.noise = change, noise
        self.made: list[Run] = []
        self.interrupt_at: int | None = None
        self.fails_in: frozenset[int] = frozenset()

    async def run(self, *, arm: str, block: int, attempt: int, position: int, link_seed: int) -> Run:
        if len(self.made) == self.interrupt_at:
            raise InterruptedRunError
        noise = math.exp(random.Random(f"{arm}/{link_seed}").gauss(0, self.noise))
        factor = noise * (1 + self.change if arm != "sequential" else 1)
        metrics = {key: value if key == "cls" else value * factor for key, value in BASE_METRICS.items()}
        made = MAKER.run(arm, metrics, block=block, attempt=attempt, position=position, arrivals=(), placements=())
        if block in self.fails_in:
            made = replace(made, status=RunStatus.INVALID, reason="protocol: http/1.1")
        self.made.append(made)
        return made

    @property
    def blocks(self) -> int:
        """How many analysed blocks were made in this start."""
        return len({item.block for item in self.made if item.block > 0})


@pytest.fixture
def site(tmp_path: Path) -> Path:
    folder = tmp_path / "shop"
    folder.mkdir()
    (folder / "index.html").write_text("<!DOCTYPE html><title>shop</title><p>hello")
    return folder


@pytest.fixture
def laboratory(monkeypatch: pytest.MonkeyPatch) -> Callable[..., DrawnLab]:
    def install(change: float, noise: float = 0.01) -> DrawnLab:
        lab = DrawnLab(change, noise)

        async def of_bench(bench: Bench, _network: Profile) -> tuple[Laboratory, ExperimentFacts]:
            return lab, replace(bench._facts, versions={"chromium": "156"})

        monkeypatch.setattr(Bench, "_laboratory", of_bench)
        return lab

    return install


def compared(site: Path, *options: str | Path, least: int = 6, most: int | None = 16, out: str = "out") -> Result:
    sequential = ("--until", "decided", "--max-blocks", str(most)) if most else ()
    return run(
        "compare", site, "--schemes", "sequential,mixed", "--blocks", str(least), *sequential, *options, "--json",
        "--out", site.parent / out,
    )  # fmt: skip


def facts_of(result: Result) -> dict[str, Any]:
    facts: dict[str, Any] = json.loads(result.stdout.splitlines()[-1])
    return facts


def test_a_regression_that_is_shown_ends_with_6_after_few_blocks(
    site: Path, laboratory: Callable[..., DrawnLab]
) -> None:
    lab = laboratory(0.10)
    result = compared(site, "--fail-if", "lcp > +2%")
    assert result.exit_code == 6
    assert lab.blocks == 7, "the first look that can show it, of 16"
    (gate,) = facts_of(result)["gates"]
    expected = {"condition": "lcp > +2%", "scheme": "mixed", "baseline": "sequential", "metric": "lcp_ms"}
    assert expected.items() <= gate.items()
    assert gate["verdict"] == "failed"
    assert 2 < gate["ci_low_pct"] < gate["ci_high_pct"]
    assert facts_of(result)["stopping"] == {"least": 6, "most": 16, "looks": 2, "decided": True}
    assert "gate FAILED: lcp > +2%; mixed against sequential: +" in result.stderr


def test_a_change_that_is_shown_to_be_within_the_bound_ends_with_0(
    site: Path, laboratory: Callable[..., DrawnLab]
) -> None:
    lab = laboratory(-0.10)
    result = compared(site, "--fail-if", "lcp > +2%")
    assert result.exit_code == 0
    assert lab.blocks == 7
    assert facts_of(result)["gates"][0]["verdict"] == "met"
    assert "gate met: lcp > +2%" in result.stderr


def test_what_cannot_be_decided_ends_with_5_after_the_last_block(
    site: Path, laboratory: Callable[..., DrawnLab]
) -> None:
    lab = laboratory(0.02, noise=0.05)
    result = compared(site, "--fail-if", "lcp > +2%")
    assert result.exit_code == 5
    assert lab.blocks == 16
    assert facts_of(result)["gates"][0]["verdict"] == "undecided"
    assert facts_of(result)["blocks"] == {"complete": 16, "planned": 16}
    assert "not decided within these blocks" in result.stderr


def test_with_gates_the_question_is_the_bound_and_not_zero(site: Path, laboratory: Callable[..., DrawnLab]) -> None:
    lab = laboratory(0.05, noise=0.005)
    assert compared(site, "--fail-if", "lcp > +5%").exit_code == 5
    assert lab.blocks == 16, "clearly worse than nothing, but not clearly more than 5 %"


def test_without_gates_better_worse_or_equivalent_is_enough(site: Path, laboratory: Callable[..., DrawnLab]) -> None:
    lab = laboratory(0.0, noise=0.004)
    result = compared(site)
    assert result.exit_code == 0
    assert lab.blocks < 16
    effect = next(item for item in facts_of(result)["effects"] if item["metric"] == "lcp_ms")
    assert effect["verdict"] == "equivalent"


def test_an_interrupted_command_goes_on_and_ends_as_if_nothing_had_happened(
    site: Path, laboratory: Callable[..., DrawnLab]
) -> None:
    laboratory(0.03, noise=0.02)
    straight = facts_of(compared(site, "--fail-if", "lcp > 0%"))
    (site.parent / "out").rename(site.parent / "before")
    lab = laboratory(0.03, noise=0.02)
    lab.interrupt_at = 11
    with pytest.raises(InterruptedRunError):
        compared(site, "--fail-if", "lcp > 0%")
    lab.interrupt_at = None
    assert facts_of(compared(site, "--fail-if", "lcp > 0%")) == straight
    assert len(lab.made) == 2 * (1 + straight["blocks"]["complete"]), "each load once, the warm-up's too"


def test_what_is_decided_is_told_again_and_not_made_again(site: Path, laboratory: Callable[..., DrawnLab]) -> None:
    laboratory(0.10)
    first = compared(site, "--fail-if", "lcp > +2%")
    idle = laboratory(0.10)
    assert facts_of(compared(site, "--fail-if", "lcp > +2%")) == facts_of(first)
    assert idle.made == []
    assert compared(site, "--fail-if", "lcp > +9.9%").exit_code == 5, "another bound is another question"
    assert idle.blocks == 9


def test_a_block_that_was_given_up_stays_out(site: Path, laboratory: Callable[..., DrawnLab]) -> None:
    lab = laboratory(0.02, noise=0.05)
    lab.fails_in = frozenset({3})
    first = compared(site, "--fail-if", "lcp > +2%")
    lab.fails_in = frozenset()
    again = compared(site, "--fail-if", "lcp > +2%")
    assert facts_of(first)["gates"] == facts_of(again)["gates"]
    assert facts_of(again)["blocks"]["complete"] == 15


def test_several_gates_are_each_answered_and_one_that_fails_decides_the_exit_code(
    site: Path, laboratory: Callable[..., DrawnLab]
) -> None:
    laboratory(0.10, noise=0.003)
    result = compared(site, "--fail-if", "lcp > +2%", "--fail-if", "cls > +0.05")
    assert result.exit_code == 6
    verdicts = {item["metric"]: item["verdict"] for item in facts_of(result)["gates"]}
    assert verdicts == {"lcp_ms": "failed", "cls": "met"}
    assert facts_of(result)["primary"] == ["lcp_ms", "cls"]


def test_without_until_a_gate_judges_the_blocks_that_were_asked_for(
    site: Path, laboratory: Callable[..., DrawnLab]
) -> None:
    lab = laboratory(0.10)
    assert compared(site, "--fail-if", "lcp > +2%", least=6, most=None).exit_code == 6
    assert lab.blocks == 6
    assert compared(site, "--fail-if", "lcp > +20%", least=6, most=None).exit_code == 0
    few = compared(site, "--fail-if", "lcp > +2%", "--seed", "2", least=3, most=None, out="few")
    assert few.exit_code == 5


@pytest.mark.parametrize(
    "options",
    [
        ("--fail-if", "lcp > 2"),
        ("--fail-if", "lpc > 2%"),
        ("--fail-if", "lcp"),
        ("--max-blocks", "2"),
        ("--junit", "no/such/folder/gates.xml"),
        ("--primary", "fcp", "--fail-if", "tti > 2%", "--metrics", "fcp,lcp"),
    ],
)
def test_what_makes_no_sense_is_refused_before_any_load(
    site: Path, laboratory: Callable[..., DrawnLab], options: tuple[str, ...]
) -> None:
    lab = laboratory(0.10)
    result = compared(site, *options)
    assert result.exit_code == 2
    assert lab.made == []
    assert not (site.parent / "out").exists()


def test_files_for_continuous_integration_are_written_however_it_ends(
    site: Path, laboratory: Callable[..., DrawnLab]
) -> None:
    for change, exit_code, tag in ((0.10, 6, "failure"), (-0.10, 0, "system-out"), (0.02, 5, "skipped")):
        laboratory(change, noise=0.05 if exit_code == 5 else 0.01)
        files = {name: site.parent / f"{exit_code}.{name}" for name in ("junit", "markdown")}
        options = [word for name, path in files.items() for word in (f"--{name}", path)]
        assert compared(site, "--fail-if", "lcp > +2%", *options, out=str(exit_code)).exit_code == exit_code
        (case,) = ET.parse(files["junit"]).getroot().iter("testcase")
        assert [child.tag for child in case] == [tag]
        assert "| lcp \\> +2% |" in files["markdown"].read_text()


def test_the_report_says_how_it_was_stopped_and_what_became_of_gates(
    site: Path, laboratory: Callable[..., DrawnLab]
) -> None:
    laboratory(0.10)
    facts = facts_of(compared(site, "--fail-if", "lcp > +2%"))
    for text in (Path(facts["report"]).read_text(), run("report", site.parent / "out").stdout):
        assert "Sequential stopping: after each block from number 6 on" in " ".join(text.split())
    report = Path(facts["report"]).read_text()
    assert "gate FAILED: lcp &gt; +2%" in report
    assert "--until decided --max-blocks 16 --fail-if" in report
    assert "makes false findings more frequent" not in " ".join(report.split())
