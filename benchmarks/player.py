"""Whether a report's player plays smoothly here, by Chromium's own trace: `python -m benchmarks.player REPORT.html`."""

import sys
import tempfile
from pathlib import Path

from benchmarks._command import parser_of
from mixedsched.report.papers.script import run_script
from tests.browsing import browse

_PLAYED = "document.querySelector('.player [data-do=play]')"
_FILM = "JSON.parse(document.querySelector('.player script').textContent)"


def main() -> None:
    parser = parser_of("player", __doc__)
    parser.add_argument("report", type=Path, help="with a film, of `compare` or `simulate`")
    page = parser.parse_args().report.resolve()
    if not page.is_file():
        parser.error(f"there is no file {page}")
    with tempfile.TemporaryDirectory() as folder:
        (end_ms,) = browse(Path(folder, "a"), ("goto", page.as_uri()), ("evaluate", f"return {_FILM}.end_ms")).results
        _, seen = browse(
            Path(folder, "b"),
            ("goto", page.as_uri()),
            (
                "evaluate",
                f"{_PLAYED}.scrollIntoView(); await new Promise(done => setTimeout(done, 1000)); {_PLAYED}.click()",
            ),
            ("frames", str(round(end_ms))),
        ).results
    sys.stdout.write(
        f"{page.name}, {page.stat().st_size / 1e6:.2f} MB, a film of {end_ms / 1000:.1f} s: {seen['shown']} frames shown, "
        f"{seen['dropped']} of 60 a second dropped, {seen['longest_gap_ms']:.0f} ms the longest gap\n"
    )


if __name__ == "__main__":
    run_script(main)
