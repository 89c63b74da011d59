"""Arms that are servers: their words, and where their programs are looked for."""

from __future__ import annotations

from pathlib import Path

import pytest

from mixedsched.core.schedulers import SERVER_SCHEMES
from mixedsched.errors import ExitCode, MissingPartError, UsageError
from mixedsched.world.servers import KINDS, find_server, is_server, read_choice, require_server

EMPTY = "nothing"


@pytest.fixture
def only_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """A folder that is the only place in which servers are found."""
    folder = tmp_path / "servers"
    folder.mkdir()
    monkeypatch.setenv("MIXEDSCHED_SERVERS", str(folder))
    monkeypatch.setenv("MIXEDSCHED_CACHE", str(tmp_path / EMPTY))
    monkeypatch.setattr("mixedsched.world.servers.catalog.find_program", lambda _: None)
    return folder


def program(file: Path, said: str) -> None:
    """One that says something, whatever it is asked."""
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(f"#!/bin/sh\necho '{said}'\n")
    file.chmod(0o755)


def test_a_server_is_told_from_a_scheme_by_its_mark() -> None:
    assert is_server("@caddy")
    assert not is_server("eps")


def test_parameters_are_read_and_checked() -> None:
    assert read_choice("@nginx:http3_stream_buffer_size=1m").values == {"http3_stream_buffer_size": "1m"}
    for spec, words in (
        ("@ngnix", "did you mean 'nginx'"),
        ("@nginx:http3_stream_buffer_size=lots", "not possible"),
        ("@nginx:buffer=1m", "has no parameter 'buffer'"),
        ("@nginx:http3_stream_buffer_size", "is not understood"),
        ("@nginx:http3_stream_buffer_size=1m,http3_stream_buffer_size=2m", "given twice"),
        ("@gtlsserver:x=1", "takes none"),
        ("@h2o:headers=/nowhere/h2o.conf", "there is no file"),
    ):
        with pytest.raises(UsageError) as caught:
            read_choice(spec)
        assert words in str(caught.value)


def test_an_edited_file_of_headers_is_another_arm(tmp_path: Path) -> None:
    file = tmp_path / "h2o.conf"
    file.write_text("one")
    before = read_choice(f"@h2o:headers={file}").files_digest
    file.write_text("two")
    assert before is not None
    assert read_choice(f"@h2o:headers={file}").files_digest not in {before, None}
    assert read_choice("@h2o").files_digest is None


def test_a_server_that_is_nowhere_is_a_missing_part_and_the_error_says_how_to_get_it(only_named: Path) -> None:
    for kind in KINDS.values():
        assert not find_server(kind).is_usable
        with pytest.raises(MissingPartError, match="is not here") as caught:
            require_server(kind)
        assert caught.value.exit_code == ExitCode.MISSING_PART
        assert kind.how_to_get in str(caught.value)
    assert not list(only_named.iterdir())


@pytest.mark.parametrize("place", ["h2o", "bin/h2o", "sbin/h2o", "h2o/bin/h2o", "usr/sbin/h2o"])
def test_the_named_folder_may_have_it_in_any_usual_place(only_named: Path, place: str) -> None:
    program(only_named / place, "h2o version 2.3.0-DEV@abc")
    found = find_server(KINDS["h2o"])
    assert found.is_usable
    assert found.is_known
    assert found.program is not None
    assert found.program.path == only_named / place


@pytest.mark.parametrize(
    ("name", "said", "reason"),
    [
        ("nginx", "nginx version: nginx/1.22.1\nconfigure arguments: --with-http_v2_module", "without HTTP/3"),
        ("h2o", "h2o version 2.2.5", "comes with 2.3"),
        ("caddy", "2.5.2", "comes with 2.6"),
        ("caddy", "hello", "does not run"),
    ],
)
def test_a_version_without_http3_is_not_used(only_named: Path, name: str, said: str, reason: str) -> None:
    program(only_named / name, said)
    with pytest.raises(MissingPartError, match="cannot be used") as caught:
        require_server(KINDS[name])
    assert reason in str(caught.value)


@pytest.mark.parametrize(
    ("name", "said", "version"),
    [
        ("nginx", "nginx version: openresty/1.27.1.1\nconfigure arguments: --with-http_v3_module", "1.27.1.1"),
        ("nginx", "nginx version: nginx/1.26.3 (Debian)\nconfigure arguments: --with-http_v3_module", "1.26.3"),
        ("h2o", "h2o version 2.3-DEV", "2.3"),
        ("h2o", "h2o version 2.3.0-DEV@edd7a120b", "2.3.0-DEV@edd7a120b"),
    ],
)
def test_versions_are_read_as_programs_and_those_made_from_them_tell_them(
    only_named: Path, name: str, said: str, version: str
) -> None:
    program(only_named / name, said)
    found = require_server(KINDS[name])
    assert found.version is not None
    assert found.version.name == version


def test_a_version_whose_priorities_were_not_read_is_used_and_known_as_such(only_named: Path) -> None:
    program(only_named / "nginx", "nginx version: nginx/1.99.0 --with-http_v3_module")
    found = find_server(KINDS["nginx"])
    assert found.is_usable
    assert not found.is_known
    assert KINDS["nginx"].is_known("1.31.4")
    assert not KINDS["nginx"].is_known("1.3")


def test_each_server_is_simulated_by_its_model() -> None:
    assert {kind.stand_in for kind in KINDS.values()} <= set(SERVER_SCHEMES)
