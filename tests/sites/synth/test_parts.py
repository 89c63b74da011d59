"""The pure parts of a synthesis: order, layout of markup, boxes, turns."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mixedsched.model.page import Resource
from mixedsched.model.request import ChromiumPriority, Flag, Kind
from mixedsched.sites.synth._markup import Piece, attribute, css_url, filling, laid_out, smoothed
from mixedsched.sites.synth._plan import plan_page
from mixedsched.sites.synth._planned import SynthesisPlan, boxes_of
from mixedsched.sites.synth._turns import GOOD_CORRELATION, order_correlation, parsed_in_order
from mixedsched.sites.synth._ways import Item, call_way_of, items_call, way_of
from tests.sites.synth.pages import page, pages, resource


def planned(*resources: dict[str, object], size_bytes: int = 5000) -> SynthesisPlan:
    made = page(size_bytes, *resources)
    return plan_page(made.resources, "html", lambda item, _: item.path)


class TestOrder:
    def test_tags_stay_with_the_parser_where_that_keeps_the_order(self) -> None:
        names = ["html", *"abcdef"]
        assert parsed_in_order(names, set("abcd")) == set("abcd")

    def test_the_last_tags_are_taken_from_it_where_it_would_find_them_much_too_early(self) -> None:
        names = ["html", *(f"call{i}" for i in range(20)), *(f"tag{i}" for i in range(10))]
        assert parsed_in_order(["html", "tag", *names[1:]], {"tag", *names[21:]}) == {"tag"}

    @given(names=st.lists(st.integers(0, 99).map(str), min_size=2, max_size=30, unique=True), data=st.data())
    def test_what_is_kept_always_leaves_a_good_order(self, names: list[str], data: st.DataObject) -> None:
        tags = data.draw(st.sets(st.sampled_from(names[1:])))
        kept = parsed_in_order(names, tags)
        assert not kept or order_correlation(names, kept) >= GOOD_CORRELATION

    @pytest.mark.parametrize(("parsed", "correlation"), [(set(), 1.0), ({"b"}, 1.0), ({"e"}, 0.4), ({"d"}, 0.7)])
    def test_the_correlation_is_that_of_the_order_with_parsed_tags_first(
        self, parsed: set[str], correlation: float
    ) -> None:
        assert order_correlation("abcde", parsed) == pytest.approx(correlation)


class TestMarkup:
    @given(
        st.lists(st.tuples(st.integers(1, 30), st.integers(0, 400)), max_size=8).map(
            lambda drawn: [Piece("x" * length, end) for length, end in drawn]
        ),
        st.integers(0, 500),
    )
    def test_pieces_come_whole_and_in_order_in_exactly_the_bytes_there_are(
        self, pieces: list[Piece], size_bytes: int
    ) -> None:
        text = laid_out(smoothed(pieces), size_bytes)
        needed = sum(len(piece.text) for piece in pieces)
        assert (text is None) == (needed > size_bytes)
        assert text is None or (len(text), text.count("x")) == (size_bytes, needed)

    @given(st.integers(0, 300))
    def test_filling_says_nothing(self, size_bytes: int) -> None:
        text = filling(size_bytes)
        assert len(text) == size_bytes
        assert not text.strip() or (text.startswith("<!--") and text.endswith("-->") and text.count("-->") == 1)

    @pytest.mark.parametrize(("url", "markup"), [("/a?b=1", '"/a?b=1"'), ("/a.png", "/a.png"), ('/"', '"/&quot;"')])
    def test_addresses_are_quoted_where_they_must_be(self, url: str, markup: str) -> None:
        assert attribute(url) == markup

    def test_addresses_cannot_end_a_style(self) -> None:
        assert "<" not in css_url("/</style>")

    def test_nothing_in_a_call_ends_its_script(self) -> None:
        assert "</" not in items_call([Item(0, 0, "s", "/</script><!--")])

    @pytest.mark.parametrize("call", ["z", "Y", "Z"])
    def test_what_becomes_markup_of_a_frame_has_its_signs_escaped(self, call: str) -> None:
        assert items_call([Item(0, 0, call, "/x?a&copy")]) == f'$([[0,0,"{call}","/x?a&amp;copy"]]);'
        assert "/x?a&copy" in items_call([Item(0, 0, "s", "/x?a&copy")])


class TestBoxes:
    def image(self, name: str, size_bytes: int, *flags: Flag) -> Resource:
        return Resource(id=name, path=f"/{name}", kind=Kind.IMAGE, body_bytes=size_bytes, flags=frozenset(flags))

    def test_the_hero_is_the_largest_and_all_are_on_both_first_screens(self) -> None:
        images = [
            self.image("hero", 50_000, Flag.HERO),
            *(self.image(f"i{n}", 900, Flag.ABOVE_FOLD) for n in range(80)),
        ]
        boxes = boxes_of(images)
        areas = {name: box.width_px * box.height_px for name, box in boxes.items()}
        assert max(areas, key=areas.__getitem__) == "hero"
        assert all(box.left_px + box.width_px <= 412 and box.top_px + box.height_px <= 823 for box in boxes.values())
        assert len({(box.left_px, box.top_px) for box in boxes.values()}) == 81

    @pytest.mark.parametrize("size_bytes", [0, 43, 375, 2000, 10**6])
    def test_a_hero_is_shown_no_larger_than_its_bytes_allow(self, size_bytes: int) -> None:
        box = boxes_of([self.image("hero", size_bytes, Flag.HERO)])["hero"]
        assert box.width_px * box.height_px <= max(1, 160 * size_bytes)


class TestTurns:
    def test_calls_of_a_document_have_tickets_in_the_order_of_the_page(self) -> None:
        plan = planned(
            resource("app", "script", 3000),
            resource("a", "xhr", 10, found_by="app", found_when="complete", delay_ms=900),
            resource("b", "image", 10, found_when="complete", delay_ms=10),
        )
        assert [(one.item.id, one.ticket) for one in plan.realms["html"].calls] == [("a", 0), ("b", 1)]
        assert plan.planned["b"].wait_ms == pytest.approx(890)

    def test_a_child_never_waits_for_its_turn_before_its_parent_has_had_it(self) -> None:
        plan = planned(
            resource("b", "image", 10, found_by="a", found_when="complete"),
            resource("a", "xhr", 10, found_when="complete", delay_ms=10),
        )
        assert [one.item.id for one in plan.realms["html"].calls] == ["a", "b"]

    def test_think_time_that_all_children_share_is_work_up_to_a_long_task(self) -> None:
        plan = planned(
            resource("app", "script", 3000),
            resource("a", "xhr", 10, found_by="app", found_when="complete", delay_ms=30),
            resource("b", "xhr", 10, found_by="app", found_when="complete", delay_ms=900),
            resource("slow", "script", 3000),
            resource("c", "xhr", 10, found_by="slow", found_when="complete", delay_ms=900),
        )
        assert plan.work_ms == {"app": 30, "slow": 50}

    def test_a_script_that_is_medium_stands_behind_an_image(self) -> None:
        medium = [resource(name, "script", 3000, chromium_priority="Medium") for name in ("one", "two")]
        plan = planned(*medium)
        assert [plan.planned[name].needs_image for name in ("one", "two")] == [True, False]
        assert plan.planned["one"].priority is ChromiumPriority.MEDIUM
        assert not planned(resource("a", "image", 10), *medium).planned["one"].needs_image

    @given(wanted=pages())
    def test_every_resource_has_one_turn_in_one_document(self, wanted: object) -> None:
        plan = plan_page(wanted.resources, "html", lambda item, _: item.path)  # type: ignore[attr-defined]
        for realm in plan.realms.values():
            assert [one.ticket for one in realm.calls] == list(range(len(realm.calls)))
        asked = [one.item.id for realm in plan.realms.values() for one in (*realm.tags, *realm.calls, *realm.styled)]
        assert set(asked) == set(plan.planned) - {"html"}


class TestWays:
    @pytest.mark.parametrize("kind", list(Kind))
    @pytest.mark.parametrize("priority", list(ChromiumPriority))
    def test_there_is_a_way_to_ask_for_everything(self, kind: Kind, priority: ChromiumPriority) -> None:
        assert call_way_of(kind, priority).call
        way = way_of(kind, priority, is_late=True)
        assert way.tag or way.call

    def test_what_browsers_may_leave_out_is_taken_for_its_own_priority_only(self) -> None:
        assert call_way_of(Kind.DOCUMENT, ChromiumPriority.VERY_LOW).is_guess
        assert not call_way_of(Kind.DOCUMENT, ChromiumPriority.LOW).is_guess
