"""An origin proves that it has understood a WebSocket's handshake."""

import pytest

from mixedsched.core.h3.websockets import accept_value, why_not_accepted

KEY, ACCEPT = b"dGhlIHNhbXBsZSBub25jZQ==", b"s3pPLMBiTxaQ9kYGzzhZRbK+xOo="  # RFC 6455 section 1.3


def test_the_example_of_the_rfc() -> None:
    assert accept_value(KEY) == ACCEPT
    assert why_not_accepted(KEY, [(b"upgrade", b"websocket"), (b"sec-websocket-accept", b" " + ACCEPT)]) is None


@pytest.mark.parametrize("values", [[], [b""], [ACCEPT.lower()], [ACCEPT, ACCEPT]])
def test_another_answer_opens_nothing(values: list[bytes]) -> None:
    assert why_not_accepted(KEY, [(b"sec-websocket-accept", value) for value in values]) is not None
