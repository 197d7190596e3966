"""Log lines: what engine events add to an attempt, and what DLP adds to a line, beside structlog alone.

Lines are JSON, written by `orjson` to a file that keeps nothing. An attempt is the one of `benchmarks.attempt`.
"""

from __future__ import annotations

import asyncio
import io
import itertools
import logging
from typing import Any

import orjson
import structlog
import tenacity

from benchmarks.attempt import MESSAGES, REQUEST, Looped, Plain, _asyncio_pause, governed
from benchmarks.measure import abest_us, best_us, row
from tramapy import EngineEventObserver, RuleBasedDlpInterceptor, RuntimeEvent, Tramapy
from tramapy.hooks import catalogue
from tramapy.telemetry import AttemptContextObserver, DlpLogFilter, DlpProcessor, StructlogEventObserver

CALLS = 150
ANCHOR_US = 24.5  # tenacity alone, on the machine that the bars are for
LINE_ANCHOR_US = 5.8  # a line of structlog there


class Nowhere(io.RawIOBase):
    def write(self, data: Any) -> int:
        return len(data)


class TextNowhere(io.TextIOBase):
    def write(self, text: str) -> int:
        return len(text)


class ByHand(EngineEventObserver):
    """The least that writes the same line."""

    def __init__(self, log: Any) -> None:
        self._log = log

    def on_runtime_event(self, event: RuntimeEvent) -> None:
        if event.definition is catalogue.ATTEMPT_COMPLETED:
            self._log.info(event.name, **event.attributes())


def logger(*processors: Any) -> Any:
    return structlog.wrap_logger(
        structlog.BytesLogger(Nowhere()),
        processors=[
            structlog.processors.add_log_level,
            structlog.processors.TimeStamper(fmt="iso", utc=True),
            *processors,
            structlog.processors.JSONRenderer(serializer=orjson.dumps),
        ],
        wrapper_class=structlog.make_filtering_bound_logger(logging.INFO),
    ).bind()


def attempt_us() -> dict[str, float]:
    settings = governed()
    log = logger()

    def facade(*observers: EngineEventObserver) -> Tramapy:
        heard = {**settings, "event_observers": [*settings["event_observers"], *observers]}
        return Tramapy({"p": Plain()}, **heard)

    facades = {
        "base": facade(),
        "by hand": facade(ByHand(log)),
        "observer": facade(StructlogEventObserver(log)),
        "context": facade(AttemptContextObserver()),
    }

    def run(one: Tramapy) -> Any:
        def calls(count: int) -> None:
            for _ in range(count):
                one.complete(MESSAGES, model="m")

        return calls

    def line(count: int) -> None:
        for _ in range(count):
            log.info(
                "tramai",
                correlation_id="ce3d13fe584f496bbd9ac5ec767de69b",
                provider_id="p",
                attempt=0,
                effective_model="m",
                finish_reason="stop",
                duration_millis=0,
            )

    return best_us({name: run(one) for name, one in facades.items()} | {"line": line}, CALLS)


async def tenacity_us() -> float:
    provider = Looped(_asyncio_pause)
    retrying = tenacity.retry(stop=tenacity.stop_after_attempt(3))(provider.acomplete)

    def run(call: Any) -> Any:
        async def calls(count: int) -> None:
            for _ in range(count):
                await call(REQUEST)

        return calls

    found = await abest_us({"bare": run(provider.acomplete), "tenacity": run(retrying)}, CALLS)
    return found["tenacity"] - found["bare"]


def line_us() -> dict[str, float]:
    dlp = RuleBasedDlpInterceptor.with_default_rules()
    alone, redacted = logger(), logger(DlpProcessor(dlp))

    def known(log: Any) -> Any:
        def calls(count: int) -> None:
            for number in range(count):
                log.info("order paid", order=number, shop="main street", method="card", ok=True)

        return calls

    numbers = itertools.count()  # a short text that was clean is remembered

    def new(log: Any, text: str) -> Any:
        def calls(count: int) -> None:
            for number in itertools.islice(numbers, count):
                log.info("order paid", order=number, shop="main street", note=f"{text} {number}")

        return calls

    return best_us(
        {
            "alone": known(alone),
            "known": known(redacted),
            "alone, new": new(alone, "left at the door of house"),
            "new": new(redacted, "left at the door of house"),
            "hit": new(redacted, "write to ada@example.com, order"),
        },
        CALLS,
    )


def record_us() -> dict[str, float]:
    dlp = RuleBasedDlpInterceptor.with_default_rules()
    numbers = itertools.count()

    def standard(*filters: logging.Filter) -> Any:
        handler = logging.StreamHandler(TextNowhere())
        handler.setFormatter(logging.Formatter("%(asctime)s %(levelname)s %(name)s %(message)s"))
        for each in filters:
            handler.addFilter(each)
        log = logging.Logger("shop")  # noqa: LOG001
        log.addHandler(handler)

        def calls(count: int) -> None:
            for number in itertools.islice(numbers, count):
                log.info("order %d is paid", number)

        return calls

    return best_us({"alone": standard(), "filtered": standard(DlpLogFilter(dlp))}, CALLS)


def main() -> None:
    """Print the attempt's line, and lines with and without DLP."""
    attempts = attempt_us()
    scale = asyncio.run(tenacity_us()) / ANCHOR_US
    base = attempts["base"]
    print(
        f"Log lines: CPU; bars are for a machine where tenacity costs {ANCHOR_US} us, and a line of structlog "
        f"in a loop {LINE_ANCHOR_US}"
    )
    print(row("tenacity alone", scale * ANCHOR_US, "us"))
    print(row("a line of structlog, JSON, in a loop", attempts["line"], "us"))
    print(
        row(
            "attempt, observer at INFO: one line more",
            attempts["observer"] - base,
            "us",
            round(10 * scale, 1),
        )
    )
    print(row("attempt, the same line by hand", attempts["by hand"] - base, "us"))
    print(row("attempt, ids for lines of the provider call", attempts["context"] - base, "us"))
    lines = line_us()
    print(row("DLP, default rules: words that are known", lines["known"] - lines["alone"], "us"))
    print(
        row("DLP, default rules: one text of 30 characters is new", lines["new"] - lines["alone, new"], "us")
    )
    print(row("DLP, default rules: that text has a match", lines["hit"] - lines["alone, new"], "us"))
    records = record_us()
    print(row("a record of the standard library", records["alone"], "us"))
    print(row("DLP, default rules: a new message", records["filtered"] - records["alone"], "us"))


if __name__ == "__main__":
    main()
