"""`DlpLogFilter`: nothing that DLP would take out of an answer is in a record that a handler gets."""

from __future__ import annotations

import asyncio
import io
import json
import logging
import logging.handlers
import pickle
import queue
import threading
from collections.abc import Callable
from typing import Any

import anyio
import anyio.lowlevel
import pytest

from tests.telemetry.log_rig import (
    CANARY,
    NUMBERS,
    VALUES,
    Changing,
    Classless,
    FailingDict,
    Raising,
    Redacting,
    chain,
)
from tramapy import DlpInspectionError, RuleBasedDlpInterceptor
from tramapy.telemetry import DlpLogFilter
from tramapy.testing import assert_no_canary

LAYOUT = "%(name)s %(threadName)s %(processName)s %(message)s"


class Everything(logging.Formatter):
    """Shows all that a record holds, as formatters that write JSON do."""

    def format(self, record: logging.LogRecord) -> str:
        super().format(record)
        return json.dumps({name: repr(value) for name, value in vars(record).items()})


def _copying(dlp: Any) -> DlpLogFilter:
    """Return a filter that gives copies, as on Python 3.12 and later."""
    made = DlpLogFilter(dlp)
    made._may_replace = True
    return made


def _changing(dlp: Any) -> DlpLogFilter:
    """Return a filter that changes records, as on Python 3.11."""
    made = DlpLogFilter(dlp)
    made._may_replace = False
    return made


class Copies(logging.Handler):
    """Does what a handler of Python 3.12 does with what a filter gives."""

    def __init__(self, made: DlpLogFilter, file: io.StringIO) -> None:
        super().__init__()
        self.made = made
        self.inner = logging.StreamHandler(file)

    def setFormatter(self, fmt: logging.Formatter | None) -> None:  # noqa: N802
        self.inner.setFormatter(fmt)

    def handle(self, record: logging.LogRecord) -> bool:
        given = self.made.filter(record)
        assert given
        self.inner.emit(given if isinstance(given, logging.LogRecord) else record)
        return True

    def emit(self, record: logging.LogRecord) -> None:
        raise AssertionError


class Log:
    """A logger that nobody else has, with one handler, and what that wrote."""

    def __init__(self, made: DlpLogFilter, formatter: logging.Formatter | None = None) -> None:
        self.file = io.StringIO()
        self.handler: logging.Handler
        if made._may_replace:
            self.handler = Copies(made, self.file)
        else:
            self.handler = logging.StreamHandler(self.file)
            self.handler.addFilter(made)
        self.handler.setFormatter(formatter)
        self.logger = logging.Logger("shop")  # noqa: LOG001
        self.logger.addHandler(self.handler)

    @property
    def text(self) -> str:
        return self.file.getvalue()


@pytest.fixture(params=[_changing, _copying], ids=["in place", "copies"])
def filtering(request: pytest.FixtureRequest) -> Callable[[Any], DlpLogFilter]:
    """A filter as on each version of Python."""
    made: Callable[[Any], DlpLogFilter] = request.param
    return made


@pytest.mark.parametrize("value", (VALUES | NUMBERS).values(), ids=(VALUES | NUMBERS).keys())
@pytest.mark.parametrize("formatter", [None, Everything()], ids=["message", "everything"])
def test_a_value_is_redacted_wherever_it_stands(
    filtering: Callable[[Any], DlpLogFilter], value: Any, formatter: logging.Formatter | None
) -> None:
    log = Log(filtering(Redacting()), formatter)
    log.logger.info("a %s", value)
    log.logger.info("a %(field)s", {"field": value})
    log.logger.info(value)
    log.logger.info("a", extra={"field": value, "nested": {"a": [value]}})
    assert_no_canary((CANARY, "4111111111111111"), log.text)
    shown_count = 3 if CANARY in f"{value}" or "4111111111111111" in f"{value}" else 0
    assert log.text.count("[X]") + log.text.count("[N]") >= shown_count


def test_extra_attributes_are_redacted_by_name_and_value(filtering: Callable[[Any], DlpLogFilter]) -> None:
    log = Log(filtering(Redacting()), Everything())
    log.logger.info("a", extra={CANARY: 1, "password": CANARY})
    shown = json.loads(log.text)
    assert shown["[X]"] == "1"
    assert shown["password"] == "'[X]'"
    assert_no_canary(CANARY, log.text)


def test_an_exception_is_redacted(filtering: Callable[[Any], DlpLogFilter]) -> None:
    for formatter in (None, Everything()):
        log = Log(filtering(Redacting()), formatter)
        log.logger.error("failed", exc_info=chain())
        log.logger.error(chain())
        try:
            raise ValueError(CANARY)
        except ValueError:
            log.logger.exception("failed")
        assert_no_canary(CANARY, log.text)
        assert "ValueError: [X]" in log.text
        assert "member [X]" in log.text


