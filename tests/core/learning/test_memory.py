from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mixedsched.core.learning.learned import LearnedPage
from mixedsched.core.learning.memory import MAX_OFFSETS, MAX_PARENTS, MAX_ROLES, PageMemory
from mixedsched.core.learning.visit import Beacon, Visit
from mixedsched.model.request import ChromiumPriority, Kind
from tests.core.learning.visits import other_page, renamed, requests, seen, visit
from tests.examples import examples


def taught(*visits: Visit) -> PageMemory:
    memory = PageMemory("/")
    for item in visits:
        memory.learn(item)
    return memory


def test_a_page_is_learned_from_ordinary_visits() -> None:
    learned = LearnedPage.of(taught(*[visit()] * 4))
    assert learned is not None
    assert [item.kind for item in learned.page.resources][:3] == [Kind.DOCUMENT, Kind.STYLESHEET, Kind.SCRIPT]
    assert [learned.roles[name].path for name in learned.needs.blocking] == ["/app.0a1b2c3d.css", "/app.0a1b2c3d.js"]


def test_an_image_that_layout_raises_is_believed_to_be_seen_and_the_others_less_so() -> None:
    learned = LearnedPage.of(taught(*[visit()] * 4))
    assert learned is not None
    belief = {learned.roles[name].path: seen for name, seen in learned.seen.items()}
    assert belief["/img/two.jpg"] == 1.0
    assert belief["/img/one.jpg"] == 0.1
    assert belief["/img/three.jpg"] < 0.05
    likeliest = max(learned.guesses, key=lambda guess: guess.belief)
    assert [learned.roles[name].path for name in likeliest.ids] == ["/img/two.jpg"]


def test_new_names_are_the_same_roles() -> None:
    memory = taught(visit(), visit(renamed(requests(), 1, 3)), visit(renamed(requests(), 2, 4)))
    assert len(memory.roles) == len(requests())
    assert all(memory.share(role) == 1.0 for role in memory.roles.values())


def test_a_visit_that_is_cut_off_does_not_say_what_the_page_has() -> None:
    memory = taught(*[visit()] * 3)
    before = {number: memory.share(role) for number, role in memory.roles.items()}
    memory.learn(visit(requests()[:2]))
    assert memory.partial == 1
    assert all(memory.share(role) >= before[number] for number, role in memory.roles.items())


def test_a_visit_that_is_cut_off_teaches_sizes_and_signals_and_no_new_parts() -> None:
    memory = taught(*[visit()] * 3)
    cut = [replace(item, last_byte_ms=None) if place > 3 else item for place, item in enumerate(requests())]
    cut[2] = replace(cut[2], size_bytes=31_000)
    cut.append(seen("/made-up.mp4", Kind.MEDIA, 999, ChromiumPriority.LOW, 180.0))
    for _ in range(20):
        memory.learn(visit(cut))
    assert memory.partial == 20
    assert {role.path for role in memory.roles.values()} == {item.path for item in requests()}
    assert next(role for role in memory.roles.values() if role.kind is Kind.SCRIPT).size_bytes == 31_000
    assert all(memory.share(role) == 1.0 for role in memory.roles.values())


def test_a_visit_with_a_cache_leaves_the_shares_of_what_it_does_not_ask_for() -> None:
    memory = taught(*[visit()] * 3)
    for _ in range(20):
        memory.learn(visit(requests()[:3]))
    assert memory.partial == 20
    assert all(memory.share(role) == pytest.approx(1.0) for role in memory.roles.values())


def test_a_visit_that_finds_its_cache_unchanged_teaches_no_sizes_and_no_discoveries() -> None:
    memory = taught(*[visit()] * 3)
    before = memory.to_dict()["roles"]
    unchanged = [replace(item, size_bytes=0, mime="", is_unsent=True) for item in requests()]
    for _ in range(60):
        memory.learn(visit(unchanged))
    assert memory.partial == 60
    assert memory.relearned == 0
    of_sizes_and_offsets = [(role[1], role[4], role[10]) for role in memory.to_dict()["roles"]]
    assert of_sizes_and_offsets == [(role[1], role[4], role[10]) for role in before]
    assert taught(visit(unchanged)).roles == {}


@pytest.mark.parametrize(("of_ten", "is_part"), [(2, False), (3, False), (6, True)])
def test_a_role_is_part_of_the_page_from_four_tenths_of_the_visits_on_also_of_those_that_lack_much(
    of_ten: int, is_part: bool
) -> None:
    own = [*requests()[:4], seen("/made-up.mp4", Kind.MEDIA, 999_999, ChromiumPriority.HIGH, 180.0)]
    memory = taught(visit())
    for number in range(100):
        memory.learn(visit(own if number % 10 < of_ten else None))
    learned = LearnedPage.of(memory)
    assert learned is not None
    assert ("/made-up.mp4" in {role.path for role in learned.roles.values()}) == is_part
    assert memory.relearned == 0


