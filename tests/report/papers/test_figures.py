"""Figures of papers."""

from __future__ import annotations

import math
from xml.etree import ElementTree as ET

from mixedsched.report.papers.figures import (
    BesideRow,
    Curve,
    CurvesPanel,
    DotsPanel,
    beside_figure,
    curves_figure,
    dots_figure,
)
from mixedsched.report.papers.shares import BarsPanel, bars_figure
from mixedsched.report.papers.verdicts import Finding

NAMESPACE = "{http://www.w3.org/2000/svg}"


def shapes(picture: str, tag: str, look: str) -> list[ET.Element]:
    found = ET.fromstring(picture).iter(f"{NAMESPACE}{tag}")
    return [item for item in found if look in item.get("class", "").split()]


def words(picture: str) -> str:
    return " ".join(item.text or "" for item in ET.fromstring(picture).iter(f"{NAMESPACE}text"))


def test_a_curve_is_thin_where_sites_are_not_significant() -> None:
    curve = Curve("RR", [(-20.0, 0.25, True), (-4.0, 0.5, False), (1.0, 0.75, False), (30.0, 1.0, True)])
    picture = curves_figure("Figure 5", [], [[CurvesPanel("1 Mbit/s", [curve])]], x_label="change")
    paths = [item for item in shapes(picture, "path", "c0") if "line" in item.get("class", "")]
    assert [("thin" in item.get("class", "")) for item in paths] == [False, True, False, True]
    assert [item.get("d", "").count("V") for item in paths] == [1, 2, 1, 0], "the last one leads to the edge"


def test_values_beyond_the_axis_stay_inside_the_plot() -> None:
    curve = Curve("RR", [(-math.inf, 0.5, True), (900.0, 1.0, True)])
    picture = curves_figure("Figure 5", [], [[CurvesPanel("1 Mbit/s", [curve])]], x_label="change", span=(-50, 50))
    assert "inf" not in picture
    assert "nan" not in picture


def test_a_panel_without_data_says_how_much_there_is() -> None:
    picture = curves_figure(
        "Figure 5", ["Nothing."], [[CurvesPanel("1 Mbit/s", [], "0 of 20 sites")]], x_label="change"
    )
    assert "0 of 20 sites" in words(picture)


def test_every_site_with_a_value_has_a_dot_and_its_name() -> None:
    panel = DotsPanel("SI and HOL", [("all", [0.5, math.nan, -0.25])])
    picture = dots_figure("Figure 7", [], ["small", "medium", "large"], [panel])
    hints = [item[0].text for item in shapes(picture, "circle", "dot")]
    assert hints == ["small, all: +0.50", "large, all: -0.25"]


def test_ours_stand_beside_what_was_published_hollow_where_they_are_too_few() -> None:
    rows = [
        BesideRow("wikipedia", -25.0, [("cdn", Finding(-3, -6, 0, 8)), ("4g", Finding(-30, -40, -20, 2))]),
        BesideRow("apple", None, [("cdn", Finding(math.nan, math.nan, math.nan, 0))]),
    ]
    picture = beside_figure("Figure 4", [], rows)
    assert len(shapes(picture, "path", "published")) == 1
    assert ["hollow" in item.get("class", "") for item in shapes(picture, "circle", "dot")] == [False, True]
    assert len(shapes(picture, "line", "interval")) == 2


def test_a_bar_has_its_parts_one_above_the_other() -> None:
    parts = {"scripts": [3.0, 0.0], "images": [1.0, 2.0]}
    picture = bars_figure("Figure 3", [], ["shop", "blog"], [BarsPanel("number of resources", parts)])
    heights = [float(item.get("height", "")) for item in shapes(picture, "rect", "bar")]
    tops = [float(item.get("y", "")) for item in shapes(picture, "rect", "bar")]
    assert heights[0] == 3 * heights[1]
    assert tops[0] == tops[1] + heights[1], "images stand on scripts"
    assert "shop" in words(picture)
