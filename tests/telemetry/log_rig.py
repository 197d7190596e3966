"""What the tests of logs share: a plain fake of a DLP interceptor, and values that hold a canary."""

from __future__ import annotations

import collections
import datetime
import decimal
import enum
import logging
import uuid
from collections.abc import Callable
from typing import Any

from tramapy import DlpContext, DlpInspectionError, DlpInterceptor, DlpRedaction, DlpResult

CANARY = "canary-0f5e-77aa"  # plainly fake, and unlike anything that is logged by itself
NUMBER = 4_111_111_111_111_111


class Redacting(DlpInterceptor):
    """Redacts the canary, and the number of a card that is in every test of payments."""

    def __init__(self) -> None:
        self.texts: list[str] = []

    def inspect(self, context: DlpContext, text: str) -> DlpResult:
        self.texts.append(text)
        clean = text.replace(CANARY, "[X]").replace(str(NUMBER), "[N]")
        return DlpResult(clean, [] if clean == text else [DlpRedaction("canary", 1)])


class Raising(DlpInterceptor):
    """Fails on every text that holds the canary."""

    def __init__(self, make: Callable[[str], BaseException] = DlpInspectionError) -> None:
        self.make = make

    def inspect(self, context: DlpContext, text: str) -> DlpResult:
        if CANARY in text:
            raise self.make(text)
        return DlpResult(text)


class Shown:
    def __repr__(self) -> str:
        return f"Shown({CANARY})"


class Changing:
    """Shows something else each time."""

    def __init__(self) -> None:
        self.count = 0

    def __repr__(self) -> str:
        self.count += 1
        return "harmless" if self.count == 1 else CANARY


class FailingDict(dict[str, Any]):
    """A dict that fails in every way in which it can be asked."""

    def _fail(self, *_: object) -> Any:
        raise ZeroDivisionError(CANARY)

    get = keys = items = __iter__ = __getitem__ = __contains__ = _fail


class Classless:
    """Fails where it is asked for its class, and for its length."""

    @property
    def __class__(self) -> type[Any]:  # type: ignore[override]  # what proxies do
        raise ZeroDivisionError(CANARY)

    def __len__(self) -> int:
        raise ZeroDivisionError(CANARY)


class LoggerLike:
    """Says that it is a logger, and shows more than those do."""

    @property
    def __class__(self) -> type[Any]:  # type: ignore[override]  # what proxies do
        return logging.Logger

    def __repr__(self) -> str:
        return CANARY


class Pretending:
    """A proxy that says that it is a str."""

    @property  # type: ignore[misc]
    def __class__(self) -> type[str]:  # type: ignore[override]
        return str

    def __str__(self) -> str:
        return CANARY

    __repr__ = __str__


class Adapting:
    def __structlog__(self) -> dict[str, Any]:
        return {"inside": CANARY}


class Text(str):
    """A str that shows something else than it holds."""

    def __str__(self) -> str:
        return "harmless"

    __repr__ = __str__


class Loud(enum.Enum):
    ONE = CANARY


class LoudText(enum.StrEnum):
    ONE = CANARY


class LoudNumber(enum.IntEnum):
    ONE = NUMBER


class Lying(dict[str, Any]):
    def items(self) -> Any:
        return {}.items()


Pair = collections.namedtuple("Pair", "left right")

VALUES: dict[str, Any] = {
    "str": CANARY,
    "str subclass": Text(CANARY),
    "within": f"a {CANARY} b",
    "bytes": CANARY.encode(),
    "bytes beside others": b"\xff " + CANARY.encode(),
    "bytearray": bytearray(CANARY.encode()),
    "memoryview": memoryview(CANARY.encode()),
    "dict": {"a": CANARY},
    "key": {CANARY: 1},
    "key of bytes": {CANARY.encode(): 1},
    "key of an object": {Shown(): 1},
    "key of a pair": {(CANARY, 1): 1},
    "dict subclass": Lying(a=CANARY),
    "ordered dict": collections.OrderedDict(a=CANARY),
    "list": [CANARY],
    "tuple": (1, CANARY),
    "named tuple": Pair(1, CANARY),
    "set": {CANARY},
    "frozenset": frozenset({CANARY}),
    "deque": collections.deque([CANARY]),
    "deep": [[{"a": [{"b": (CANARY,)}]}]],
    "object": Shown(),
    "proxy": Pretending(),
    "adapting": Adapting(),
    "enum": Loud.ONE,
    "str enum": LoudText.ONE,
    "exception": ValueError(CANARY),
    "class": type(CANARY, (), {}),
    "timezone": datetime.datetime(2026, 1, 2, tzinfo=datetime.timezone(datetime.timedelta(0), CANARY)),
}

NUMBERS: dict[str, Any] = {
    "int": NUMBER,
    "negative": -NUMBER,
    "float": float(NUMBER),
    "int enum": LoudNumber.ONE,
    "key": {NUMBER: 1},
    "decimal": decimal.Decimal(NUMBER),
}

HARMLESS: tuple[Any, ...] = (
    *(None, True, False, 0, 17, -999_999, 1_000_000, 0.25, 1e9, float("inf")),
    *("", "words", b"words", b"\xff", [], {}, ()),
    *(datetime.date(2026, 1, 2), datetime.timedelta(seconds=3), decimal.Decimal("1.5"), uuid.UUID(int=7)),
    datetime.datetime(2026, 1, 2, 3, 4, tzinfo=datetime.UTC),
)


def chain() -> Exception:
    """Return an exception with a cause, a context, notes and a group, each with the canary."""
    cause = ValueError(f"cause {CANARY}")
    cause.add_note(f"note {CANARY}")
    try:
        try:
            raise KeyError(CANARY)
        except KeyError:
            raise ExceptionGroup("group", [OSError(f"member {CANARY}"), TypeError("plain")]) from None
    except ExceptionGroup as error:
        group = error
    group.__context__ = LookupError(CANARY)
    try:
        raise RuntimeError(f"outer {CANARY}") from group
    except RuntimeError as error:
        error.__context__ = cause
        return error
