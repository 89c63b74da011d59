"""Does a recorded copy look like its original? For each shipped site of real contents, as a Markdown table.

    python -m benchmarks.copies [SITE ...] [--form-factor desktop] [--loads 1]

Each site is served by a plain HTTPS server of other make, loaded twice, recorded with `mixedsched record`; then the copy is
loaded from our server over HTTP/3. Compared are the pixels of the first screen and the addresses asked for. How far two loads
of the original differ is told too: no copy can be nearer than that.
"""

from __future__ import annotations

import argparse
import asyncio
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

from benchmarks._command import MIXEDSCHED, parser_of, say_all
from benchmarks._pixels import pixel_difference
from benchmarks._plain_https import plain_https
from mixedsched.errors import ExitCode, MixedschedError
from mixedsched.lab.fidelity._load import observed
from mixedsched.report.papers.script import Countdown, run_script, tell
from mixedsched.sites.opening import load_site, open_site, recipes
from mixedsched.sites.site import Site
from mixedsched.world.browser.observation import Observation, ObservationJob
from mixedsched.world.browser.observe import Observer
from mixedsched.world.browser.pageload import FormFactor

GOOD_SHARE = 0.02
_REAL_KINDS = {"npm", "debian"}
_HEADER = (
    "| site | screen | requests | only original | only copy | pixels that differ | original twice |\n"
    "|---|---|---:|---:|---:|---:|---:|"
)


@dataclass(frozen=True, slots=True)
class Likeness:
    """How a copy compares with its original. missing, extra: addresses that only one of them asked for."""

    requests: int
    missing: tuple[str, ...]
    extra: tuple[str, ...]
    pixel_share: float
    noise_share: float

    @property
    def is_good(self) -> bool:
        return not self.missing and not self.extra and self.pixel_share < GOOD_SHARE


def main() -> None:
    options = _options()
    names = options.sites or [recipe.name for recipe in recipes() if recipe.recipe.kind in _REAL_KINDS]
    good, countdown = 0, Countdown(len(names))
    say_all([_HEADER])
    for name in names:
        try:
            found = _tried(open_site(name, say=tell), options.form_factor, options.loads)
        except MixedschedError as error:
            row = f"| {name} | failed: {error} |"
        else:
            good += found.is_good
            row = _row(name, options.form_factor, found)
        say_all([row])
        countdown.done(name)
    say_all(["", f"{good} of {len(names)} copies ask for the same and differ in less than {GOOD_SHARE:.0%} of pixels."])
    if good < len(names):
        sys.exit(ExitCode.FAILED)


def _options() -> argparse.Namespace:
    parser = parser_of("copies", __doc__)
    parser.add_argument("sites", nargs="*", metavar="SITE", help="by default all of real contents")
    parser.add_argument("--form-factor", choices=["mobile", "desktop"], default="mobile")
    parser.add_argument("--loads", type=int, default=1, help="that are recorded and fused")
    return parser.parse_args()


def _tried(site: Site, form_factor: FormFactor, loads: int) -> Likeness:
    with plain_https(site) as address, tempfile.TemporaryDirectory(prefix="copies-") as folder:
        original, again = asyncio.run(_originals(site, address, form_factor))
        copy_dir = Path(folder) / "copy"
        _record(site, address, form_factor, loads, copy_dir)
        copy, _ = asyncio.run(observed(load_site(copy_dir), form_factor))
    return Likeness(
        len(_addresses(original)),
        tuple(sorted(_addresses(original) - _addresses(copy))),
        tuple(sorted(_addresses(copy) - _addresses(original))),
        _pixel_share(original, copy),
        _pixel_share(original, again),
    )


async def _originals(site: Site, address: str, form_factor: FormFactor) -> tuple[Observation, Observation]:
    """Two loads of the page as the other server has it."""
    job = ObservationJob(
        url=site.url, resolve=dict.fromkeys(site.hosts, address), insecure=True, form_factor=form_factor
    )
    async with Observer() as observer:
        return await observer.observe(job), await observer.observe(job)


def _record(site: Site, address: str, form_factor: FormFactor, loads: int, target: Path) -> None:
    """Record as a user would. Raises MixedschedError."""
    command = [*MIXEDSCHED, "record", site.url, "--insecure", "--out", str(target)]
    command += ["--form-factor", form_factor, "--loads", str(loads)]
    for host in site.hosts:
        command += ["--resolve", f"{host}={address}"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise MixedschedError(f"{site.name} cannot be recorded", why=done.stderr.strip()[-300:])


def _addresses(seen: Observation) -> set[str]:
    """What was asked for, as host and path."""
    parts = [urlsplit(request.url) for request in seen.requests]
    return {f"{part.hostname}{part.path}{'?' if part.query else ''}{part.query}" for part in parts}


def _pixel_share(one: Observation, other: Observation) -> float:
    """Of pixels that differ; 1 where a load drew nothing."""
    if one.screenshot is None or other.screenshot is None:
        return 1.0
    return pixel_difference(one.screenshot, other.screenshot)


def _row(name: str, form_factor: FormFactor, found: Likeness) -> str:
    cells = [
        name if found.is_good else f"{name} (!)",
        form_factor,
        str(found.requests),
        _listed(found.missing),
        _listed(found.extra),
        f"{found.pixel_share:.2%}",
        f"{found.noise_share:.2%}",
    ]
    return f"| {' | '.join(cells)} |"


def _listed(addresses: Sequence[str]) -> str:
    """How many, and the first of them."""
    return f"{len(addresses)}: {addresses[0]}" if addresses else "0"


if __name__ == "__main__":
    run_script(main)
