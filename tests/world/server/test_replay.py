"""Which recorded answer a request gets: method, host, path exactly; of the query as much as may be."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mixedsched.core.h3.response import RequestHead, Response
from mixedsched.world.server import _finding as replay
from mixedsched.world.server._files import SiteFiles
from mixedsched.world.server._finding import Replay
from mixedsched.world.server.site import RecordedAnswer, SiteEntry
from tests.world.server.asking import NOW_S, body_of, written

HOST = "shop.test"


def recording(*targets: str | tuple[str, int]) -> Replay[str]:
    """Answers to GETs; each answers with its own target, so that it is seen which one it was."""
    listed = [(item, 200) if isinstance(item, str) else item for item in targets]
    return Replay([RecordedAnswer("GET", HOST, target, status, f"{target} {status}") for target, status in listed])


def found(known: Replay[str], target: str, method: str = "GET", host: str = HOST) -> str | None:
    return known.find(method, host, target, None)


def test_method_host_and_path_must_be_as_recorded() -> None:
    known = recording("/a?x=1")
    assert found(known, "/a?x=1") == "/a?x=1 200"
    for target, method, host in (("/a", "POST", HOST), ("/b", "GET", HOST), ("/a", "GET", "cdn.test")):
        assert found(known, target, method, host) is None


def test_the_longest_common_beginning_of_the_query_wins() -> None:
    known = recording("/a?user=1&t=100", "/a?user=1&t=170", "/a?page=2")
    assert found(known, "/a?user=1&t=179") == "/a?user=1&t=170 200"
    assert found(known, "/a?p") == "/a?page=2 200"


def test_any_query_will_do_if_none_is_near() -> None:
    assert found(recording("/a"), "/a?v=7") == "/a 200"
    assert found(recording("/a?v=7"), "/a") == "/a?v=7 200"


def test_of_equals_the_last_good_one_wins_and_others_only_if_strictly_better() -> None:
    assert found(recording("/a?x=1", ("/a?x=2", 404), "/a?x=3", ("/a?x=4", 500)), "/a?x=9") == "/a?x=3 200"
    assert found(recording("/a?x=1", ("/a?x=22", 302)), "/a?x=23") == "/a?x=22 302"
    assert found(recording(("/a?x=1", 302), ("/a?x=2", 404)), "/a?x=9") == "/a?x=1 302"


def test_an_address_recorded_just_so_comes_before_longer_ones() -> None:
    assert found(recording(("/a?x=1", 404), "/a?x=12"), "/a?x=1") == "/a?x=1 404"


def test_a_path_may_be_spelt_otherwise() -> None:
    assert found(recording("/caf%C3%A9?x"), "/caf%c3%a9?x") == "/caf%C3%A9?x 200"
    assert found(recording("/a%2Fb"), "/a%2Fb") == "/a%2Fb 200"


def test_a_recorded_304_answers_who_has_the_same_tag() -> None:
    answers = [
        RecordedAnswer("GET", HOST, "/a?x=1", 200, "whole"),
        RecordedAnswer("GET", HOST, "/a?x=1", 304, "unchanged", '"v1"'),
    ]
    known = Replay(answers)
    assert known.find("GET", HOST, "/a?x=1", '"v1"') == "unchanged"
    assert known.find("GET", HOST, "/a?x=1", '"v2"') == "whole"
    assert known.find("GET", HOST, "/a?x=1", None) == "whole"


def test_a_304_for_a_query_further_off_stays_behind() -> None:
    answers = [
        RecordedAnswer("GET", HOST, "/a?x=1", 200, "whole"),
        RecordedAnswer("GET", HOST, "/a?y", 304, "unchanged", '"v1"'),
    ]
    assert Replay(answers).find("GET", HOST, "/a?x=1", '"v1"') == "whole"


queries = st.text("ab&=?", max_size=5)


@given(st.lists(st.tuples(queries, st.sampled_from([200, 404])), min_size=1, max_size=8), queries)
def test_it_is_the_walk_of_the_study(recorded: list[tuple[str, int]], asked: str) -> None:
    targets = [(f"/a?{query}", status) for query, status in recorded]
    known = Replay([RecordedAnswer("GET", HOST, target, status, str(n)) for n, (target, status) in enumerate(targets)])
    exact = [n for n, (target, _) in enumerate(targets) if target == f"/a?{asked}"]
    best, choice = -1, -1
    for number in exact or range(len(targets)):
        target, status = targets[number]
        both = zip(target, f"/a?{asked}", strict=False)
        score = next((n for n, (one, other) in enumerate(both) if one != other), min(len(target), len(asked) + 3))
        if score > best or (score == best and status == 200):
            best, choice = score, number
    assert known.find("GET", HOST, f"/a?{asked}", None) == str(choice)


def test_a_hostile_query_is_compared_with_its_neighbours_only_and_not_without_end(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    compared: list[int] = []

    def noting(one: str, other: str) -> int:
        compared.append(min(len(one), len(other)))
        return shared(one, other)

    shared = replay._shared_characters
    monkeypatch.setattr(replay, "_shared_characters", noting)
    answers = recording(*(f"/a?{'x' * 5000}{number}" for number in range(1000)))
    assert found(answers, f"/a?{'x' * 100_000}y")
    assert found(answers, f"/a?{'x' * 100}y{'x' * 100_000}")
    assert len(compared) <= 4
    assert max(compared) <= replay.COMPARED_CHARACTERS


# What the server makes of it.


@pytest.fixture
def files(tmp_path: Path) -> SiteFiles:
    page, data = written(tmp_path, "index", b"page"), written(tmp_path, "data", b"data")
    own = ((b"x-cache", (b"HIT",)),)
    answers = [
        RecordedAnswer("GET", HOST, "/", 200, SiteEntry(page, "text/html", headers=own, bare=True)),
        RecordedAnswer("GET", HOST, "/gone", 404, SiteEntry(page, "text/html", status=404)),
        RecordedAnswer("POST", HOST, "/api?q=1", 201, SiteEntry(data, "application/json", status=201)),
        RecordedAnswer("GET", HOST, "/", 304, SiteEntry(None, "text/html", status=304, headers=own), '"theirs"'),
    ]
    return SiteFiles({HOST: {}}, HOST, clock=lambda: NOW_S, recorded=answers)


def asked(files: SiteFiles, path: str, method: str = "GET", host: str = HOST, **fields: str) -> Response:
    lines = [(name.replace("_", "-").encode(), value.encode()) for name, value in fields.items()]
    return files.respond(RequestHead(method, host, path, lines))


def fields_of(response: Response) -> dict[str, str]:
    return {name.decode(): value.decode() for name, value in response.fields}


def test_only_recorded_headers_are_sent_beside_those_worked_out(files: SiteFiles) -> None:
    response = asked(files, "/")
    names = {"content-length", "content-type", "etag", "last-modified", "accept-ranges", "x-cache", "date"}
    assert fields_of(response).keys() == names
    assert body_of(response) == b"page"
    assert asked(files, "/", if_none_match=fields_of(response)["etag"]).status == 304


def test_a_recorded_304_has_its_headers_and_nothing_else(files: SiteFiles) -> None:
    response = asked(files, "/", if_none_match='"theirs"')
    assert (response.status, response.body, fields_of(response).keys()) == (304, None, {"x-cache", "date"})


def test_other_methods_are_answered_as_recorded(files: SiteFiles) -> None:
    response = asked(files, "/api?q=2", "POST")
    assert (response.status, body_of(response), response.missed) == (201, b"data", False)
    assert asked(files, "/api?q=1").missed
    head = asked(files, "/", "HEAD")
    assert (head.status, head.body, head.missed) == (200, None, False)


def test_a_miss_is_a_404_and_told_from_a_recorded_one(files: SiteFiles) -> None:
    for path, method in (("/none", "GET"), ("/", "PUT"), ("/none", "HEAD"), ("/%", "GET"), ("//", "GET"), ("", "GET")):
        response = asked(files, path, method)
        assert (response.status, response.missed) == (404, True)
    assert (asked(files, "/gone").status, asked(files, "/gone").missed) == (404, False)


@pytest.mark.parametrize(
    ("host", "status"),
    [("127.0.0.1:4433", 200), ("[::1]:4433", 200), ("localhost:443", 200), ("SHOP.test.:443", 200), ("ads.test", 404)],
)
def test_a_person_may_look_at_it_under_a_local_name(files: SiteFiles, host: str, status: int) -> None:
    assert asked(files, "/", host=host).status == status


def test_preflights_are_allowed_where_there_is_an_answer_to_what_follows(files: SiteFiles) -> None:
    wish = {"origin": "https://a.test", "access_control_request_method": "POST"}
    fields = fields_of(asked(files, "/api?q=1", "OPTIONS", access_control_request_headers="x-own", **wish))
    assert fields["access-control-allow-origin"] == "https://a.test"
    assert (fields["access-control-allow-methods"], fields["access-control-allow-headers"]) == ("POST", "x-own")
    assert asked(files, "/", "OPTIONS", **wish).missed
    assert asked(files, "/api?q=1", "OPTIONS").missed
