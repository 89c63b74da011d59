"""Packages unpacked side by side: links hold within the tree and never reach the machine."""

from __future__ import annotations

from pathlib import Path, PurePosixPath
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mixedsched.errors import MissingPartError, SiteError
from mixedsched.sites.making._debian import DebianFile, link_inside, unpack
from mixedsched.sites.site.paths import confined
from tests.sites.making.debs import make_deb, needs_dpkg


@needs_dpkg
@pytest.mark.parametrize(
    "target", ["/usr/share/javascript/j.js", "../../javascript/j.js", "../../../../../usr/share/javascript/j.js"]
)
def test_a_link_leads_to_the_file_of_another_package(tmp_path: Path, target: str) -> None:
    guide = make_deb(tmp_path, "guide", {}, links={"usr/share/doc/guide/j.js": target})
    library = make_deb(tmp_path, "library", {"usr/share/javascript/j.js": "run()"})
    unpack([guide, library], tmp_path / "tree")
    assert confined(tmp_path / "tree", "usr/share/doc/guide/j.js", "test").read_text() == "run()"


@needs_dpkg
def test_a_link_to_a_folder_leads_into_the_tree(tmp_path: Path) -> None:
    guide = make_deb(tmp_path, "guide", {"srv/files/a.css": "a{}"}, links={"usr/style": "/srv/files"})
    unpack([guide], tmp_path / "tree")
    assert (tmp_path / "tree/usr/style/a.css").read_text() == "a{}"


@needs_dpkg
def test_a_link_to_a_file_of_the_machine_leads_nowhere(tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("of the machine")
    guide = make_deb(
        tmp_path, "guide", {}, links={"usr/passwords": "/etc/passwd", "usr/secret": str(tmp_path / "secret")}
    )
    unpack([guide], tmp_path / "tree")
    for name in ("usr/passwords", "usr/secret"):
        with pytest.raises(SiteError, match="leads nowhere"):
            confined(tmp_path / "tree", name, "test")


@needs_dpkg
def test_nothing_is_written_through_a_link(tmp_path: Path) -> None:
    outer = make_deb(tmp_path, "outer", {}, links={"usr/here": str(tmp_path / "elsewhere")})
    inner = make_deb(tmp_path, "inner", {"usr/here/a.txt": "a"}, links={"usr/here/b": "a.txt"})
    unpack([outer, inner], tmp_path / "tree")
    assert (tmp_path / "tree/usr/here/b").read_text() == "a"
    assert not (tmp_path / "elsewhere").exists()


@needs_dpkg
def test_only_what_is_wanted_of_the_first_package_is_written(tmp_path: Path) -> None:
    guide = make_deb(
        tmp_path, "guide", {"doc/a.html": "", "doc/b.html": "", "doc/css/a.css": "", "doc/css/x/a.css": ""}
    )
    library = make_deb(tmp_path, "library", {"js/all.js": ""})
    unpack([guide, library], tmp_path / "tree", ["doc/a.html", "css/*.css"])
    files = sorted(str(path.relative_to(tmp_path / "tree")) for path in (tmp_path / "tree").rglob("*.*"))
    assert files == ["doc/a.html", "doc/css/a.css", "js/all.js"]


@needs_dpkg
@pytest.mark.parametrize("share", [0.0, 0.5])
def test_a_damaged_package_is_refused_with_the_remedy(tmp_path: Path, share: float) -> None:
    guide = make_deb(tmp_path, "guide", {"a.bin": bytes(300_000)})
    body = guide.path.read_bytes()
    guide.path.write_bytes(body[: int(share * len(body))])
    with pytest.raises(SiteError, match=r"cannot be unpacked.*delete it, and it is downloaded again"):
        unpack([guide], tmp_path / "tree")


def test_without_dpkg_deb_the_error_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "")
    with pytest.raises(MissingPartError, match="dpkg-deb is missing"):
        unpack([DebianFile("guide", "1.0", tmp_path / "guide_1.0_all.deb")], tmp_path / "tree")


_PATHS = st.lists(st.sampled_from(["..", ".", "a", "b", "etc"]), min_size=1, max_size=8).map("/".join)
_PLACES = st.lists(st.sampled_from(["a", "b", "c"]), min_size=1, max_size=5).map(lambda parts: PurePosixPath(*parts))


@given(links=st.lists(st.tuples(_PLACES, st.booleans(), _PATHS), max_size=6))
def test_links_stay_in_the_tree_whatever_they_say(links: list[tuple[PurePosixPath, bool, str]]) -> None:
    with TemporaryDirectory() as folder:
        tree = Path(folder).resolve() / "tree"
        for place, absolute, target in links:
            link_inside(tree, place, f"/{target}" if absolute else target)
        assert [path.name for path in Path(folder).iterdir()] == ([tree.name] if links else [])
        for place, _, _ in links:
            found = _resolved(tree / place)
            assert found is None or found.is_relative_to(tree)


def _resolved(path: Path) -> Path | None:
    """Where a path leads; None for a loop of links."""
    try:
        return path.resolve()
    except (OSError, RuntimeError):
        return None
