"""Large downloads: what came is kept, and only what is missing is asked for."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from mixedsched.world.setup._chrome import DownloadFailedError, download
from tests.world.setup.mirror import Mirror, mirror

BODY = random.Random(2).randbytes(1_000_000)


def fetch(serving: Mirror, folder: Path) -> tuple[Path, list[tuple[int, int]]]:
    told: list[tuple[int, int]] = []
    target = folder / "body"
    download(f"{serving.url}/body", target, lambda done, total: told.append((done, total)))
    return target, told


def test_progress_is_told_in_bytes_until_all_are_there(tmp_path: Path) -> None:
    with mirror(body=BODY) as serving:
        target, told = fetch(serving, tmp_path)
    assert target.read_bytes() == BODY
    assert told == sorted(told)
    assert told[-1] == (len(BODY), len(BODY))
    assert list(tmp_path.iterdir()) == [target]


def test_a_connection_that_breaks_is_taken_up_where_it_broke(tmp_path: Path) -> None:
    with mirror(body=BODY) as serving:
        serving.cut_bytes = 400_000
        target, _ = fetch(serving, tmp_path)
    assert target.read_bytes() == BODY
    assert [asked for _, asked in serving.requests] == [None, "bytes=400000-", "bytes=800000-"]


def test_what_an_earlier_attempt_left_is_gone_on_with(tmp_path: Path) -> None:
    (tmp_path / "body.part").write_bytes(BODY[:300_000])
    with mirror(body=BODY) as serving:
        target, told = fetch(serving, tmp_path)
    assert target.read_bytes() == BODY
    assert serving.requests == [("/cft/body", "bytes=300000-")]
    assert told[-1] == (len(BODY), len(BODY))


def test_a_server_without_ranges_is_asked_for_all_of_it(tmp_path: Path) -> None:
    (tmp_path / "body.part").write_bytes(b"x" * 300_000)
    with mirror(body=BODY) as serving:
        serving.knows_ranges = False
        target, _ = fetch(serving, tmp_path)
    assert target.read_bytes() == BODY


def test_what_is_longer_than_the_file_is_no_beginning_of_it(tmp_path: Path) -> None:
    (tmp_path / "body.part").write_bytes(b"x" * (len(BODY) + 1))
    with mirror(body=BODY) as serving:
        target, _ = fetch(serving, tmp_path)
    assert target.read_bytes() == BODY


def test_connections_that_bring_nothing_any_more_are_given_up_and_what_came_is_kept(tmp_path: Path) -> None:
    (tmp_path / "body.part").write_bytes(BODY[:300_000])
    with mirror(body=BODY) as serving:
        serving.cut_bytes = 0
        with pytest.raises(DownloadFailedError, match="closed in the middle"):
            fetch(serving, tmp_path)
    assert (tmp_path / "body.part").read_bytes() == BODY[:300_000]


@pytest.mark.parametrize(
    ("address", "says"),
    [
        ("nosuch", "the server answers 404"),
        ("http://127.0.0.1:9/x", "refused"),
        ("file:///etc/passwd", "not an http address"),
    ],
)
def test_why_nothing_can_be_had_is_told(tmp_path: Path, address: str, says: str) -> None:
    with mirror(body=BODY) as serving, pytest.raises(DownloadFailedError, match=says):
        download(address if ":" in address else f"{serving.url}/{address}", tmp_path / "x", lambda _done, _total: None)
    assert list(tmp_path.iterdir()) == []
