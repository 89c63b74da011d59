"""Videos of films: loads side by side, their time, their marks, and how many of their bytes have come."""

import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from functools import lru_cache
from io import BytesIO
from pathlib import Path

from PIL import Image, ImageDraw, ImageFont

from mixedsched.errors import MissingPartError, MixedschedError, UsageError
from mixedsched.report._player import Film, Reel
from mixedsched.units import format_bytes, format_ms

_PICTURES_PER_S = {".mp4": 25, ".webm": 25, ".gif": 10}
_HOLD_S = 1.5  # the last picture stays, so that one sees where it ended
_SCREEN_HEIGHT = 480
_GAP = 16
_LABEL_HEIGHT = 52
_FOOT_HEIGHT = 46
_INK, _FAINT, _PAPER, _RULE = "#1b1f24", "#5b6470", "#ffffff", "#d5dae1"
_HUES = ("#0072b2", "#d55e00", "#009e73", "#b0568f", "#2f8fc4", "#a97800")  # as in the style sheet


def video_kind(path: Path) -> str:
    """The kind of video that the name of a file asks for: ".mp4", ".webm" or ".gif". Raises UsageError for another name."""
    kind = path.suffix.lower()
    if kind not in _PICTURES_PER_S:
        raise UsageError(f"{path} cannot be written as a video", fix="give it a name that ends in .mp4, .webm or .gif")
    return kind


def write_video(film: Film, path: Path) -> None:
    """Write a film in real time. By the name of the file: .mp4 and .webm take ffmpeg, .gif does not.

    Raises UsageError for another name, MissingPartError without ffmpeg, MixedschedError if ffmpeg fails, and OSError.
    What stood at `path` stays until the video is complete.
    """
    kind = video_kind(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=path.parent, prefix=".video-") as folder:
        written = Path(folder) / f"video{kind}"
        if kind == ".gif":
            _write_gif(film, written)
        else:
            _write_by_ffmpeg(film, written, _PICTURES_PER_S[kind])
        written.replace(path)


def pictures(film: Film, per_s: int) -> Iterator[Image.Image]:
    """The video's pictures, as many a second, until the last has been held for a while."""
    count = round((film.end_ms / 1000 + _HOLD_S) * per_s)
    for index in range(count):
        yield picture_at(film, min(film.end_ms, 1000 * index / per_s))


def picture_at(film: Film, at_ms: float) -> Image.Image:
    """All loads at one moment."""
    columns = [_column(reel, at_ms, film.end_ms, _HUES[index % len(_HUES)]) for index, reel in enumerate(film.reels)]
    width = sum(item.width for item in columns) + _GAP * (len(columns) + 1)
    height = max(item.height for item in columns) + 2 * _GAP
    whole = Image.new("RGB", (width + width % 2, height + height % 2), _PAPER)  # most codecs want even numbers
    x = _GAP
    for item in columns:
        whole.paste(item, (x, _GAP))
        x += item.width + _GAP
    return whole


def _column(reel: Reel, at_ms: float, end_ms: float, hue: str) -> Image.Image:
    """One load: label and time, screen, bar of bytes, marks."""
    size = _screen_size(reel)
    column = Image.new("RGB", (size[0], _LABEL_HEIGHT + size[1] + _FOOT_HEIGHT), _PAPER)
    draw = ImageDraw.Draw(column)
    draw.text((0, 0), reel.label, hue, _font(20))
    draw.text((0, 26), f"{at_ms / 1000:.2f} s", _INK, _font(20))
    shown = next((frame for frame in reversed(reel.frames) if frame.at_ms <= at_ms), None)
    if shown is not None:
        column.paste(_screen(shown.jpeg, size), (0, _LABEL_HEIGHT))
    draw.rectangle((0, _LABEL_HEIGHT, size[0] - 1, _LABEL_HEIGHT + size[1] - 1), outline=_RULE)
    here, total = received_bytes(reel, at_ms, end_ms)
    y = _LABEL_HEIGHT + size[1] + 8
    draw.rectangle((0, y, size[0] - 1, y + 7), fill=_RULE)
    draw.rectangle((0, y, round((size[0] - 1) * here / total) if total else 0, y + 7), fill=hue)
    passed = [f"{mark.name} {format_ms(mark.at_ms)}" for mark in reel.marks if mark.at_ms <= at_ms]
    draw.text((0, y + 12), "   ".join([format_bytes(here), *passed]), _FAINT, _font(14))
    return column


def received_bytes(reel: Reel, at_ms: float, end_ms: float) -> tuple[float, float]:
    """(bytes that have come by then, bytes of the whole load)."""
    here = total = 0.0
    for row in reel.rows:
        if row is not None:
            part = max((part for step, part in row.received if step <= at_ms / end_ms * reel.steps), default=0)
            here += row.size_bytes * part / 1000
            total += row.size_bytes
    return here, total


def _screen_size(reel: Reel) -> tuple[int, int]:
    if not reel.frames:
        return (_SCREEN_HEIGHT * 9 // 16, _SCREEN_HEIGHT)
    first = reel.frames[0]
    return (max(160, round(first.width * _SCREEN_HEIGHT / first.height)), _SCREEN_HEIGHT)


@lru_cache(maxsize=32)
def _screen(jpeg: bytes, size: tuple[int, int]) -> Image.Image:
    with Image.open(BytesIO(jpeg), formats=("JPEG",)) as picture:
        return picture.convert("RGB").resize(size)


@lru_cache
def _font(size: int) -> ImageFont.ImageFont | ImageFont.FreeTypeFont:
    return ImageFont.load_default(size)


def _write_gif(film: Film, path: Path) -> None:
    per_s = _PICTURES_PER_S[".gif"]
    shown = (picture.quantize(128) for picture in pictures(film, per_s))
    first = next(shown)
    first.save(path, save_all=True, append_images=shown, duration=1000 // per_s, loop=0)


def _write_by_ffmpeg(film: Film, path: Path, per_s: int) -> None:
    program = shutil.which("ffmpeg")
    if program is None:
        fix = "install the package ffmpeg, or give the video a name that ends in .gif, which takes no ffmpeg"
        raise MissingPartError("ffmpeg, which writes videos, is not installed", fix=fix)
    width, height = picture_at(film, 0).size
    raw = ["-f", "rawvideo", "-pix_fmt", "rgb24", "-s", f"{width}x{height}", "-r", str(per_s), "-i", "-"]
    command = [program, "-hide_banner", "-loglevel", "error", *raw, "-pix_fmt", "yuv420p", "-movflags", "+faststart"]
    with subprocess.Popen([*command, str(path)], stdin=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdin is not None
        try:
            for picture in pictures(film, per_s):
                process.stdin.write(picture.tobytes())
        except BrokenPipeError:
            pass  # it says why
        _, said = process.communicate()
    if process.returncode != 0:
        raise MixedschedError("ffmpeg could not write the video", why=said.decode(errors="replace").strip())
