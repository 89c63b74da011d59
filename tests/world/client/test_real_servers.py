"""Other people's servers, where they are installed: what `conform` sees of them, and what their models say they send."""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path

import pytest

from benchmarks import server_models
from mixedsched.core.h3.conform.orders import LEAST_FILE_BYTES, ORDER_PROBES
from mixedsched.lab.conform import AskedServer, Examination
from mixedsched.world.servers import ServerKind
from tests.world.servers.sites import installed

pytestmark = pytest.mark.slow  # servers in processes of their own


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("files")
    server_models.write_files(folder)
    (folder / "big.bin").write_bytes(random.Random(1).randbytes(LEAST_FILE_BYTES))
    return folder


SEEN = {
    # Right, wrong: rules whose verdict does not hang on how fast a machine starts handlers.
    "gtlsserver": ({"2", "5", "10", "18", "30", "37", "43", "44", "45"}, {"46"}),
    "caddy": ({"5", "45", "46"}, {"10", "30"}),
    "quic-go": ({"5", "45", "46"}, {"10", "30"}),
    "quiche": ({"2", "10", "30", "43", "44"}, {"5", "18", "37", "46"}),
    "nginx": ({"45", "46"}, {"2", "5", "10", "18", "30", "37", "43", "44"}),
}


@pytest.fixture(scope="module", params=SEEN)
def real_server(request: pytest.FixtureRequest, files: Path) -> Iterator[tuple[ServerKind, int]]:
    found = installed(request.param)
    with server_models.running(found, files) as port:
        yield found.kind, port


def test_orders_are_seen_as_the_servers_source_has_them(real_server: tuple[ServerKind, int]) -> None:
    kind, port = real_server
    right, wrong = SEEN[kind.name]
    examination = Examination(AskedServer("127.0.0.1", port, "/big.bin", server_models.HOST_NAME), tries=1)
    examination.look()
    told = {probe.rule: examination.ask_order(probe).word for probe in ORDER_PROBES if probe.rule in right | wrong}
    assert {rule for rule, word in told.items() if word == "right"} == right, told
    assert {rule for rule, word in told.items() if word == "wrong"} == wrong, told


def test_responses_end_in_the_order_of_the_model(real_server: tuple[ServerKind, int]) -> None:
    kind, port = real_server
    rng = random.Random(7)
    outcomes = [server_models.outcome_of(kind.stand_in, port, server_models.Scenario.drawn(rng)) for _ in range(6)]
    same = sum(outcome.is_same_end for outcome in outcomes)
    assert same >= len(outcomes) - 1, [outcome for outcome in outcomes if not outcome.is_same_end]
