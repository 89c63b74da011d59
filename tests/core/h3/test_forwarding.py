"""The rules for gateways, as the RFCs list them."""

from __future__ import annotations

import string

import pylsqpack
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mixedsched.core.h3.forwarding import (
    BadAnswerError,
    content_length_of,
    host_of,
    nominated,
    plain_address,
    refusal,
    request_fields,
    response_fields,
    trailer_fields,
)
from mixedsched.core.h3.response import Headers, RequestHead

CLIENT = "192.0.2.7"
HOP_BY_HOP = [
    b"connection",
    b"keep-alive",
    b"proxy-authenticate",
    b"proxy-authentication-info",
    b"proxy-authorization",
    b"proxy-connection",
    b"te",
    b"transfer-encoding",
    b"upgrade",
]
tokens = st.text(string.ascii_letters + string.digits + "!#$%&'*+-.^_`|~", min_size=1, max_size=12).map(str.encode)
values = st.binary(max_size=20).filter(
    lambda value: not any((byte < 0x20 and byte != 9) or byte == 0x7F for byte in value)
)
field_lists = st.lists(st.tuples(tokens, values), max_size=8)


def head(
    method: str = "GET", path: str = "/", authority: str = "x.test", fields: Headers | None = None, **more: str
) -> RequestHead:
    return RequestHead(method, authority, path, fields or [], **more)


def status_of(request: RequestHead) -> int | None:
    refused = refusal(request, lambda host: host == "x.test")
    return None if refused is None else refused.status


def sent(fields: Headers, **more: str) -> dict[bytes, bytes]:
    return dict(request_fields(head(fields=fields, **more), CLIENT))


# RFC 9110 section 7.2 and RFC 9114 section 4.3.1: Host and :authority


@pytest.mark.parametrize(
    ("authority", "host"),
    [
        ("x.test", "x.test"),
        ("X.Test:8443", "x.test"),
        ("x.test.", "x.test"),
        ("x.test:", "x.test"),
        ("192.0.2.1:443", "192.0.2.1"),
        ("[2001:DB8::1]:443", "2001:db8::1"),
        ("", None),
        ("user@x.test", None),
        ("user:pass@x.test", None),
        ("x.test:443:443", None),
        ("x.test/path", None),
        ("x.test,y.test", None),
        ("x test", None),
        ("x.test\0", None),
        ("x.test:99999999", None),
        ("[x.test]", None),
        ("[::1", None),
        ("..", None),
        ("-x.test", None),
        ("x%2etest", None),
    ],
)
def test_an_authority_is_a_host_and_perhaps_a_port(authority: str, host: str | None) -> None:
    assert host_of(authority) == host


def test_a_host_that_is_not_served_gives_421() -> None:
    assert status_of(head(authority="other.test")) == 421
    assert status_of(head(authority="x.test:1")) is None


def test_an_authority_that_is_none_gives_400() -> None:
    assert status_of(head(authority="user@x.test")) == 400


def test_the_origin_is_asked_for_what_the_client_asked_for_or_for_its_own_host() -> None:
    request = head(authority="x.test:8443", fields=[(b"host", b"x.test:8443")])
    assert [value for name, value in request_fields(request, CLIENT) if name == b"host"] == [b"x.test:8443"]
    assert request_fields(request, CLIENT, "app.internal")[0] == (b"host", b"app.internal")


# RFC 9110 section 9.3: methods


def test_connect_is_refused_with_501() -> None:
    assert status_of(head("CONNECT", "", "x.test:443")) == 501


def test_an_extended_connect_is_for_websockets_only() -> None:
    assert status_of(head("CONNECT", "/ws", protocol="websocket")) is None
    assert status_of(head("CONNECT", "/ws", protocol="connect-udp")) == 501
    assert status_of(head("CONNECT", "/ws", protocol="websocket", fields=[(b"content-length", b"3")])) == 400


def test_a_refused_trace_tells_what_is_allowed() -> None:
    """RFC 9110 section 15.5.6."""
    refused = refusal(head("TRACE"), lambda _: True)
    assert refused is not None
    assert b"TRACE" not in dict(refused.fields)[b"allow"]


@pytest.mark.parametrize(("given", "passed"), [(b"2", b"1"), (b"1", b"0"), (b"0", None), (b"x", b"x")])
def test_options_take_no_more_hops_than_max_forwards_allows(given: bytes, passed: bytes | None) -> None:
    """RFC 9110 section 7.6.2: with none left, the edge is who answers."""
    fields = [(b"max-forwards", given)]
    assert status_of(head("OPTIONS", fields=fields)) == (200 if passed is None else None)
    if passed is not None:
        assert dict(request_fields(head("OPTIONS", fields=fields), CLIENT))[b"max-forwards"] == passed
    assert sent(fields)[b"max-forwards"] == given, "it means nothing for other methods"


def test_trace_is_refused_with_405() -> None:
    assert status_of(head("TRACE")) == 405


