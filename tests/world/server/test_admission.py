"""Who gets a connection, who must prove its address, who is refused."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mixedsched.world.server._first_packets import Admission, Admittance
from mixedsched.world.server.clients import client_of
from mixedsched.world.server.settings import Limits, RetryPolicy
from tests import command


def judge(admission: Admission, client: str = "a", *, proven: bool = False, memory_is_full: bool = False) -> Admittance:
    return admission.judge(client, proven=proven, memory_is_full=memory_is_full)


def test_under_load_addresses_must_be_proven_and_no_longer_when_it_is_over() -> None:
    admission = Admission(Limits(unproven_handshakes=2), RetryPolicy.AUTO)
    for client in ("a", "b"):
        assert judge(admission, client) is Admittance.ACCEPT
        admission.opened(client, proven=False)
    assert judge(admission, "c") is Admittance.PROVE_ADDRESS
    assert judge(admission, "c", proven=True) is Admittance.ACCEPT
    admission.established(proven=False)
    assert judge(admission, "c") is Admittance.ACCEPT


@pytest.mark.parametrize(("policy", "first"), [("always", Admittance.PROVE_ADDRESS), ("never", Admittance.ACCEPT)])
def test_a_proof_can_be_wanted_always_or_never(policy: str, first: Admittance) -> None:
    admission = Admission(Limits(unproven_handshakes=0), RetryPolicy(policy))
    assert judge(admission) is first
    assert judge(admission, proven=True) is Admittance.ACCEPT


def test_connections_are_limited_in_all_and_per_client() -> None:
    admission = Admission(Limits(connections=3, connections_per_client=2), RetryPolicy.AUTO)
    for client in ("a", "a"):
        admission.opened(client, proven=False)
        admission.established(proven=False)
    assert judge(admission, "a") is Admittance.REFUSE
    assert judge(admission, "b") is Admittance.ACCEPT
    admission.opened("b", proven=False)
    assert judge(admission, "c") is Admittance.REFUSE
    admission.closed("a")
    assert judge(admission, "a") is Admittance.ACCEPT


def test_handshakes_beyond_the_limit_wait() -> None:
    admission = Admission(Limits(handshakes=1), RetryPolicy.AUTO)
    admission.opened("a", proven=True)
    assert judge(admission, "b") is Admittance.IGNORE
    admission.established(proven=True)
    assert judge(admission, "b") is Admittance.ACCEPT


def test_full_memory_refuses_newcomers() -> None:
    assert judge(Admission(Limits(), RetryPolicy.AUTO), memory_is_full=True) is Admittance.REFUSE


@given(st.lists(st.tuples(st.sampled_from("abc"), st.booleans(), st.booleans()), max_size=50))
def test_after_the_last_connection_has_closed_all_is_as_before(connections: list[tuple[str, bool, bool]]) -> None:
    admission = Admission(Limits(connections=50, unproven_handshakes=1, handshakes=1), RetryPolicy.AUTO)
    for client, proven, _ in connections:
        admission.opened(client, proven=proven)
    for client, proven, _ in connections:
        admission.established(proven=proven)
        admission.closed(client)
    assert admission.connections == 0
    assert judge(admission) is Admittance.ACCEPT


def test_an_ipv6_subscriber_is_one_client() -> None:
    assert client_of(("2001:db8::1", 1, 0, 0)) == client_of(("2001:db8::ffff", 2, 0, 0)) == "2001:db8::/64"
    assert client_of(("2001:db8:0:1::1", 1, 0, 0)) != client_of(("2001:db8::1", 1, 0, 0))
    assert client_of(("::ffff:192.0.2.1", 1, 0, 0)) == client_of(("192.0.2.1", 9)) == "192.0.2.1"
    assert client_of(("fe80::1%eth0", 1, 0, 2)) == "fe80::/64"


def test_limits_are_positive_and_divided_among_workers() -> None:
    shared = Limits(connections=1001, handshakes=3, connections_per_client=7).shared_among(4)
    assert (shared.connections, shared.handshakes, shared.connections_per_client) == (251, 1, 7)
    with pytest.raises(ValueError, match="connections must be positive"):
        Limits(connections=0)


@pytest.mark.parametrize("command_line", [("serve", "agency"), ("edge", "--origin", "http://127.0.0.1:1")])
@pytest.mark.parametrize(
    "option", ["--idle-timeout=0s", "--idle-timeout=0.5ms", "--idle-timeout=25h", f"--max-streams={2**61}"]
)
def test_a_limit_that_cannot_be_kept_is_refused_before_anything_is_done(
    command_line: tuple[str, ...], option: str
) -> None:
    done = command.run(*command_line, option, "--scheme", "none-such")  # a scheme is looked at later: no server starts
    assert (done.exit_code, done.stdout) == (2, "")
    assert option.partition("=")[0] in done.stderr
