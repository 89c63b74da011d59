"""Rules of videos: what their pictures show, and that the files play."""

from __future__ import annotations

import json
import shutil
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest
from PIL import Image

from mixedsched.errors import MissingPartError, UsageError
from mixedsched.report._player import Film
from mixedsched.report.video import picture_at, pictures, received_bytes, write_video
from tests.command import run
from tests.report.made_up_reports import film

needs_ffmpeg = pytest.mark.skipif(shutil.which("ffmpeg") is None, reason="there is no ffmpeg here")


@pytest.fixture
def shown() -> Film:
    return film()


def test_bytes_only_grow_to_all_that_came(shown: Film) -> None:
    for reel in shown.reels:
        grown = [received_bytes(reel, shown.end_ms * step / 20, shown.end_ms)[0] for step in range(21)]
        assert grown == sorted(grown)
        assert grown[0] == 0
        finished = sum(row.size_bytes for row in reel.rows if row is not None and row.received)
        assert grown[-1] == pytest.approx(finished)


def test_all_pictures_have_one_even_size_and_they_last_as_long_as_the_film(shown: Film) -> None:
    seen = [picture.size for picture in pictures(shown, 5)]
    assert len(set(seen)) == 1
    width, height = seen[0]
    assert width % 2 == height % 2 == 0
    assert len(seen) / 5 == pytest.approx(shown.end_ms / 1000 + 1.5, abs=0.2)


def test_a_picture_changes_when_bytes_come(shown: Film) -> None:
    assert picture_at(shown, 0).tobytes() != picture_at(shown, shown.end_ms).tobytes()


def test_a_gif_plays_in_real_time_without_ffmpeg(shown: Film, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "")
    short = replace(shown, end_ms=1000.0)
    write_video(short, tmp_path / "deep" / "film.gif")
    with Image.open(tmp_path / "deep" / "film.gif") as gif:
        lasts_ms = 0
        for index in range(gif.n_frames):
            gif.seek(index)
            lasts_ms += gif.info["duration"]
    assert lasts_ms == pytest.approx(short.end_ms + 1500, abs=200)
    assert [item.name for item in (tmp_path / "deep").iterdir()] == ["film.gif"]


@needs_ffmpeg
@pytest.mark.parametrize("suffix", [".mp4", ".webm"])
def test_ffmpeg_writes_films_that_last_as_long(shown: Film, tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"film{suffix}"
    write_video(shown, path)
    probe = ["ffprobe", "-v", "error", "-show_entries", "format=duration:stream=width,height", "-of", "json", str(path)]
    told = json.loads(subprocess.run(probe, capture_output=True, check=True).stdout)
    assert float(told["format"]["duration"]) == pytest.approx(shown.end_ms / 1000 + 1.5, abs=0.3)
    assert (told["streams"][0]["width"], told["streams"][0]["height"]) == picture_at(shown, 0).size


def test_without_ffmpeg_it_says_what_to_do(shown: Film, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "")
    with pytest.raises(MissingPartError, match=r"\.gif, which takes no ffmpeg"):
        write_video(shown, tmp_path / "film.mp4")
    assert not list(tmp_path.iterdir())


def test_another_name_is_refused_before_anything_is_written(shown: Film, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"\.mp4, \.webm or \.gif"):
        write_video(shown, tmp_path / "film.avi")
    assert not list(tmp_path.iterdir())


def test_the_command_refuses_another_name_before_it_looks_into_the_folder(tmp_path: Path) -> None:
    done = run("report", tmp_path / "nothing", "--video", "film.avi")
    assert (done.exit_code, ".mp4, .webm or .gif" in done.stderr) == (2, True)


def test_what_stood_there_stays_if_the_video_fails(
    shown: Film, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "film.mp4"
    path.write_text("old")
    monkeypatch.setenv("PATH", "")
    with pytest.raises(MissingPartError):
        write_video(shown, path)
    assert path.read_text() == "old"


def test_folders_of_other_commands_have_no_video_and_say_so(tmp_path: Path) -> None:
    (tmp_path / "tune.json").write_text("{}")
    done = run("report", tmp_path, "--video", tmp_path / "film.gif")
    assert (done.exit_code, "was made by `tune`" in done.stderr) == (2, True)
    assert not (tmp_path / "film.gif").exists()
