"""The HAR that Chromium itself saves of a bundled site gives its manifest back, and so does a page without any body."""

from __future__ import annotations

import json
import os
import subprocess
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from mixedsched.cli._sites import open_site
from mixedsched.model.page import Page
from mixedsched.model.request import Flag
from mixedsched.sites.har import import_page, pages_of, read_har
from mixedsched.sites.opening import load_site
from mixedsched.world.browser.find import find_chromium
from tests.world.server.client import serving

pytestmark = pytest.mark.usefixtures("chromium")

SITE = "three-hosts"
RUNNER = Path(__file__).parents[3] / "lighthouse-runner"
SAVER = Path(__file__).with_name("devtools_har.mjs")


def saved_har(site: str, file: Path) -> None:
    """Load a site of ours in Chromium with its developer tools open, and save their HAR."""
    with serving(site) as server:
        hosts = server.first["hosts"]
        rules = [*(f"MAP {host}:443 127.0.0.1:{server.port}" for host in hosts), "MAP * ~NOTFOUND", "EXCLUDE 127.0.0.1"]
        flags = [
            f"--host-resolver-rules={', '.join(rules)}",
            f"--origin-to-force-quic-on={','.join(f'{host}:443' for host in hosts)}",
            f"--ignore-certificate-errors-spki-list={server.first['spki_sha256']}",
            "--enable-quic",
            *(["--no-sandbox"] if os.geteuid() == 0 else []),
        ]
        command = ["node", str(SAVER), str(RUNNER), str(find_chromium()), server.first["url"], str(file), *flags]
        subprocess.run(command, check=True, timeout=120, capture_output=True)


@pytest.fixture(scope="module")
def har(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("har") / "page.har"
    saved_har(SITE, path)
    return path


def imported_page(har: Path, target: Path) -> tuple[Page, tuple[str, ...]]:
    log = read_har(har)
    import_page(log, pages_of(log)[0], lambda facts: (target, replace(facts, name="copy")))
    site = load_site(target)
    return site.page, site.hosts


def described(page: Page, hosts: tuple[str, ...]) -> dict[str, dict[str, Any]]:
    """What must be the same, by address. Not so, as a HAR cannot tell it: ids, hero, and where generators count from."""
    addresses = {item.id: f"{hosts[item.host]}{item.path}" for item in page.resources}
    return {
        addresses[item.id]: {
            "kind": item.kind,
            "mime": item.mime.partition(";")[0],
            "body_bytes": item.body_bytes,
            "priority": item.chromium_priority,
            "incremental": item.incremental,
            "flags": item.flags - {Flag.HERO, Flag.ABOVE_FOLD, Flag.LATE_BODY},
        }
        for item in page.resources
    }


def test_kinds_sizes_priorities_and_places_are_those_of_the_manifest(har: Path, tmp_path: Path) -> None:
    original = open_site(SITE)
    assert described(*imported_page(har, tmp_path / "copy")) == described(original.page, original.hosts)


def test_bodies_are_those_of_the_site(har: Path, tmp_path: Path) -> None:
    imported_page(har, tmp_path / "copy")
    original, copy = open_site(SITE), load_site(tmp_path / "copy")
    for (host, path), file in original.files.items():
        same = copy.files[copy.hosts.index(original.hosts[host]), path]
        assert same.read_bytes() == file.read_bytes(), path


def test_a_har_without_bodies_becomes_a_page_that_chromium_loads_alike(har: Path, tmp_path: Path) -> None:
    bare = json.loads(har.read_text())
    for entry in bare["log"]["entries"]:
        entry["response"]["content"].pop("text", None)
    path = tmp_path / "bare.har"
    path.write_text(json.dumps(bare))
    page, hosts = imported_page(path, tmp_path / "copy")
    saved_har(str(tmp_path / "copy"), tmp_path / "again.har")
    again = read_har(tmp_path / "again.har").entries
    asked = {
        entry.url for entry in again if entry.url.startswith("https://") and not entry.url.endswith("/favicon.ico")
    }
    assert {url.removeprefix("https://") for url in asked} == set(described(page, hosts))