def test_an_exception_that_a_formatter_rendered_before_is_redacted(
    filtering: Callable[[Any], DlpLogFilter],
) -> None:
    record = logging.makeLogRecord({"msg": "a", "levelno": 20, "exc_text": f"ValueError: {CANARY}"})
    log = Log(filtering(Redacting()))
    log.logger.handle(record)
    both = logging.makeLogRecord(
        {"msg": "a", "levelno": 20, "exc_info": (ValueError, ValueError(CANARY), None)}
    )
    logging.Formatter().format(both)
    log.logger.handle(both)
    assert log.text == "a\nValueError: [X]\na\nValueError: [X]\n"


def test_an_exc_info_of_nothing_shows_nothing(filtering: Callable[[Any], DlpLogFilter]) -> None:
    log = Log(filtering(Redacting()))
    log.logger.error("a", exc_info=(None, None, None))
    assert log.text == "a\n"


def test_a_stack_and_names_are_redacted(filtering: Callable[[Any], DlpLogFilter]) -> None:
    log = Log(filtering(Redacting()), logging.Formatter(LAYOUT))
    log.logger.name = f"shop.{CANARY}"
    thread = threading.Thread(
        target=lambda: log.logger.info("canary-0f5e-77aa", stack_info=True), name=f"for {CANARY}"
    )
    thread.start()
    thread.join()
    first, *stack = log.text.splitlines()
    assert first == "shop.[X] for [X] MainProcess [X]"
    assert "Stack (most recent call last):" in stack
    assert_no_canary(CANARY, log.text)


@pytest.mark.parametrize(
    ("message", "arguments", "expected"),
    [
        ("a %s", (CANARY,), "a [X]"),
        ("a %s-%s-%s", ("canary", "0f5e", "77aa"), "a [X]"),
        ("a %d", (CANARY,), "a %d ('[X]',)"),
        ("a", (CANARY,), "a ('[X]',)"),
        ("a %(b)s", ({"c": CANARY},), "a %(b)s {'c': '[X]'}"),
        ("100%", (), "100%"),
        (f"100% {CANARY}", (), "100% [X]"),
    ],
    ids=["one", "parts", "misfit", "too many", "missing", "percent", "percent and more"],
)
def test_a_message_is_filled_in_before_the_inspection(
    filtering: Callable[[Any], DlpLogFilter], message: str, arguments: tuple[Any, ...], expected: str
) -> None:
    log = Log(filtering(Redacting()))
    log.logger.info(message, *arguments)
    assert log.text == f"{expected}\n"


class Braces(logging.LogRecord):
    def getMessage(self) -> str:  # noqa: N802
        return str(self.msg).format(*self.args or ())


@pytest.mark.parametrize("arguments", [(f"{{{CANARY}}}",), ()], ids=["arguments", "none"])
def test_records_that_format_with_braces_are_formatted_once(
    filtering: Callable[[Any], DlpLogFilter], arguments: tuple[str, ...]
) -> None:
    log = Log(filtering(Redacting()))
    message = "a {}" if arguments else f"a {{{{{CANARY}}}}}"
    record = Braces("shop", 20, "", 0, message, arguments, None)
    log.logger.handle(record)
    assert log.text == "a {[X]}\n"
    assert type(record) is (Braces if log.handler.__class__ is Copies else logging.LogRecord)


def test_a_message_of_an_object_is_asked_for_once(filtering: Callable[[Any], DlpLogFilter]) -> None:
    log = Log(filtering(Redacting()))
    log.logger.info("%r", Changing())
    log.logger.info(Changing())
    assert log.text == "harmless\nharmless\n"


def test_a_clean_record_is_left_alone(filtering: Callable[[Any], DlpLogFilter]) -> None:
    record = logging.makeLogRecord({"msg": "a", "levelno": 20, "name": "shop"})
    before = dict(vars(record))
    assert filtering(Redacting()).filter(record) is True
    assert vars(record) == before


def test_a_copy_leaves_the_record_to_the_other_handlers() -> None:
    record = logging.makeLogRecord(
        {"msg": "a %s", "args": (CANARY,), "exc_info": (ValueError, ValueError("x"), None), "field": CANARY}
    )
    before = dict(vars(record))
    given = _copying(Redacting()).filter(record)
    assert isinstance(given, logging.LogRecord)
    assert given.getMessage() == "a [X]"
    assert_no_canary(CANARY, given)
    assert vars(record) == before


