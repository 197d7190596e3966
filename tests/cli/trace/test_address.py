from __future__ import annotations

import pytest

from tramapy.cli.trace.address import Address, AddressError, parse_address


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (None, Address("127.0.0.1", 4318)),
        ("", Address("127.0.0.1", 4318)),
        ("localhost", Address("localhost", 4318)),
        ("127.0.0.1:0", Address("127.0.0.1", 0)),
        (":9000", Address("127.0.0.1", 9000)),
        ("9000", Address("127.0.0.1", 9000)),
        ("[::1]", Address("::1", 4318)),
        ("[::1]:65535", Address("::1", 65535)),
    ],
)
def test_an_address_is_read(text: str | None, expected: Address) -> None:
    assert parse_address(text) == expected


@pytest.mark.parametrize(
    "text", ["localhost:", "localhost:x", "localhost:65536", "localhost:-1", "h:0004318", "h:²", "65536"]
)
def test_a_port_that_cannot_be_is_refused(text: str) -> None:
    with pytest.raises(AddressError, match="a port from 0 to 65535"):
        parse_address(text)


@pytest.mark.parametrize("text", ["::1", "::1:4318", "http://127.0.0.1:4318"])
def test_an_ipv6_address_without_brackets_is_refused(text: str) -> None:
    with pytest.raises(AddressError, match="in brackets"):
        parse_address(text)
