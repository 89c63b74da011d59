"""Why each connection was opened. The cases are those that Chromium 156 wrote for pages made to show them."""

from __future__ import annotations

from pathlib import Path

import pytest

from mixedsched.world.browser.netlog import OpenReason, QuicSession
from tests.world.browser.netlog_script import CROSS_SITE, MATCHING_IP, OTHER_IP, POOLED, Script

THIRD = "enabled partitioned state allowed"


def last(script: Script, directory: Path) -> QuicSession:
    return script.read(directory).sessions[-1]


def test_the_first_one_needs_no_reason(tmp_path: Path) -> None:
    assert last(Script().session(), tmp_path).reason is OpenReason.FIRST


@pytest.mark.parametrize(
    ("privacy_mode", "reason", "word"),
    [("enabled", OpenReason.CREDENTIALS, "without credentials"), (THIRD, OpenReason.THIRD_PARTY, "other sites")],
)
def test_requests_of_another_privacy_mode_are_kept_apart(
    tmp_path: Path, privacy_mode: str, reason: OpenReason, word: str
) -> None:
    session = last(Script().session(1).session(2, 150, privacy_mode=privacy_mode), tmp_path)
    assert session.reason is reason
    assert word in session.why


def test_credentials_after_none_are_kept_apart_too(tmp_path: Path) -> None:
    session = last(Script().session(1, privacy_mode="enabled").session(2, 150), tmp_path)
    assert (session.reason, session.why) == (
        OpenReason.CREDENTIALS,
        "requests with credentials are kept apart from those without",
    )


def test_a_frame_of_another_site_is_another_partition(tmp_path: Path) -> None:
    session = last(Script().session(1).session(2, 150, host="frame.test", partition=CROSS_SITE), tmp_path)
    assert session.reason is OpenReason.PARTITION
    assert CROSS_SITE in session.why


def test_a_host_that_the_certificate_does_not_name_is_kept_apart(tmp_path: Path) -> None:
    session = last(Script().session(1).session(2, 150, host="nocert.test"), tmp_path)
    assert session.reason is OpenReason.HOST
    assert session.why.startswith("nocert.test cannot share the connection to site.test")


def test_so_is_one_of_another_address_and_chromium_may_say_so(tmp_path: Path) -> None:
    script = Script().session(1).event(OTHER_IP, 140, 9, destination="https://far.test:8443")
    session = last(script.session(2, 150, host="far.test"), tmp_path)
    assert session.reason is OpenReason.HOST
    assert session.why.endswith("its address is another one")


def test_one_opened_while_another_was_on_its_way_is_closed_for_it_and_is_no_connection(tmp_path: Path) -> None:
    script = Script().session(1, finished=False).session(2, 105, host="font.test", finished=False)
    script.event("QUIC_SESSION_CRYPTO_HANDSHAKE_COMPLETE", 130, 1)
    script.event(MATCHING_IP, 140, 9, destination="https://font.test", source_dependency={"id": 1, "type": 13})
    script.close(2, 140, POOLED, 62).event("QUIC_SESSION_CRYPTO_HANDSHAKE_COMPLETE", 141, 2)
    log = script.read(tmp_path)
    duplicate = log.sessions[1]
    assert (duplicate.reason, duplicate.pooled_with, duplicate.is_used) == (OpenReason.DUPLICATE, 1, False)
    assert "the connection to site.test" in duplicate.why
    assert [item.source_id for item in log.connections] == [1]


def test_one_opened_while_another_was_on_its_way_may_prove_to_be_needed(tmp_path: Path) -> None:
    """The other one's certificate is known only then."""
    script = Script().session(1, finished=False).session(2, 105, host="nocert.test", finished=False)
    script.event("QUIC_SESSION_CRYPTO_HANDSHAKE_COMPLETE", 130, 1)
    session = last(script.event("QUIC_SESSION_CRYPTO_HANDSHAKE_COMPLETE", 140, 2), tmp_path)
    assert (session.reason, session.is_used) == (OpenReason.HOST, True)


def test_one_whose_forerunner_was_never_ready_ran_beside_it(tmp_path: Path) -> None:
    session = last(Script().session(1, finished=False).session(2, 105), tmp_path)
    assert (session.reason, session.why) == (OpenReason.PARALLEL, "the connection to site.test was not ready yet")


def test_one_after_the_end_of_another_replaces_it(tmp_path: Path) -> None:
    session = last(Script().session(1).close(1, 500, "Network blackhole detected", 85).session(2, 510), tmp_path)
    assert session.reason is OpenReason.REPLACEMENT
    assert session.why == "the earlier connection to site.test had ended: Network blackhole detected"


def test_a_second_one_to_the_same_host_means_that_the_first_took_no_more(tmp_path: Path) -> None:
    assert last(Script().session(1).session(2, 500), tmp_path).reason is OpenReason.REPLACEMENT