def test_in_place_later_handlers_see_the_redacted_record_and_earlier_ones_do_not() -> None:
    earlier, later = io.StringIO(), io.StringIO()
    log = Log(_changing(Redacting()))
    log.logger.handlers = [logging.StreamHandler(earlier), log.handler, logging.StreamHandler(later)]
    try:
        raise ValueError(CANARY)
    except ValueError:
        log.logger.exception("a %s", CANARY)
    assert CANARY in earlier.getvalue()
    assert log.text == later.getvalue()
    assert log.text.startswith("a [X]\n")
    assert log.text.endswith("ValueError: [X]\n")


def test_a_filter_of_this_version_of_python_redacts_what_its_handler_writes() -> None:
    file = io.StringIO()
    handler = logging.StreamHandler(file)
    handler.addFilter(DlpLogFilter(Redacting()))
    parent, child = logging.Logger("shop"), logging.Logger("shop.till")  # noqa: LOG001
    child.parent = parent
    parent.addHandler(handler)
    child.info("a %s", CANARY)
    assert file.getvalue() == "a [X]\n"


def test_a_filter_of_a_logger_redacts_for_all_its_handlers() -> None:
    file = io.StringIO()
    logger = logging.Logger("shop")  # noqa: LOG001
    logger.addFilter(DlpLogFilter(Redacting()))
    logger.handlers = [logging.StreamHandler(file), logging.StreamHandler(file)]
    logger.info("a %s", CANARY)
    assert file.getvalue() == "a [X]\n" * 2


@pytest.mark.parametrize("place", ["queue handler", "handler behind"])
def test_it_works_with_a_queue(place: str) -> None:
    file = io.StringIO()
    records: queue.SimpleQueue[Any] = queue.SimpleQueue()
    before, behind = logging.handlers.QueueHandler(records), logging.StreamHandler(file)
    (before if place == "queue handler" else behind).addFilter(DlpLogFilter(Redacting()))
    listener = logging.handlers.QueueListener(records, behind)
    listener.start()
    logger = logging.Logger("shop")  # noqa: LOG001
    logger.addHandler(before)
    try:
        raise ValueError(CANARY)
    except ValueError:
        logger.exception("a %s", CANARY, extra={"field": CANARY})
    listener.stop()
    assert file.getvalue().startswith("a [X]\n")
    assert file.getvalue().endswith("ValueError: [X]\n")


def test_a_redacted_record_can_be_sent_away(filtering: Callable[[Any], DlpLogFilter]) -> None:
    record = logging.makeLogRecord({"msg": "a %s", "args": (CANARY,), "field": CANARY})
    given = filtering(Redacting()).filter(record)
    sent = given if isinstance(given, logging.LogRecord) else record
    assert_no_canary(CANARY, pickle.dumps(vars(sent)))


def test_a_record_whose_inspection_fails_says_so_and_nothing_else(
    filtering: Callable[[Any], DlpLogFilter],
) -> None:
    log = Log(filtering(Raising()), Everything())
    record = logging.makeLogRecord(
        {
            **{
                "levelno": 20,
                "msg": "a %s",
                "args": (CANARY,),
                "exc_info": (ValueError, ValueError(CANARY), None),
            },
            **{"field": CANARY, CANARY: 1, "stack_info": CANARY, "message": CANARY, "threadName": CANARY},
        }
    )
    log.logger.handle(record)
    shown = json.loads(log.text)
    assert shown["msg"] == "'log line withheld: its inspection failed (DlpInspectionError)'"
    assert "field" not in shown
    assert_no_canary(CANARY, log.text)


def test_attributes_that_a_formatter_asks_for_stay_by_name(
    filtering: Callable[[Any], DlpLogFilter],
) -> None:
    made = filtering(RuleBasedDlpInterceptor.with_default_rules())
    log = Log(made, logging.Formatter("%(user)s %(message)s"))
    log.logger.info("fine", extra={"user": "ada"})

    class Failing:
        def __str__(self) -> str:
            raise DlpInspectionError("no")

    log.logger.info("%s", Failing(), extra={"user": "eve"})
    assert log.text == (
        "ada fine\n[withheld] log line withheld: its inspection failed (DlpInspectionError)\n"
    )


def test_nothing_is_raised_into_the_program_but_a_cancellation(
    filtering: Callable[[Any], DlpLogFilter],
) -> None:
    class Broken:
        def __str__(self) -> str:
            raise ZeroDivisionError(CANARY)

    log = Log(filtering(Redacting()))
    log.logger.info("%s", Broken())
    assert log.text == "log line withheld: its inspection failed (ZeroDivisionError)\n"
    with pytest.raises(KeyboardInterrupt):
        Log(filtering(Raising(lambda _: KeyboardInterrupt()))).logger.info(CANARY)


class FailingRecord(logging.LogRecord):
    def __getattribute__(self, name: str) -> Any:
        if name == "msg":
            raise ZeroDivisionError(CANARY)
        return super().__getattribute__(name)


