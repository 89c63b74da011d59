"""Files for continuous integration: JUnit's XML of the common shape, and a table in Markdown that no name can break."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET
from dataclasses import replace

import pytest

from mixedsched.core.stats import Looks
from mixedsched.lab.analysis import analyse
from mixedsched.lab.comparison import Comparison
from mixedsched.lab.gates import Gate, judge
from mixedsched.report.ci import CheckedQuestions, gate_text, junit_xml, markdown_table
from mixedsched.report.compare import stopping_note
from tests.report.made_up_runs import MadeUp, made_up_plan

# What junit-10.xsd, the schema of Jenkins, has in common with those of others: attributes that must be there, and children.
REQUIRED = {
    "testsuites": set(),
    "testsuite": {"name", "tests", "failures", "errors"},
    "testcase": {"name", "classname"},
}
CHILDREN = {
    "testsuites": {"testsuite"},
    "testsuite": {"properties", "testcase", "system-out", "system-err"},
    "testcase": {"skipped", "error", "failure", "system-out", "system-err"},
    "failure": set(),
    "skipped": set(),
    "system-out": set(),
}
CONDITIONS = ("lcp > +2%", "lcp < +2%", "lcp > +30%")


def comparison(arm: str = "mixed") -> Comparison:
    plan = replace(made_up_plan(20, ("round-robin", arm), primary=("lcp_ms",)), looks=Looks(8, 20))
    return analyse(plan, MadeUp(plan, factors={arm: 1.3}).runs())


def checked(arm: str = "mixed", *, with_gates: bool = True, title: str = "shop over 4g") -> CheckedQuestions:
    found = comparison(arm)
    gates = judge([Gate.parse(text) for text in CONDITIONS], found.effects, found.plan.looks) if with_gates else ()
    return CheckedQuestions.of(
        title,
        gates,
        [("", effect) for effect in found.effects],
        stopping=stopping_note(found),
        report="runs/shop/report.html",
        cost_s=320.0,
    )


def check_shape(element: ET.Element) -> None:
    assert REQUIRED.get(element.tag, set()) <= element.attrib.keys()
    assert {child.tag for child in element} <= CHILDREN[element.tag]
    for name in ("tests", "failures", "errors", "skipped"):
        assert element.attrib.get(name, "0").isdigit()
    for child in element:
        check_shape(child)


def test_junit_has_the_common_shape_and_counts_what_it_has() -> None:
    document = ET.fromstring(junit_xml(checked()))
    assert document.tag == "testsuites"
    check_shape(document)
    (suite,) = document
    cases = suite.findall("testcase")
    assert [[child.tag for child in case] for case in cases] == [["failure"], ["system-out"], ["skipped"]]
    counts = {name: int(suite.attrib[name]) for name in ("tests", "failures", "errors", "skipped")}
    assert counts == {"tests": 3, "failures": 1, "errors": 0, "skipped": 1}
    assert float(suite.attrib["time"]) == 320


def test_a_failure_says_what_was_measured_and_where_the_report_is() -> None:
    failure = next(ET.fromstring(junit_xml(checked())).iter("failure"))
    assert failure.attrib["message"].startswith("FAILED: +")
    assert "runs/shop/report.html" in (failure.text or "")


def test_without_gates_a_worse_primary_metric_is_a_failure_and_others_are_left_out() -> None:
    (case,) = ET.fromstring(junit_xml(checked(with_gates=False))).iter("testcase")
    assert case.attrib["name"] == "LCP: mixed against round-robin"
    assert [child.tag for child in case] == ["failure"]


@pytest.mark.parametrize("arm", ["a\x00b\x1b[31m", "<&\"'>", "mixed|`x`\n# y", "ä中𝔘"])
def test_any_name_gives_well_formed_files(arm: str) -> None:
    document = ET.fromstring(junit_xml(checked(arm, title=arm)))
    check_shape(document)
    table = [line for line in markdown_table(checked(arm)).splitlines() if line.startswith("|")]
    assert len(table) == 2 + len(CONDITIONS)
    assert {line.replace("\\|", "").count("|") for line in table} == {6}


def test_an_arm_that_is_a_server_mentions_nobody_in_a_comment() -> None:
    assert not re.search(r"@\w", markdown_table(checked("@caddy", title="@h2o over 4g")))


def test_markdown_shows_each_gate_with_interval_verdict_blocks_and_the_report() -> None:
    text = markdown_table(checked())
    assert text.startswith("### shop over 4g\n\n| question |")
    first = next(line for line in text.splitlines() if line.startswith("| lcp \\> +2%"))
    assert "| mixed against round-robin | +" in first
    assert first.endswith("| **FAILED** | 20 |")
    assert "Sequential stopping" in text
    assert text.endswith("Report: `runs/shop/report.html`\n")


def test_a_gate_in_a_line() -> None:
    found = comparison()
    (result,) = judge([Gate.parse("lcp > +2%")], found.effects, found.plan.looks)
    text = gate_text(result)
    assert text.startswith("gate FAILED: lcp > +2%; mixed against round-robin: +")
    assert text.endswith(", 20 blocks")
