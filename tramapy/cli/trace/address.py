"""`Address`: where `tramapy trace --listen` listens."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

__all__ = ["DEFAULT_PORT", "Address", "AddressError", "parse_address"]

DEFAULT_PORT: Final = 4318
"""The port that exporters of OTLP over HTTP use unless told otherwise."""


class AddressError(ValueError):
    """What was given is no address; the message says what one looks like."""


@dataclass(frozen=True, slots=True)
class Address:
    """Where to listen."""

    host: str
    port: int


def parse_address(text: str | None) -> Address:
    """Read `HOST:PORT`, `HOST`, `:PORT`, `PORT` or nothing; an IPv6 address stands in brackets.

    Raises:
        AddressError: It is none of these.
    """
    if not text:
        return Address("127.0.0.1", DEFAULT_PORT)
    if text.isascii() and text.isdigit():
        text = f":{text}"
    host, colon, port = text.rpartition(":") if not text.endswith("]") else (text, "", "")
    if not colon:
        host, port = text, str(DEFAULT_PORT)
    if host.startswith("[") and host.endswith("]"):
        host = host[1:-1]
    elif ":" in host:
        raise AddressError("--listen takes HOST:PORT; put an IPv6 address in brackets, such as [::1]:4318")
    if not (port.isascii() and port.isdigit() and int(port[:6]) < 65_536 and len(port) < 6):
        raise AddressError("--listen takes HOST:PORT, with a port from 0 to 65535")
    return Address(host or "127.0.0.1", int(port))