def test_what_no_visit_asks_for_any_more_is_forgotten_at_last() -> None:
    """A page that lost over three tenths of its requests looks as one of which a cache has so much, but for how long."""
    memory = taught(*[visit()] * 5)
    left = requests()[:4]
    anew = [memory.learn(visit(left)) for _ in range(60)]
    assert anew.count(True) == 1
    assert {role.path for role in memory.roles.values()} == {item.path for item in left}
    before = memory.partial
    memory.learn(visit(left))
    assert memory.partial == before


def test_visits_with_a_cache_among_whole_ones_do_not_have_a_page_learned_anew() -> None:
    memory = taught(visit())
    for number in range(300):
        memory.learn(visit(requests()[:3] if number % 10 else None))
    assert memory.relearned == 0
    assert len(memory.roles) == len(requests())


def test_what_one_visit_alone_asks_for_is_not_part_of_the_page() -> None:
    own = [*requests(), seen("/private/made-up.jpg", Kind.IMAGE, 999_999, ChromiumPriority.HIGH, 180.0)]
    learned = LearnedPage.of(taught(visit(), visit(), visit(), visit(own)))
    assert learned is not None
    assert "/private/made-up.jpg" not in {role.path for role in learned.roles.values()}


def test_a_page_that_has_changed_is_learned_anew_within_two_visits() -> None:
    memory = taught(*[visit()] * 5)
    assert not memory.learn(visit(other_page()))
    assert memory.strange == 1
    assert memory.learn(visit(other_page()))
    assert {role.path for role in memory.roles.values()} == {item.path for item in other_page()}


made_up = st.lists(
    st.tuples(
        st.text("abc/.", min_size=1, max_size=6),
        st.sampled_from(Kind),
        st.sampled_from(ChromiumPriority),
        st.integers(0, 9),
    ),
    min_size=1,
    max_size=30,
)


@examples(25)
@given(made=st.lists(made_up, min_size=1, max_size=6))
def test_a_memory_stays_within_its_bounds_and_is_read_back_as_it_was(
    made: list[list[tuple[str, Kind, ChromiumPriority, int]]],
) -> None:
    memory = PageMemory("/")
    for items in made:
        first = seen("/", Kind.DOCUMENT, 1, ChromiumPriority.VERY_HIGH, 0.0)
        rest = [seen(path, kind, 10**size, priority, 5.0 * size) for path, kind, priority, size in items]
        memory.learn(visit([first, *rest]))
    assert len(memory.roles) <= MAX_ROLES
    assert all(len(role.parents) <= MAX_PARENTS and len(role.offsets) <= MAX_OFFSETS for role in memory.roles.values())
    facts = memory.to_dict()
    assert PageMemory.from_dict(facts).to_dict() == facts
    older = {**facts, "counts": facts["counts"][:6]}
    assert PageMemory.from_dict(older).visits == memory.visits
    assert LearnedPage.of(memory) is not None


def test_made_up_requests_cannot_make_it_grow_beyond_its_bound() -> None:
    memory = PageMemory("/")
    for number in range(4):
        flood = [
            seen(f"/{number}/{place}", Kind.OTHER, 7 ** (place % 9), ChromiumPriority.LOW, 1.0 + place)
            for place in range(399)
        ]
        memory.learn(visit([*requests()[:1], *flood]))
        assert len(memory.roles) <= MAX_ROLES


def test_what_a_client_had_is_judged_by_the_round_trip_of_that_moment() -> None:
    """A full queue delays the document: by the shortest round trip, all of it would have been there before the image was asked
    for, and sending that sooner would seem to be of no use."""
    offsets = []
    for rtt_ms in (None, 260.0):
        memory = PageMemory("/")
        memory.learn(
            visit(
                [
                    *requests()[:3],
                    replace(seen("/late.jpg", Kind.IMAGE, 90_000, ChromiumPriority.HIGH, 300.0), rtt_ms=rtt_ms),
                ]
            )
        )
        (image,) = [role for role in memory.roles.values() if role.path == "/late.jpg"]
        offsets += image.offsets
    assert offsets == [10_000, 5000]


def test_reports_that_the_largest_element_is_no_image_are_believed() -> None:
    """Else an order would be searched by which images come early that nobody waits for."""
    told = taught(*[replace(visit(), beacon=Beacon(500.0, 500.0))] * 4)
    learned = LearnedPage.of(PageMemory.from_dict(told.to_dict()))
    assert learned is not None
    assert learned.is_told
    assert max(learned.guesses, key=lambda guess: guess.belief).ids == ()
    assert sum(guess.belief for guess in learned.guesses) == pytest.approx(1)
    silent = LearnedPage.of(taught(*[visit()] * 4))
    assert silent is not None
    assert not silent.is_told
    assert () not in {guess.ids for guess in silent.guesses}