# RFC 9112 section 3 and 11: nothing in a request can become another line, another target or another request


@pytest.mark.parametrize(
    "path", ["", "x", "http://x.test/", "/a b", "/a\tb", "/a\r\nx: y", "/a\nb", "/a\0", "/#a", "/é", "/\x7f", "*"]
)
def test_a_target_that_is_no_path_gives_400(path: str) -> None:
    assert status_of(head(path=path)) == 400


@pytest.mark.parametrize("path", ["/", "/a?b=c&d", "//double", "/%00", "/a%20b", "/{}|^`\\"])
def test_a_path_passes_as_it_came(path: str) -> None:
    assert status_of(head(path=path)) is None


def test_options_may_ask_for_everything() -> None:
    assert status_of(head("OPTIONS", "*")) is None


@pytest.mark.parametrize("byte", [*range(9), *range(10, 32), 127])
def test_a_field_with_a_control_character_gives_400(byte: int) -> None:
    assert status_of(head(fields=[(b"x-a", b"a%cb" % byte)])) == 400


def test_an_unknown_expectation_gives_417() -> None:
    assert status_of(head(fields=[(b"expect", b"100-Continue")])) is None
    assert status_of(head(fields=[(b"expect", b"the unexpected")])) == 417


# RFC 9110 section 7.6.1: fields for one hop


@pytest.mark.parametrize("name", HOP_BY_HOP)
def test_hop_by_hop_fields_do_not_pass_to_the_origin(name: bytes) -> None:
    assert name not in sent([(name, b"trailers")])


@pytest.mark.parametrize("name", HOP_BY_HOP)
def test_hop_by_hop_fields_do_not_pass_to_the_client(name: bytes) -> None:
    assert name not in dict(response_fields([(name, b"x"), (b"x-a", b"b")], b"1.1"))


def test_fields_that_connection_names_do_not_pass() -> None:
    fields = [
        (b"Connection", b"X-One, close"),
        (b"connection", b" x-two"),
        (b"X-One", b"1"),
        (b"x-two", b"2"),
        (b"x-3", b"3"),
    ]
    assert dict(response_fields(fields, b"1.1")) == {b"x-3": b"3", b"via": b"1.1 mixedsched"}
    assert nominated([(b"connection", b"A,\t B ,")]) == {b"a", b"b", b""}


# RFC 9110 section 7.6.3: Via


def test_via_grows_in_both_directions() -> None:
    passed = request_fields(head(fields=[(b"via", b"2 cdn")]), CLIENT)
    assert [value for name, value in passed if name == b"via"] == [b"2 cdn", b"3 mixedsched"]
    answered = response_fields([(b"Via", b"1.1 app")], b"2")
    assert [value for name, value in answered if name == b"via"] == [b"1.1 app", b"2 mixedsched"]


# RFC 7239: what the origin is told of the client


def test_the_client_is_told_of_and_its_claims_are_replaced() -> None:
    forged = [
        (b"forwarded", b"for=1.1.1.1"),
        (b"x-forwarded-for", b"1.1.1.1"),
        (b"x_forwarded_for", b"1.1.1.1"),
        (b"x-real-ip", b"1.1.1.1"),
        (b"x-forwarded-proto", b"http"),
        (b"true-client-ip", b"1.1.1.1"),
        (b"proxy", b"http://evil.test"),
        (b"x-original-url", b"/admin"),
    ]
    passed = request_fields(head(fields=forged), CLIENT)
    assert not any(b"1.1.1.1" in value or b"evil" in value or b"admin" in value for _, value in passed)
    told = dict(passed)
    assert told[b"forwarded"] == b'for=192.0.2.7;host="x.test";proto=https'
    assert told[b"x-forwarded-for"] == told[b"x-real-ip"] == b"192.0.2.7"
    assert (told[b"x-forwarded-host"], told[b"x-forwarded-proto"]) == (b"x.test", b"https")


def test_an_address_of_ipv6_is_quoted() -> None:
    told = dict(request_fields(head(), "2001:db8::7"))
    assert told[b"forwarded"] == b'for="[2001:db8::7]";host="x.test";proto=https'
    assert told[b"x-forwarded-for"] == b"2001:db8::7"


# RFC 9114 section 4.2.1: cookies


@pytest.mark.parametrize(
    ("given", "plain"),
    [
        ("192.0.2.7", "192.0.2.7"),
        ("::ffff:192.0.2.7", "192.0.2.7"),
        ("2001:db8::1", "2001:db8::1"),
        ("fe80::1%eth0", "fe80::1"),
        ("", ""),
    ],
)
def test_a_client_has_one_address_whichever_socket_it_came_to(given: str, plain: str) -> None:
    assert plain_address(given) == plain


def test_lines_of_cookies_become_one() -> None:
    assert sent([(b"cookie", b"a=1"), (b"x-a", b"b"), (b"cookie", b"c=2")])[b"cookie"] == b"a=1; c=2"