@pytest.mark.parametrize(
    ("kind", "changes"),
    [
        (logging.LogRecord, {"msg": FailingDict(a=CANARY)}),
        (logging.LogRecord, {"msg": {"event": CANARY}, "args": Classless()}),
        (logging.LogRecord, {"msg": "%s", "args": (Classless(),)}),
        (logging.LogRecord, {"msg": Classless()}),
        (FailingRecord, {"msg": CANARY}),
    ],
    ids=["dict", "args", "argument", "message", "record"],
)
def test_an_object_that_fails_in_every_way_withholds_its_record_alone(
    filtering: Callable[[Any], DlpLogFilter], kind: type[logging.LogRecord], changes: dict[str, Any]
) -> None:
    record = kind("shop", logging.INFO, "p.py", 1, "", (), None)
    vars(record).update(changes)
    given = filtering(Redacting()).filter(record)
    assert_no_canary(CANARY, str(vars(record if given is True else given)))


def test_an_interceptor_that_logs_to_the_same_handler_ends(
    filtering: Callable[[Any], DlpLogFilter],
) -> None:
    class Chatty(Redacting):
        def inspect(self, context: Any, text: str) -> Any:
            log.logger.info("inspecting %s", text)
            return super().inspect(context, text)

    log = Log(filtering(Chatty()))
    log.logger.info("a %s", CANARY)
    assert log.text.endswith("\na [X]\n")
    assert "log line withheld: its inspection failed\n" in log.text
    assert_no_canary(CANARY, log.text)


def test_an_event_of_structlog_stays_one(filtering: Callable[[Any], DlpLogFilter]) -> None:
    logger = logging.getLogger("shop")
    line = {"event": CANARY, "exc_info": ValueError(CANARY), "level": "info"}
    for dlp, expected in (
        (Redacting(), {"event": "[X]", "level": "info", "exception": "ValueError: [X]"}),
        (
            Raising(),
            {
                "event": "log line withheld: its inspection failed",
                "dlp_failure": "rejected",
                "dlp_error_type": "DlpInspectionError",
                "level": "info",
            },
        ),
    ):
        record = logging.makeLogRecord({"msg": line, "_logger": logger, "_name": "info"})
        given = filtering(dlp).filter(record)
        clean: Any = given if isinstance(given, logging.LogRecord) else record
        assert clean.msg == expected
        assert (clean._logger, clean._name) == (logger, "info")


def test_it_works_from_many_threads(filtering: Callable[[Any], DlpLogFilter]) -> None:
    log = Log(filtering(Redacting()))

    def work() -> None:
        for _ in range(50):
            log.logger.info("a %s", CANARY)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert log.text == "a [X]\n" * 200


@pytest.mark.parametrize("backend", ["asyncio", "trio"])
def test_it_works_on_an_event_loop(backend: str) -> None:
    log = Log(_changing(Redacting()), logging.Formatter("%(message)s"))

    async def task() -> None:
        await anyio.lowlevel.checkpoint()
        log.logger.info("a %s", CANARY)

    async def main() -> None:
        async with anyio.create_task_group() as tasks:
            for _ in range(10):
                tasks.start_soon(task)

    anyio.run(main, backend=backend)
    assert log.text == "a [X]\n" * 10


def test_the_name_of_a_task_is_redacted(filtering: Callable[[Any], DlpLogFilter]) -> None:
    record = logging.makeLogRecord({"msg": "a", "levelno": 20, "taskName": f"for {CANARY}"})
    log = Log(filtering(Redacting()), logging.Formatter("%(taskName)s"))
    log.logger.handle(record)
    assert log.text == "for [X]\n"


def test_asyncio_debug_records_keep_their_shape() -> None:
    # its loggers pass extra objects, which become what they show
    log = Log(_changing(Redacting()), Everything())

    async def main() -> None:
        log.logger.warning("slow", extra={"task": asyncio.current_task()})

    asyncio.run(main())
    assert "Task pending" in json.loads(log.text)["task"]


@pytest.mark.parametrize("make", [_copying, _changing])
def test_a_telling_name_of_a_mapping_of_arguments_counts(make: Callable[[Any], DlpLogFilter]) -> None:
    made = make(RuleBasedDlpInterceptor.with_default_rules())
    for text, expected in (
        ("login %(password)s", "login [REDACTED:password]"),
        ("%(count)d of %(user)s", "12 of ann"),
    ):
        fields = {"password": "hunter2 and more", "count": 12, "user": "ann"}
        record = logging.LogRecord("n", logging.INFO, "p", 1, text, (fields,), None)
        given = made.filter(record)
        shown = given if isinstance(given, logging.LogRecord) else record
        assert shown.getMessage() == expected
