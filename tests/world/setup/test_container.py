"""The Dockerfile and the workflow, as far as they can be wrong without anybody building or running them."""

from __future__ import annotations

import re
import shutil
import tomllib
import zipfile
from collections.abc import Iterator
from fnmatch import fnmatch
from pathlib import Path

import pytest
import yaml

from tests.world.setup.building import CHECKOUT, build

pytestmark = pytest.mark.slow  # a wheel is built

WORKFLOW = yaml.safe_load((CHECKOUT / ".github" / "workflows" / "ci.yml").read_text())
STEPS = [step["run"] for job in WORKFLOW["jobs"].values() for step in job["steps"] if "run" in step]


def files_for_the_builder() -> Iterator[Path]:
    """What .dockerignore lets through: it leaves out all but the names that begin with an exclamation mark."""
    lines = [line for line in (CHECKOUT / ".dockerignore").read_text().splitlines() if not line.startswith("#")]
    for name in (line[1:] for line in lines if line.startswith("!")):
        top = CHECKOUT / name
        for path in [top] if top.is_file() else top.rglob("*"):
            relative = path.relative_to(CHECKOUT)
            if path.is_file() and not is_left_out(relative.parts, lines):
                yield relative


def is_left_out(path: tuple[str, ...], lines: list[str]) -> bool:
    """As builders read the lines: the last one that fits decides, and what fits a folder fits all in it."""
    return [line for line in lines if fits(path, line.removeprefix("!"))][-1][0] != "!"


def fits(path: tuple[str, ...], line: str) -> bool:
    if line.startswith("**/"):
        return any(fits(path[start:], line[3:]) for start in range(len(path)))
    pattern = line.split("/")
    return len(path) >= len(pattern) and all(map(fnmatch, path, pattern))


@pytest.fixture(scope="module")
def context(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder as a builder of images sees it."""
    folder = tmp_path_factory.mktemp("context")
    for name in files_for_the_builder():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(CHECKOUT / name, folder / name)
    return folder


def instructions(word: str) -> list[str]:
    text = (CHECKOUT / "Dockerfile").read_text().replace("\\\n", " ")
    return re.findall(rf"^{word} +(.+)$", text, flags=re.MULTILINE)


def test_the_image_gets_the_same_wheel_as_everybody(context: Path, tmp_path: Path) -> None:
    def names(wheel: Path) -> set[str]:
        with zipfile.ZipFile(wheel) as archive:
            return set(archive.namelist())

    ours = names(build("wheel", CHECKOUT, tmp_path / "ours"))
    assert names(build("wheel", context, tmp_path / "image")) == ours


def test_all_that_the_image_copies_is_there(context: Path) -> None:
    sources = [name for line in instructions("COPY") if "--from=" not in line for name in line.split()[:-1]]
    assert sources
    assert [name for name in sources if not (context / name).exists()] == []


def test_the_container_is_not_root() -> None:
    assert instructions("USER")[-1] != "root"


def test_the_workflow_runs_the_oldest_and_the_newest_python_that_is_supported() -> None:
    project = tomllib.loads((CHECKOUT / "pyproject.toml").read_text())["project"]
    named = [match[1] for item in project["classifiers"] if (match := re.fullmatch(r".* :: (3\.\d+)", item))]
    oldest = project["requires-python"].removeprefix(">=")
    newest = max(named, key=lambda version: int(version.removeprefix("3.")))
    assert WORKFLOW["jobs"]["project"]["strategy"]["matrix"]["python"] == [oldest, newest]


def test_what_the_workflow_makes_is_in_the_makefile() -> None:
    targets = set(re.findall(r"^([a-z]+):", (CHECKOUT / "Makefile").read_text(), flags=re.MULTILINE))
    asked = {name for step in STEPS for name in re.findall(r"\bmake ([a-z]+)", step)}
    assert asked
    assert asked <= targets
