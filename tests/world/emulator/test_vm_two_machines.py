"""The scripts of the two-machine lab, with two namespaces for machines."""

from __future__ import annotations

import asyncio
import json
import re
import runpy
import subprocess
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from mixedsched.world.browser.pageload import BrowserLoad, PageLoadFailed, PageLoadJob
from mixedsched.world.emulator.kernel._network import run
from mixedsched.world.emulator.kernel.namespaces import claimed_namespaces, enter
from mixedsched.world.emulator.kernel.qdiscs import qdisc_kinds
from tests.lab.loads import load_of
from tests.world.emulator.privileged import needs_namespaces

SCRIPTS = Path(__file__).resolve().parents[3] / "vm" / "two-machines"
CLIENT_WORDS = ("198.18.1.1:4433", "--spki", "x", "--url", "https://a.test/", "--hosts", "a.test")


@pytest.fixture(scope="module")
def machines() -> Iterator[Mapping[str, str]]:
    """Two namespaces on one subnet, each with a device eth1."""
    with claimed_namespaces(("server", "client")) as claim:
        server, client = claim.namespaces["server"], claim.namespaces["client"]
        run(
            "ip",
            "-n",
            server,
            *["link", "add", "name", "eth1", "type", "veth", "peer", "name", "eth1", "netns"],
            client,
        )
        for number, name in enumerate((server, client), start=1):
            run("ip", "-n", name, "address", "add", f"198.18.1.{number}/24", "dev", "eth1")
            run("ip", "-n", name, "link", "set", "eth1", "up")
            run("ip", "-n", name, "link", "set", "lo", "up")
        yield claim.namespaces


def call(namespace: str, script: str, *words: str) -> tuple[int, str]:
    """Exit code, and what was said on standard error."""
    done = subprocess.run(
        [*enter(namespace), str(SCRIPTS / script), *words], capture_output=True, text=True, check=False, timeout=60
    )
    return done.returncode, done.stderr


def features(namespace: str) -> str:
    return run("ip", "-n", namespace, "-d", "-j", "link", "show", "eth1")


@needs_namespaces
@pytest.mark.parametrize(
    ("script", "words", "said"),
    [
        ("server", (), "which site?"),
        ("server", ("agency",), "which device"),
        ("server", ("agency", "again"), "one site, please"),
        ("server", ("agency", "--device"), "--device needs a value"),
        ("server", ("agency", "--sceme", "mixed"), "there is no option --sceme"),
        ("client", (), "where is the server?"),
        ("client", ("198.18.1.1:4433", "--device", "eth1"), "--spki is missing"),
        ("client", ("198.18.1.1:4433", "--device", "eth1", "--loads", "many"), "--loads needs a number"),
    ],
)
def test_wrong_words_are_refused_with_the_right_ones(
    machines: Mapping[str, str], script: str, words: tuple[str, ...], said: str
) -> None:
    code, text = call(machines["server"], script, *words)
    assert code == 2
    assert said in text
    assert "--device DEVICE" in text


@needs_namespaces
@pytest.mark.parametrize(
    ("device", "said"), [("eth9", "there is no device eth9; known: eth1"), ("lo", "lo is no link between two machines")]
)
def test_a_device_that_does_not_serve_is_refused(machines: Mapping[str, str], device: str, said: str) -> None:
    for script, words in (("server", ("agency",)), ("client", CLIENT_WORDS)):
        code, text = call(machines["client"], script, *words, "--device", device)
        assert code == 4
        assert said in text


@needs_namespaces
def test_a_device_that_is_shaped_already_is_left_alone(machines: Mapping[str, str]) -> None:
    tbf = ["tbf", "rate", "1mbit", "burst", "2000", "limit", "3000"]
    run("tc", "-n", machines["client"], "qdisc", "add", "dev", "eth1", "root", *tbf)
    code, text = call(machines["client"], "client", *CLIENT_WORDS, "--device", "eth1")
    assert (code, "shaped already (tbf)" in text) == (4, True)
    shown = json.loads(run("tc", "-n", machines["client"], "-j", "qdisc", "show", "dev", "eth1"))
    assert [item["kind"] for item in shown] == ["tbf"]
    run("tc", "-n", machines["client"], "qdisc", "delete", "dev", "eth1", "root")


@needs_namespaces
def test_whatever_happens_the_device_is_as_before(machines: Mapping[str, str]) -> None:
    """Without netem it says so at once; with it, the site that there is not ends the server."""
    before = features(machines["server"])
    has_netem = "netem" in qdisc_kinds(machines["server"])
    code, text = call(machines["server"], "server", "no-such-site", "--device", "eth1")
    assert code == 4
    assert ("the server did not start" if has_netem else "this kernel has no netem") in text
    assert features(machines["server"]) == before


@needs_namespaces
def test_what_tc_has_against_a_link_is_told(machines: Mapping[str, str]) -> None:
    words = ("agency", "--device", "eth1", "--delay", "soon")
    code, text = call(machines["server"], "server", *words)
    assert code == 4
    assert re.search(r"tc refuses the link: \S", text)


@pytest.mark.parametrize(
    ("outcome", "told"),
    [
        (load_of({"https://a.test/": 200}), {"metrics": {"lcp_ms": 300}, "requests": 1}),
        (PageLoadFailed("timeout", "no result within 90 s"), {"failed": "timeout: no result within 90 s"}),
    ],
    ids=["result", "failure"],
)
def test_a_load_is_told_with_its_metrics_or_why_there_are_none(
    outcome: BrowserLoad | PageLoadFailed, told: Mapping[str, object]
) -> None:
    class Runner:
        async def run(self, job: PageLoadJob) -> BrowserLoad:
            assert job.hosts == {"a.test": 4433}
            if isinstance(outcome, PageLoadFailed):
                raise outcome
            return outcome

    load_once = runpy.run_path(str(SCRIPTS / "load.py"))["_one"]
    found = asyncio.run(load_once(Runner(), "192.0.2.1", 4433, "x", "https://a.test/", ["a.test"]))
    assert json.loads(json.dumps(found)) == told
