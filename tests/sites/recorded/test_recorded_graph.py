"""Who finds what in a recorded page: as the recording tells, and inferred where it does not."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mixedsched.model.page import Page
from mixedsched.model.request import ChromiumPriority, Flag, Kind
from mixedsched.sites.recorded._copies import Copier
from mixedsched.sites.recorded._graph import discovery, own_scripts
from mixedsched.sites.recorded._rewriting import Renaming
from mixedsched.sites.recorded.names import Origin
from tests.sites.recorded.made import SHOP, Recorded, document, exchange, redirect

PADDING = "<p>text</p>" * 100


def found(site: Recorded, id_: str) -> dict[str, Any]:
    keys = ("found_by", "found_when", "found_at_bytes", "delay_ms")
    return {key: value for key, value in site.resource(id_).items() if key in keys}


def test_what_a_document_spells_out_is_found_at_its_place_on_the_wire(tmp_path: Path) -> None:
    body = f"{PADDING}<img src='a.png'>{PADDING}<img src=/b.png>"
    page = document(body, encoding="gzip")
    site = Recorded(tmp_path / "s", page, exchange(f"{SHOP}a.png"), exchange(f"{SHOP}b.png"))
    share = body.index("a.png") / len(body)
    assert found(site, "a.png") == {
        "found_by": "html",
        "found_when": "bytes",
        "found_at_bytes": int(share * len(page.body)) + 1,
    }
    assert found(site, "a.png")["found_at_bytes"] < found(site, "b.png")["found_at_bytes"] <= len(page.body)


def test_a_base_element_bends_references(tmp_path: Path) -> None:
    site = Recorded(
        tmp_path / "s",
        document("<base href='https://cdn.test/x/'><img src=a.png>"),
        exchange("https://cdn.test/x/a.png"),
    )
    assert found(site, "cdn.test/x/a.png")["found_at_bytes"] > 1


def test_a_sheet_gives_when_it_is_complete_and_a_script_after_its_think_time(tmp_path: Path) -> None:
    site = Recorded(
        tmp_path / "s",
        document("<link rel=stylesheet href=a.css><script src=a.js></script>"),
        exchange(f"{SHOP}a.css", Kind.STYLESHEET, "body{background:url(b.png)}", asked_ms=10, lasts_ms=20),
        exchange(f"{SHOP}a.js", Kind.SCRIPT, "'api/x'", asked_ms=10, lasts_ms=20),
        exchange(f"{SHOP}b.png", asked_ms=31),
        exchange(f"{SHOP}api/x", Kind.XHR, "{}", asked_ms=180),
    )
    assert found(site, "b.png") == {"found_by": "a.css", "found_when": "complete"}
    assert found(site, "api/x") == {"found_by": "a.js", "found_when": "complete", "delay_ms": 150.0}


def test_who_asked_as_the_recording_tells_wins_over_what_is_spelt(tmp_path: Path) -> None:
    site = Recorded(
        tmp_path / "s",
        document("<script src=a.js></script><!-- b.png -->"),
        exchange(f"{SHOP}a.js", Kind.SCRIPT, "x", asked_ms=5, lasts_ms=5),
        exchange(f"{SHOP}b.png", asked_ms=12, found_by_url=f"{SHOP}a.js", found_how="script"),
    )
    assert found(site, "b.png")["found_by"] == "a.js"


def test_a_script_may_call_itself_by_what_is_no_address(tmp_path: Path) -> None:
    """Browsers tell the name that a script gives itself (`sourceURL`)."""
    picture = exchange(f"{SHOP}a.png", asked_ms=12, found_by_url="http://[a#b", found_how="script")
    assert found(Recorded(tmp_path / "s", document("<img src=a.png>"), picture), "a.png")["found_by"] == "html"


def test_who_had_not_begun_to_arrive_cannot_have_asked(tmp_path: Path) -> None:
    site = Recorded(
        tmp_path / "s",
        document("<script src=a.js></script>", lasts_ms=200),
        exchange(f"{SHOP}a.js", Kind.SCRIPT, "'b.png'", asked_ms=5, first_byte_ms=90, lasts_ms=100),
        exchange(f"{SHOP}b.png", asked_ms=50, found_by_url=f"{SHOP}a.js"),
    )
    assert found(site, "b.png")["found_by"] == "html"


def test_what_nothing_spells_is_found_where_the_document_had_come_to(tmp_path: Path) -> None:
    page = document("x" * 1000, lasts_ms=100)
    site = Recorded(tmp_path / "s", page, exchange(f"{SHOP}a.png", asked_ms=40), exchange(f"{SHOP}b.png", asked_ms=300))
    assert found(site, "a.png") == {"found_by": "html", "found_when": "bytes", "found_at_bytes": 400}
    assert found(site, "b.png") == {"found_by": "html", "found_when": "complete", "delay_ms": 200.0}


def test_the_referer_tells_where_nothing_else_does(tmp_path: Path) -> None:
    referer = [("referer", f"{SHOP}a.css")]
    site = Recorded(
        tmp_path / "s",
        document("<link rel=stylesheet href=a.css>"),
        exchange(f"{SHOP}a.css", Kind.STYLESHEET, "p{}", asked_ms=5, lasts_ms=5),
        exchange(f"{SHOP}t.woff2", Kind.FONT, asked_ms=30, request_headers=tuple(referer)),
    )
    assert found(site, "t.woff2")["found_by"] == "a.css"


def test_a_redirect_gives_its_target(tmp_path: Path) -> None:
    site = Recorded(
        tmp_path / "s",
        document("<img src=old.png>"),
        redirect(f"{SHOP}old.png", "https://cdn.test/new.png", asked_ms=5),
        exchange("https://cdn.test/new.png", asked_ms=26),
    )
    assert found(site, "cdn.test/new.png") == {"found_by": "old.png", "found_when": "complete"}
    assert site.resource("old.png")["status"] == 302
    assert site.resource("old.png")["headers"] == {"location": "https://cdn.test/new.png"}


def test_a_preload_in_the_header_is_found_at_byte_zero(tmp_path: Path) -> None:
    link = ("link", '</t.woff2>; rel=preload; as=font, <https://other.test/feed>; rel="alternate"')
    site = Recorded(tmp_path / "s", document(headers=[link]), exchange(f"{SHOP}t.woff2", Kind.FONT, asked_ms=1))
    assert found(site, "t.woff2") == {"found_by": "html", "found_when": "bytes", "found_at_bytes": 0}
    assert site.resource("html")["headers"] == {"link": "</t.woff2>; rel=preload; as=font"}


@pytest.mark.parametrize("url", [SHOP, "http://127.0.0.1:8080/"])  # the latter's hosts get other names
def test_a_sheet_in_the_header_is_no_measure_of_what_references_wait(tmp_path: Path, url: str) -> None:
    link = ("link", f'<{url}a.css?of=/x>; rel=preload; as=style, <{url}b.png>; rel="alternate"')
    site = Recorded(
        tmp_path / "s",
        document(
            "<link rel=stylesheet href='a.css?of=/x'><img src=b.png><img src=c.png>", url, headers=[link], lasts_ms=0
        ),
        exchange(f"{url}a.css?of=/x", Kind.STYLESHEET, "p{}", asked_ms=2),
        exchange(f"{url}b.png", asked_ms=50),
        exchange(f"{url}c.png", asked_ms=110),
    )
    assert found(site, "a.css?of=/x") == {"found_by": "html", "found_when": "bytes", "found_at_bytes": 0}
    assert "delay_ms" not in found(site, "b.png")
    assert found(site, "c.png")["delay_ms"] == 60.0


def test_what_nothing_spells_is_no_measure_of_it_either(tmp_path: Path) -> None:
    page = document("<img src=a.png><img src=b.png>", lasts_ms=100)
    requests = [exchange(f"{SHOP}{name}", asked_ms=time) for name, time in (("x", 40), ("a.png", 150), ("b.png", 250))]
    site = Recorded(tmp_path / "s", page, *requests)
    assert found(site, "x")["found_when"] == "bytes"
    assert "delay_ms" not in found(site, "a.png")


def test_a_sheet_that_a_critical_one_imports_is_critical(tmp_path: Path) -> None:
    critical = frozenset({Flag.CRITICAL})
    site = Recorded(
        tmp_path / "s",
        document("<link rel=stylesheet href=a.css>"),
        exchange(f"{SHOP}a.css", Kind.STYLESHEET, "@import 'b.css';@import 'p.css' print", flags=critical),
        exchange(f"{SHOP}b.css", Kind.STYLESHEET, "@import 'c.css'", asked_ms=30),
        exchange(f"{SHOP}p.css", Kind.STYLESHEET, "p{}", asked_ms=30, priority=ChromiumPriority.VERY_LOW),
        exchange(f"{SHOP}c.css", Kind.STYLESHEET, "p{background:url(d.png)}", asked_ms=60),
        exchange(f"{SHOP}d.png", asked_ms=90),
    )
    flags = [site.resource(name)["flags"] for name in ("a.css", "b.css", "p.css", "c.css", "d.png")]
    assert flags == [["critical"], ["critical"], [], ["critical"], []]


def test_what_all_references_wait_alike_is_the_browsers_time(tmp_path: Path) -> None:
    site = Recorded(
        tmp_path / "s",
        document("<img src=a.png><img src=b.png>", lasts_ms=0),
        exchange(f"{SHOP}a.png", asked_ms=50),
        exchange(f"{SHOP}b.png", asked_ms=110),
    )
    assert "delay_ms" not in found(site, "a.png")
    assert found(site, "b.png")["delay_ms"] == 60.0


def test_priorities_and_flags_are_as_seen_and_the_documents_are_its_own(tmp_path: Path) -> None:
    site = Recorded(
        tmp_path / "s",
        document(flags=frozenset({Flag.CRITICAL})),
        exchange(f"{SHOP}a.png", priority=ChromiumPriority.MEDIUM, incremental=True, flags=frozenset({Flag.HERO})),
        exchange(f"{SHOP}b.png", flags=frozenset({Flag.MAIN})),
    )
    assert site.resource("html")["flags"] == ["main", "critical"]
    assert site.resource("a.png")["chromium_priority"] == "Medium"
    assert site.resource("a.png")["incremental"] is True
    assert site.resource("b.png")["chromium_priority"] is None, "to be derived"
    assert site.resource("b.png")["flags"] == []
    assert site.summary.hero == f"{SHOP}a.png"


urls = st.sampled_from([f"{SHOP}{name}" for name in ("a.css", "b.js", "c.png", "d.html", "e", "f?x")])
kinds = st.sampled_from([Kind.STYLESHEET, Kind.SCRIPT, Kind.IMAGE, Kind.DOCUMENT, Kind.XHR])


@given(
    st.lists(
        st.builds(
            exchange,
            urls,
            kinds,
            st.sampled_from(["", "a.css b.js", "/c.png /d.html e", "é /f?x"]),
            asked_ms=st.floats(0, 500),
            lasts_ms=st.floats(0, 300),
            found_by_url=st.none() | urls | st.just(SHOP),
            found_at=st.none() | st.integers(0, 30),
        ),
        max_size=10,
        unique_by=lambda item: item.url,
    )
)
def test_whatever_was_recorded_the_graph_is_a_page(exchanges: list[Any]) -> None:
    copies, _ = Copier(("shop.test",), Renaming({Origin("https", "shop.test"): "shop.test"})).copies(
        [document("<a href=b.js>"), *exchanges], []
    )
    resources = [
        {
            "id": str(index),
            "path": item.path,
            "kind": item.source.kind,
            "body_bytes": len(item.body),
            "found_by": str(place.parent) if place.parent is not None else None,
            "found_when": place.when,
            "found_at_bytes": place.at_bytes,
            "delay_ms": place.delay_ms,
        }
        for index, (item, place) in enumerate(zip(copies, discovery(copies), strict=True))
    ]
    Page.from_dict({"format": "mixedsched.page/1", "name": "x", "resources": resources})


def test_addresses_of_thousands_of_folders_are_looked_for_in_one_go(tmp_path: Path) -> None:
    deep = SHOP + "a/" * 20_000
    site = Recorded(tmp_path / "s", document("<p>text", deep), *(exchange(f"{deep}{number}") for number in range(3)))
    assert len(site.ids) == 4


class TestScriptsWithinADocument:
    """They run when what blocks them is complete, however early their own text is there."""

    PAGE = "<link rel=stylesheet href=a.css><script src=a.js></script><script src=b.js></script><script>ask('c.png')</script>"

    def site(self, folder: Path, *, asked_ms: float = 62, **more: Any) -> Recorded:
        asked: dict[str, Any] = {"found_by_url": SHOP, "found_how": "script", **more}
        return Recorded(
            folder / "s",
            document(self.PAGE + more.pop("behind", ""), lasts_ms=5),
            exchange(
                f"{SHOP}a.css", Kind.STYLESHEET, asked_ms=5, lasts_ms=75, flags=frozenset({Flag.IN_HEAD, Flag.CRITICAL})
            ),
            exchange(f"{SHOP}a.js", Kind.SCRIPT, asked_ms=5, lasts_ms=35, flags=more.pop("first", frozenset())),
            exchange(f"{SHOP}b.js", Kind.SCRIPT, asked_ms=5, lasts_ms=55, flags=more.pop("second", frozenset())),
            exchange(f"{SHOP}c.png", asked_ms=asked_ms, **{key: asked[key] for key in ("found_by_url", "found_how")}),
        )

    def test_the_last_blocking_script_before_them_gives(self, tmp_path: Path) -> None:
        assert found(self.site(tmp_path), "c.png") == {"found_by": "b.js", "found_when": "complete"}

    def test_what_is_left_is_think_time(self, tmp_path: Path) -> None:
        assert found(self.site(tmp_path, asked_ms=260), "c.png")["delay_ms"] == 200.0

    @pytest.mark.parametrize("flag", [Flag.ASYNC, Flag.DEFER])
    def test_scripts_that_do_not_block_do_not_count(self, tmp_path: Path, flag: Flag) -> None:
        site = self.site(tmp_path, second=frozenset({flag}))
        assert found(site, "c.png")["found_by"] == "a.js"

    def test_without_any_it_is_the_last_sheet(self, tmp_path: Path) -> None:
        never = frozenset({Flag.ASYNC})
        site = self.site(tmp_path, asked_ms=82, first=never, second=never)
        assert found(site, "c.png")["found_by"] == "a.css"

    def test_a_request_that_came_before_was_not_waiting(self, tmp_path: Path) -> None:
        site = self.site(tmp_path, asked_ms=30)
        assert (found(site, "c.png")["found_by"], found(site, "c.png")["found_when"]) == ("html", "bytes")

    @pytest.mark.parametrize("how", ["parser", None])
    def test_that_the_parser_asked_is_not_believed_where_only_a_script_has_the_address(
        self, tmp_path: Path, how: str | None
    ) -> None:
        """Chromium says so of images whose address a script sets while the document is read."""
        assert found(self.site(tmp_path, found_how=how), "c.png")["found_by"] == "b.js"

    def test_what_the_markup_has_too_waits_for_nothing(self, tmp_path: Path) -> None:
        site = self.site(tmp_path, found_how="parser", behind="<img src=c.png>")
        assert (found(site, "c.png")["found_by"], found(site, "c.png")["found_when"]) == ("html", "bytes")

    @pytest.mark.parametrize("part", ["<script>", "<script ", "<script src", "</script"])
    def test_no_document_makes_the_search_for_them_slow(self, tmp_path: Path, part: str) -> None:
        site = self.site(tmp_path, found_how="parser", behind=part * 20_000)
        assert found(site, "c.png")["found_when"] == "complete"


@pytest.mark.parametrize(
    ("text", "scripts"),
    [
        ("<script>1</script><SCRIPT type=a>2</SCRIPT >", ["<script>1</script", "<SCRIPT type=a>2</SCRIPT"]),
        ("<script src=a.js>1</script><script data-src=a>2", ["<script data-src=a>2"]),
        (f"<script {'x' * 5000}>1</script>", [f"<script {'x' * 5000}>1</script"]),
        ("<script", []),
        ("<script " * 3_000_000, []),
        ("<script src=a>" * 1_000_000, []),
    ],
    ids=range(6),
)
def test_a_documents_own_scripts_are_found_in_any_document(text: str, scripts: list[str]) -> None:
    assert [text[start:end] for start, end in own_scripts(text)] == scripts
