"""A wheel, installed in an environment of its own, works in any folder without the checkout. Needs no network."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import sysconfig
import zipfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from mixedsched.lab.machine import own_versions
from tests.command import run
from tests.sites.folders import manifest, page, write_files
from tests.world.setup.building import CHECKOUT, build
from tests.world.setup.mirror import program

pytestmark = pytest.mark.slow  # it is built and installed

# What the checkout has in these folders and an installed program has no use for.
LEFT_OUT = (".md", ".test.mjs", "calibration.json", "make_commuter_4g.py", "vm/router/build")
DATA = ("mapping", "vm/profiles", "vm/router", "sites", "lighthouse-runner", "results/calibration")


@dataclass(frozen=True)
class Installation:
    """command: mixedsched as it was installed. folder: an empty one to stand in. environment: with an empty home."""

    command: Path
    folder: Path
    environment: dict[str, str]

    @property
    def cache(self) -> Path:
        return Path(self.environment["HOME"]) / ".cache" / "mixedsched"

    def run(self, *arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [self.command, *arguments],
            cwd=self.folder,
            env={**self.environment, **environment},
            capture_output=True,
            text=True,
            timeout=100,
            check=False,
        )

    def json(self, *arguments: str, **environment: str) -> Any:
        ended = self.run(*arguments, "--json", **environment)
        assert ended.returncode == 0, ended.stderr
        return json.loads(ended.stdout)


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build("wheel", CHECKOUT, tmp_path_factory.mktemp("wheel"))


@pytest.fixture(scope="module")
def command(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """mixedsched of a fresh environment, in which the libraries of this one can be imported."""
    venv = tmp_path_factory.mktemp("venv")
    python = venv / "bin" / "python"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", venv], check=True)
    pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", "--python", str(python)]
    subprocess.run([*pip, "install", "--quiet", "--no-deps", "--no-index", str(wheel)], check=True)
    ours = {path: sysconfig.get_path(path) for path in ("purelib", "platlib")}
    (packages,) = venv.glob("lib/python*/site-packages")
    (packages / "libraries.pth").write_text("".join(f"{path}\n" for path in set(ours.values())))
    return venv / "bin" / "mixedsched"


@pytest.fixture
def installed(command: Path, tmp_path: Path) -> Installation:
    """In a fresh home and an empty folder. npm is one that takes Node packages from the checkout."""
    for name in ("home", "here", "tmp"):
        (tmp_path / name).mkdir()
    names = tmp_path / "bin"
    links = (
        f"{name}-*) ln -sfn {CHECKOUT / name}/node_modules node_modules ;;" for name in ("sites", "lighthouse-runner")
    )
    program(names, "npm", f'case "$(basename "$PWD")" in {" ".join(links)} esac')
    environment = {
        "HOME": str(tmp_path / "home"),
        "TMPDIR": str(tmp_path / "tmp"),
        "PATH": f"{names}:{os.environ['PATH']}",
        "COLUMNS": "120",
        **({"CHROME_PATH": os.environ["CHROME_PATH"]} if "CHROME_PATH" in os.environ else {}),
    }
    return Installation(command, tmp_path / "here", environment)


def test_all_that_git_has_of_the_data_is_in_the_wheel_and_nothing_else(wheel: Path) -> None:
    listed = subprocess.run(["git", "ls-files", *DATA], cwd=CHECKOUT, capture_output=True, text=True, check=False)
    if listed.returncode != 0:
        pytest.skip("this is no git checkout")
    prefix = "mixedsched/_data/"
    packed = {name.removeprefix(prefix) for name in zipfile.ZipFile(wheel).namelist() if name.startswith(prefix)}
    assert packed == {name for name in listed.stdout.splitlines() if not name.endswith(LEFT_OUT)}


def test_a_wheel_made_of_the_source_distribution_is_the_same(wheel: Path, tmp_path: Path) -> None:
    archive = build("sdist", CHECKOUT, tmp_path / "sdist")
    subprocess.run(["tar", "-xzf", archive, "-C", tmp_path], check=True)
    again = build("wheel", tmp_path / archive.name.removesuffix(".tar.gz"), tmp_path / "again")
    assert zipfile.ZipFile(again).namelist() == zipfile.ZipFile(wheel).namelist()


def test_lists_are_those_of_the_checkout(installed: Installation) -> None:
    for command in ("schemes", "mappings", "networks", "sites"):
        here = json.loads(run(command, "--json").stdout)
        assert {item["name"] for item in installed.json(command)} >= {item["name"] for item in here}
    assert list(installed.folder.iterdir()) == []


def test_programs_and_results_are_taken_for_the_same_as_the_checkouts(installed: Installation) -> None:
    code = "from mixedsched.lab.machine import own_versions; print(own_versions()['code'])"
    python = installed.command.with_name("python")
    told = subprocess.run([python, "-c", code], cwd=installed.folder, capture_output=True, text=True, check=True)
    assert told.stdout.strip() == own_versions()["code"]


def test_pages_and_bundled_sites_are_simulated_with_contents_fetched_on_demand(installed: Installation) -> None:
    (installed.folder / "page.json").write_text(json.dumps(manifest()))
    assert installed.run("simulate", "page.json", "--scheme", "eps").returncode == 0
    first = installed.run("simulate", "agency", "--scheme", "eps,mixed", "--link", "4g")
    assert first.returncode == 0, first.stderr
    assert f"npm ci into {installed.cache}" in first.stderr
    assert "npm" not in installed.run("simulate", "agency", "--scheme", "eps").stderr
    assert [path.name for path in installed.folder.iterdir()] == ["page.json"]


def test_without_npm_a_site_that_needs_it_says_so_and_others_work(installed: Installation, tmp_path: Path) -> None:
    ended = installed.run("simulate", "agency", "--scheme", "eps", PATH=str(tmp_path / "none"))
    assert ended.returncode == 4
    assert "npm is missing" in ended.stderr
    assert "fix: install Node.js" in ended.stderr
    assert installed.run("simulate", "davies-meenan", "--scheme", "eps", PATH=str(tmp_path / "none")).returncode == 0


def test_a_folder_is_served(installed: Installation) -> None:
    write_files(installed.folder / "public", {"index.html": page(body="hello")})
    with subprocess.Popen(
        [installed.command, "serve", "public", "--json"],
        cwd=installed.folder,
        env=installed.environment,
        stdout=subprocess.PIPE,
        text=True,
    ) as server:
        assert server.stdout is not None
        first = json.loads(server.stdout.readline())
        server.terminate()
        server.communicate(timeout=20)
    assert first["url"].startswith("https://")


def test_doctor_says_that_set_up_is_missing_and_set_up_mends_it(installed: Installation) -> None:
    told = installed.run("doctor")
    assert told.returncode == 4
    assert "fix: run `mixedsched setup`" in told.stdout
    facts = installed.json("setup")
    runner = next(Path(part["path"]) for part in facts["parts"] if part["name"] == "lighthouse-runner")
    assert facts["cache"] == str(installed.cache)
    assert runner.parent == installed.cache
    answer = subprocess.run(
        ["node", runner / "worker.mjs"],
        input='{"id": 1, "op": "versions"}\n',
        capture_output=True,
        text=True,
        check=True,
    )
    assert json.loads(answer.stdout)["versions"]["lighthouse"]
    assert not any(part["brought"] for part in installed.json("setup")["parts"])


def test_set_up_of_another_version_is_told_as_such_and_left_alone(installed: Installation) -> None:
    old = installed.cache / "lighthouse-runner-000000000000"
    shutil.copytree(CHECKOUT / "lighthouse-runner", old, ignore=shutil.ignore_patterns("node_modules"))
    ended = installed.run("compare", "davies-meenan", "--blocks", "1")
    assert ended.returncode == 4
    assert f"why: {old} belongs to another version" in ended.stderr
    assert "fix: run `mixedsched setup`" in ended.stderr
    (runner,) = (Path(part["path"]) for part in installed.json("setup")["parts"] if part["name"] == "lighthouse-runner")
    assert set(installed.cache.glob("lighthouse-runner-*")) == {old, runner}


def read_only_home(folder: Path) -> str:
    """A home that nobody can write to, not even root."""
    home = folder / "read-only"
    home.mkdir(mode=0o555)
    return str(home) if os.geteuid() else "/proc"


@pytest.mark.parametrize(
    "arguments", [("simulate", "agency", "--scheme", "eps"), ("setup",)], ids=lambda words: words[0]
)
def test_with_a_read_only_home_temporary_files_do(
    installed: Installation, tmp_path: Path, arguments: tuple[str, ...]
) -> None:
    home = read_only_home(tmp_path)
    assert installed.json("schemes", HOME=home)
    ended = installed.run(*arguments, HOME=home)
    assert ended.returncode == 0, ended.stderr
    assert str(tmp_path / "tmp" / f"mixedsched-cache-{os.getuid()}") in ended.stderr


def test_without_any_place_to_write_to_it_says_which_variable_names_one(
    installed: Installation, tmp_path: Path
) -> None:
    ended = installed.run("simulate", "agency", "--scheme", "eps", MIXEDSCHED_CACHE="/dev/null/x")
    assert ended.returncode == 4
    assert "fix: make one of them writable, or set MIXEDSCHED_CACHE" in ended.stderr


def test_it_knows_its_version(installed: Installation) -> None:
    told = installed.run("--version").stdout
    assert told == f"mixedsched {own_versions()['mixedsched']}\n"
