"""What of a site a server can replay: refused, told, or left out under all arms alike."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest

from mixedsched.errors import MixedschedError, SiteError
from mixedsched.model.request import Kind
from mixedsched.world.server.site import RecordedAnswer, ServedSite
from mixedsched.world.servers import KINDS, Abilities, fit_site, levelled
from tests.world.servers.sites import HOST, STYLE, entry, full_site, plain_site, site_of, written

FOLDER_SERVER = KINDS["gtlsserver"]
CONFIGURED = KINDS["caddy"]


def refusal(site: ServedSite, name: str = "gtlsserver") -> str:
    return "; ".join(fit_site(KINDS[name], site).refused)


@pytest.mark.parametrize("name", list(KINDS))
def test_a_plain_site_fits_every_server(tmp_path: Path, name: str) -> None:
    assert not fit_site(KINDS[name], plain_site(tmp_path)).refused


def test_a_configured_server_replays_hosts_queries_fields_and_codings(tmp_path: Path) -> None:
    for name in ("caddy", "nginx", "quic-go"):
        fit = fit_site(KINDS[name], full_site(tmp_path))
        assert (fit.refused, fit.told) == ((), ())


def test_a_server_of_a_folder_refuses_what_it_cannot_tell_apart_and_names_it(tmp_path: Path) -> None:
    one, two = written(tmp_path, "one", b"1"), written(tmp_path, "two", b"2")
    assert "/a?x=1" in refusal(site_of({"/a?x=1": entry(one), "/a?x=2": entry(two)}))
    assert "queries" in refusal(site_of({"/a?x=1": entry(one), "/a?x=2": entry(two)}), "h2o")
    assert "hosts" in refusal(site_of({"/a": entry(one)}, {"/a": entry(two)}))
    assert not refusal(site_of({"/a": entry(one)}, {"/a": entry(one)}))
    assert "a file and a folder" in refusal(site_of({"/a": entry(one), "/a/b": entry(two)}))
    assert "cannot be" in refusal(site_of({"/" + "x" * 300: entry(one)}))


def test_what_a_configuration_cannot_say_is_refused_before_any_load(tmp_path: Path) -> None:
    one, two = written(tmp_path, "one", b"1"), written(tmp_path, "two", b"2")
    assert "spellings" in refusal(site_of({"/%41": entry(one), "/A": entry(two)}), "h2o")
    assert not refusal(site_of({"/%41": entry(one), "/A": entry(two)}), "nginx")
    assert "as text" in refusal(site_of({"/%ff": entry(one)}), "h2o")
    long = "x" * 4000
    assert "characters" in refusal(site_of({f"/a?{long}1": entry(one), f"/a?{long}2": entry(two)}), "nginx")
    assert not refusal(site_of({f"/a?{long}1": entry(one), "/b": entry(two)}), "nginx")


def test_queries_that_a_server_takes_for_priorities_are_told(tmp_path: Path) -> None:
    file = written(tmp_path, "file", b"x")
    site = site_of({target: entry(file) for target in ("/a.png?i=1", "/b.png?i=12", "/c.png?ui=1", "/d.png?w=9&u=5")})
    (told,) = fit_site(FOLDER_SERVER, site).told
    assert "/a.png?i=1, https://x.test/d.png?w=9&u=5 for priorities" in told
    assert not fit_site(CONFIGURED, site).told


def test_types_by_endings_matter_where_a_browser_insists_on_them(tmp_path: Path) -> None:
    file = written(tmp_path, "file", b"x")
    assert "ending" in refusal(site_of({"/style": entry(file, "text/css", Kind.STYLESHEET)}))
    both = {"/a.x": entry(file, "text/css", Kind.STYLESHEET), "/b.x": entry(file, "text/html", Kind.DOCUMENT)}
    assert "others" in refusal(site_of(both))
    assert not refusal(site_of({"/image": entry(file, "image/png", Kind.IMAGE)}))


def test_other_statuses_are_refused_but_what_is_not_there(tmp_path: Path) -> None:
    file = written(tmp_path, "file", b"x")
    assert "status" in refusal(site_of({"/old": entry(file, status=301)}))
    assert not refusal(site_of({"/gone": entry(file, status=404)}))
    assert not refusal(site_of({"/old": entry(file, status=301)}), "caddy")


def test_fonts_of_other_hosts_need_a_server_that_allows_them(tmp_path: Path) -> None:
    file = written(tmp_path, "file", b"x")
    site = site_of({"/": entry(file, "text/html", Kind.DOCUMENT)}, {"/f.woff2": entry(file, "font/woff2", Kind.FONT)})
    fit = fit_site(FOLDER_SERVER, site)
    with pytest.raises(SiteError, match="--origins merge"):
        fit.raise_if_refused("@gtlsserver", "small")
    assert not fit_site(CONFIGURED, site).refused


def test_fields_and_methods_that_are_left_out_are_told(tmp_path: Path) -> None:
    file = written(tmp_path, "file", b"x")
    one = entry(file, headers=((b"link", (b"</a>; rel=preload",)),))
    site = site_of({"/own": one})
    assert "1 answer is without header fields" in fit_site(FOLDER_SERVER, site).told[0]
    posted = ServedSite(
        "s", f"https://{HOST}/", (HOST,), site.entries, [RecordedAnswer("POST", HOST, "/p", 200, entry(file))], 1
    )
    assert "other methods than GET" in fit_site(CONFIGURED, posted).told[0]
    assert not fit_site(KINDS["quic-go"], posted).told


def test_what_one_server_cannot_do_no_arm_does(tmp_path: Path) -> None:
    coded = written(tmp_path, "coded", gzip.compress(STYLE))
    site = site_of({"/a.css": entry(coded, "text/css", Kind.STYLESHEET, encoding="gzip", delay_ms=50.0)})
    able = Abilities(delays=True)
    assert levelled(site, [], tmp_path / "d") == (site, ())
    assert levelled(site, [able], tmp_path / "d") == (site, ())
    level, words = levelled(site, [able, Abilities(codings=False)], tmp_path / "d")
    made = level.entries[HOST]["/a.css"]
    assert made.file is not None
    assert (made.file.read_bytes(), made.encoding, made.delay_ms) == (STYLE, None, 0.0)
    assert [word.rpartition(" ")[2] for word in words] == ["coding", "delay"]


def test_a_file_that_cannot_be_decoded_is_an_error(tmp_path: Path) -> None:
    bad = written(tmp_path, "bad", b"no gzip")
    site = site_of({"/a.css": entry(bad, "text/css", Kind.STYLESHEET, encoding="gzip")})
    with pytest.raises(MixedschedError, match="cannot be decoded"):
        levelled(site, [Abilities(codings=False)], tmp_path / "d")


def test_a_file_that_has_changed_is_decoded_again(tmp_path: Path) -> None:
    def decoded() -> bytes:
        site, _ = levelled(
            site_of({"/a.css": entry(file, encoding="gzip")}), [Abilities(codings=False)], tmp_path / "d"
        )
        made = site.entries[HOST]["/a.css"].file
        assert made is not None
        return made.read_bytes()

    file = written(tmp_path, "coded", gzip.compress(STYLE))
    assert decoded() == STYLE
    written(tmp_path, "coded", gzip.compress(STYLE + b"/* more */"))
    assert decoded() == STYLE + b"/* more */"