# RFC 9112 section 6.3: the length of a response


@pytest.mark.parametrize(
    "lines",
    [[b"5", b"6"], [b"5, 6"], [b"+5"], [b"-5"], [b"0x5"], [b"5 5"], [b""], [b"5,"], [b"9" * 19], ["٥".encode()]],
)
def test_a_content_length_that_is_not_one_number_is_refused(lines: list[bytes]) -> None:
    with pytest.raises(BadAnswerError):
        response_fields([(b"content-length", line) for line in lines], b"1.1")


def test_equal_lengths_are_one() -> None:
    fields = response_fields([(b"Content-Length", b"5"), (b"content-length", b"5, 5")], b"1.1")
    assert [value for name, value in fields if name == b"content-length"] == [b"5"]
    assert content_length_of([]) is None


@pytest.mark.parametrize("status", [101, 103, 204])
def test_a_length_is_left_out_where_there_must_be_none(status: int) -> None:
    """RFC 9110 section 8.6."""
    assert b"content-length" not in dict(response_fields([(b"content-length", b"5")], b"1.1", status))


def test_a_transfer_encoding_of_http_1_0_is_refused() -> None:
    """RFC 9112 section 6.1."""
    with pytest.raises(BadAnswerError):
        response_fields([(b"transfer-encoding", b"chunked")], b"1.0")


def test_a_length_and_a_transfer_encoding_are_refused() -> None:
    with pytest.raises(BadAnswerError, match="content-length and transfer-encoding"):
        response_fields([(b"content-length", b"5"), (b"transfer-encoding", b"chunked")], b"1.1")


# RFC 9112 section 5: lines


@pytest.mark.parametrize("value", [b"a\r\nset-cookie: b", b"a\n b", b"a\rb", b"a\0b"])
def test_a_response_field_that_could_be_another_line_is_refused(value: bytes) -> None:
    with pytest.raises(BadAnswerError, match="control characters"):
        response_fields([(b"x-a", value)], b"1.1")


@pytest.mark.parametrize("name", [b"", b"x a", b"x-a ", b"x:a", b":status", b"x\xe9"])
def test_a_response_field_whose_name_is_no_token_is_refused(name: bytes) -> None:
    with pytest.raises(BadAnswerError, match="token"):
        response_fields([(name, b"a")], b"1.1")


# RFC 9110 section 6.5.1: trailers


@pytest.mark.parametrize("line", [(b"x" * 65_536, b"a"), (b"x-a", b"a" * 65_536)])
def test_a_response_field_that_http3_cannot_say_is_refused_and_one_of_trailers_is_dropped(
    line: tuple[bytes, bytes],
) -> None:
    with pytest.raises(BadAnswerError, match="longer than"):
        response_fields([line], b"1.1")
    assert trailer_fields([line, (b"x-b", b"b")]) == [(b"x-b", b"b")]


def test_the_longest_response_field_that_passes_can_be_encoded() -> None:
    passed = response_fields([(b"x" * 65_535, b"a"), (b"x-a", b"a" * 65_535)], b"1.1")
    assert len(pylsqpack.Encoder().encode(0, passed)[1]) > 65_535


def test_trailers_that_would_change_their_message_are_dropped() -> None:
    dropped = [
        b"content-length",
        b"Transfer-Encoding",
        b"host",
        b"set-cookie",
        b"x-forwarded-for",
        b"connection",
        b"content-type",
    ]
    fields = [(name, b"1") for name in dropped] + [(b"X-Sum", b" 7 "), (b"x a", b"1"), (b"x-b", b"a\nb")]
    assert trailer_fields(fields) == [(b"x-sum", b"7")]


# Of any fields


@given(field_lists)
def test_what_passes_to_the_origin_has_one_host_and_no_field_of_a_hop(fields: Headers) -> None:
    passed = request_fields(head(fields=[(name.lower(), value) for name, value in fields]), CLIENT)
    names = [name for name, _ in passed]
    assert names[0] == b"host"
    assert names.count(b"host") == 1
    assert names.count(b"cookie") <= 1
    assert not {*HOP_BY_HOP, b"content-length"} & set(names)


@given(field_lists)
def test_a_response_passes_in_order_or_is_refused(fields: Headers) -> None:
    try:
        passed = response_fields(fields, b"1.1")
    except BadAnswerError:
        return
    names = [name for name, _ in passed]
    assert names == [name.lower() for name in names]
    assert not set(HOP_BY_HOP) & set(names)
    left = iter(name.lower() for name, _ in fields)
    assert all(name in left for name in names if name not in (b"via", b"content-length"))


@given(st.text(max_size=30))
def test_a_host_has_nothing_that_means_something_elsewhere(authority: str) -> None:
    host = host_of(authority)
    assert host is None or not set(host) & set("@/\\?#, \t\r\n\0[]%")
