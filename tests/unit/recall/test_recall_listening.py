"""The listening socket of a service."""

import socket

import pytest

from afterturn.consumers import serving


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost"])
def test_answers_are_sent_without_delay(host: str) -> None:
    """An event loop turns Nagle's algorithm off only where the socket names its protocol."""
    with serving._bound(host, 0) as bound:
        assert bound.proto == socket.IPPROTO_TCP


def test_a_port_that_is_taken_is_named() -> None:
    with serving._bound("127.0.0.1", 0) as bound:
        bound.listen()
        with pytest.raises(serving.CannotListen, match="in use"):
            serving._bound("127.0.0.1", bound.getsockname()[1])
