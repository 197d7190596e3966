"""Our errors as a vendor's client raises them: both of ours and of its own, so that either `except` catches them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from tramapy.clients.http_messages import HttpRequest
from tramapy.clients.remembered import remembered
from tramapy.errors import ProviderError, ProviderTimeoutError, TramapyError
from tramapy.wire.http_library import HttpLibrary

__all__ = ["VendorErrors", "made_theirs", "vendor_error"]


@dataclass(frozen=True, slots=True, kw_only=True)
class VendorErrors:
    """The classes of a vendor's client.

    Args:
        base: Of all its errors; one that is nothing more passes through it at once.
        connection: The provider was not reached, or failed without an answer.
        timeout: It took too long.
    """

    base: type[Exception]
    connection: type[Exception]
    timeout: type[Exception]


def vendor_error(
    error: BaseException, vendor: VendorErrors | None, library: HttpLibrary, request: HttpRequest
) -> BaseException:
    """Return an error of ours as one that is the vendor's, too; any other as it is.

    What the vendor's class calls `request` is a copy without body and headers, and without what may be a key in the
    URL: these hold the prompt and the key.

    Args:
        error: What was raised.
        vendor: The classes; None where the client is unknown.
        library: Of the request.
        request: What the client wanted to send.
    """
    if vendor is None or not isinstance(error, TramapyError) or isinstance(error, vendor.base):
        return error
    if not isinstance(error, ProviderError):
        return made_theirs(error, vendor.base)
    # a URL without a host is none: what is in front of its @ is in no place that could be taken away
    url = request.url.copy_with(query=None, userinfo=b"") if request.url.host else ""
    bare = library.Request(request.method, url)
    kind = vendor.timeout if isinstance(error, ProviderTimeoutError) else vendor.connection
    no_answer = dict.fromkeys(("body", "code", "param", "type"))
    return made_theirs(error, kind, {**no_answer, "message": str(error), "request": bare})


def made_theirs(
    error: TramapyError, kind: type[Exception], fields: Mapping[str, object] = MappingProxyType({})
) -> TramapyError:
    """Return an error of ours as one of a vendor's class, too.

    Args:
        error: The error.
        kind: The class.
        fields: What errors of that class have.
    """
    made: Any = _class_of(type(error), kind)
    both: TramapyError = made.__new__(made)
    both.args = error.args
    both.__dict__.update({**fields, **error.__dict__})
    both.__cause__ = error.__cause__
    return both


@remembered
def _class_of(ours: type[TramapyError], theirs: type[Exception]) -> type[Exception]:
    def reduce(error: TramapyError) -> object:
        # a class that was made here has no name to find it by, and the request is nobody's to send on
        plain = ours.__new__(ours)
        plain.args = error.args
        plain.__dict__.update(
            {name: value for name, value in error.__dict__.items() if name not in _THEIR_FIELDS}
        )
        return plain.__reduce__()

    return type(
        ours.__name__,
        (ours, theirs),
        {
            "__module__": ours.__module__,
            "__qualname__": ours.__qualname__,
            "__doc__": ours.__doc__,
            "__reduce__": reduce,
        },
    )


_THEIR_FIELDS = frozenset({"body", "code", "param", "type", "message", "request"})
