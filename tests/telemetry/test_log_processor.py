"""`DlpProcessor`: nothing that DLP would take out of an answer is in a line of structlog."""

from __future__ import annotations

import asyncio
import io
import json
import logging
import threading
from collections.abc import Callable, Iterator
from typing import Any

import anyio
import anyio.lowlevel
import pytest
import structlog
from hypothesis import given
from hypothesis import strategies as st

from tests.telemetry.log_rig import (
    CANARY,
    HARMLESS,
    NUMBER,
    NUMBERS,
    VALUES,
    Changing,
    Classless,
    FailingDict,
    LoggerLike,
    Raising,
    Redacting,
    chain,
)
from tramapy import DlpContext, DlpInspectionError, DlpInterceptor, DlpResult, RuleBasedDlpInterceptor
from tramapy.telemetry import DlpProcessor
from tramapy.telemetry.log_walk import TOO_DEEP
from tramapy.testing import assert_no_canary


@pytest.fixture(autouse=True)
def _reset() -> Iterator[None]:
    yield
    structlog.reset_defaults()


@pytest.fixture(scope="module")
def rules() -> RuleBasedDlpInterceptor:
    return RuleBasedDlpInterceptor.with_default_rules()


class Lines:
    """A logger of structlog's with a processor before a renderer, and the lines that it wrote."""

    def __init__(self, processor: Any, *, before: tuple[Any, ...] = (), renderer: Any = None) -> None:
        self._file = io.StringIO()
        self.log = structlog.wrap_logger(
            structlog.PrintLogger(self._file),
            processors=[
                *(structlog.processors.add_log_level, *before, processor),
                structlog.processors.JSONRenderer() if renderer is None else renderer,
            ],
            wrapper_class=structlog.make_filtering_bound_logger(0),
        )

    @property
    def text(self) -> str:
        return self._file.getvalue()

    @property
    def last(self) -> dict[str, Any]:
        line: dict[str, Any] = json.loads(self.text.splitlines()[-1])
        return line


RENDERERS: dict[str, Callable[[], Any]] = {
    "json": structlog.processors.JSONRenderer,
    "logfmt": lambda: structlog.processors.LogfmtRenderer(bool_as_flag=False),
    "key=value": lambda: structlog.processors.KeyValueRenderer(sort_keys=True),
    "console": lambda: structlog.dev.ConsoleRenderer(colors=False),
}


@pytest.mark.parametrize("renderer", RENDERERS.values(), ids=RENDERERS.keys())
@pytest.mark.parametrize("value", VALUES.values(), ids=VALUES.keys())
def test_a_value_is_redacted_wherever_it_stands(value: Any, renderer: Callable[[], Any]) -> None:
    lines = Lines(DlpProcessor(Redacting()), renderer=renderer())
    lines.log.bind(bound=value).info("an event", field=value, nested=[value], mapped={"a": value})
    lines.log.info(value)
    assert_no_canary(CANARY, lines.text)
    assert lines.text.count("[X]") >= 5


@pytest.mark.parametrize("value", NUMBERS.values(), ids=NUMBERS.keys())
def test_a_number_is_text_to_whoever_reads_it(value: Any) -> None:
    lines = Lines(DlpProcessor(Redacting()))
    lines.log.info("paid", field=value)
    assert str(NUMBER) not in lines.text
    assert "[N]" in lines.text


def test_a_key_is_redacted_and_keys_that_become_one_are_told_apart() -> None:
    lines = Lines(DlpProcessor(Redacting()))
    lines.log.info("an event", **{CANARY: 1, "[X]": 2, f"{CANARY} ": 3})
    assert lines.last == {"[X]": 1, "[X]#1": 2, "[X] ": 3, "event": "an event", "level": "info"}


def test_keys_that_are_no_text_stay() -> None:
    clean = DlpProcessor(Redacting())(None, "info", {"event": {None: 1, True: 2, 3: 4, 1.5: 6}})
    assert clean == {"event": {None: 1, True: 2, 3: 4, 1.5: 6}}


@pytest.mark.parametrize("value", HARMLESS, ids=repr)
def test_what_is_harmless_stays_as_it_is(value: Any) -> None:
    clean = DlpProcessor(Redacting())(None, "info", {"event": "e", "field": value})
    assert clean == {"event": "e", "field": value}
    assert type(clean["field"]) is type(value)


def test_an_integer_of_any_length_is_no_reason_to_fail() -> None:
    clean = DlpProcessor(Redacting())(None, "info", {"event": "e", "field": 10**5_000})
    assert clean["field"] == "an int of 16610 bits"


def test_containers_are_copies() -> None:
    inner = ["a"]
    clean = DlpProcessor(Redacting())(None, "info", {"event": "e", "field": {"inner": inner}})
    inner.append(CANARY)
    assert clean["field"] == {"inner": ["a"]}


def test_an_object_is_asked_once_what_it_shows() -> None:
    lines = Lines(DlpProcessor(Redacting()))
    lines.log.info("an event", field=Changing())
    assert lines.last["field"] == "harmless"


def test_an_object_that_cannot_show_itself_does_not_cost_the_line() -> None:
    class Broken:
        def __repr__(self) -> str:
            raise RuntimeError(CANARY)

    lines = Lines(DlpProcessor(Redacting()))
    lines.log.info("an event", field=Broken())
    assert lines.last == {
        "event": "an event",
        "level": "info",
        "field": "<Broken that cannot be shown>",
    }


def test_a_value_that_holds_itself_ends() -> None:
    ring: list[Any] = []
    ring.append(ring)
    clean = DlpProcessor(Redacting())(None, "info", {"event": "e", "field": ring})
    assert TOO_DEEP in repr(clean["field"])


def test_a_line_of_too_many_values_is_withheld() -> None:
    clean = DlpProcessor(Redacting())(None, "info", {"event": CANARY, "field": [0] * 10_001})
    assert clean == {
        "event": "log line withheld: its inspection failed",
        "dlp_failure": "failed",
        "dlp_error_type": "ValueError",
    }


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ({"password": "hunter2secret"}, "[REDACTED:password]"),
        ({"api_key": "Zx81jsk29Alw92kd0sla92"}, "[REDACTED:secret]"),
        ({"password": "two words"}, "[REDACTED:password]"),
    ],
    ids=["password", "key", "words"],
)
def test_a_value_is_judged_by_its_label(
    rules: RuleBasedDlpInterceptor, fields: dict[str, Any], expected: str
) -> None:
    lines = Lines(DlpProcessor(rules))
    lines.log.info("login", nested=fields, **fields)
    (name,) = fields
    assert lines.last[name] == lines.last["nested"][name] == expected


@pytest.mark.parametrize("value", [True, None, 1.5, ["a"]], ids=repr)
def test_a_label_says_nothing_of_what_is_no_text(value: Any) -> None:
    clean = DlpProcessor(Redacting())(None, "info", {"event": "e", "token": value})
    assert clean == {"event": "e", "token": value}


@pytest.mark.parametrize("answer", ["no json", "[1]", "{}", '{"a": 1, "b": 2}'])
def test_an_odd_answer_for_a_labelled_value_shows_nothing(answer: str) -> None:
    class Odd(DlpInterceptor):
        def inspect(self, context: DlpContext, text: str) -> DlpResult:
            return DlpResult(answer if text.startswith("{") else text)

    clean = DlpProcessor(Odd())(None, "info", {"event": "e", "pin": "1234"})
    assert clean == {"event": "e", "pin": "[withheld]"}


def _raise(error: BaseException) -> None:
    raise error


@pytest.mark.parametrize(
    "before",
    [
        (),
        (structlog.processors.format_exc_info,),
        (structlog.processors.dict_tracebacks,),
        (structlog.dev.set_exc_info,),
    ],
    ids=["raw", "rendered before", "as dicts, with locals", "set"],
)
def test_an_exception_is_rendered_and_redacted(before: tuple[Any, ...]) -> None:
    lines = Lines(DlpProcessor(Redacting()), before=before)
    held = CANARY  # a local variable, which some renderers show
    try:
        _raise(chain())
    except RuntimeError as error:
        caught = error
        lines.log.exception("failed")
        lines.log.info("failed", exc_info=True)
        lines.log.error("failed", exc_info=(type(error), error, error.__traceback__))
    lines.log.info("failed", exc_info=caught)
    assert held == CANARY
    assert_no_canary(CANARY, lines.text)
    for line in map(json.loads, lines.text.splitlines()):
        shown = repr(line["exception"])
        assert "outer [X]" in shown
        assert "member [X]" in shown
        assert "_raise" in shown
        assert "exc_info" not in line


@pytest.mark.parametrize("exc_info", [True, False, None, (None, None, None), "yes", (1, 2)], ids=repr)
def test_an_exc_info_of_nothing_shows_nothing(exc_info: Any) -> None:
    clean = DlpProcessor(Redacting())(None, "info", {"event": "e", "exc_info": exc_info})
    assert clean == {"event": "e"}


def test_a_secret_that_a_margin_cuts_hides_the_text_of_the_exception() -> None:
    class Lines2(DlpInterceptor):
        def inspect(self, context: DlpContext, text: str) -> DlpResult:
            return DlpResult(text.replace("begin\nsecret\nend", "[X]"))

    error = ExceptionGroup("g", [ValueError("begin\nsecret\nend")])
    clean = DlpProcessor(Lines2())(None, "error", {"event": "e", "exc_info": error})
    assert clean["exception"] == "ExceptionGroup, ValueError (the text of this exception is withheld)"


def test_a_message_that_only_its_own_inspection_finds_hides_the_text() -> None:
    class Whole(DlpInterceptor):
        def inspect(self, context: DlpContext, text: str) -> DlpResult:
            return DlpResult("[X]" if text == CANARY else text)

    clean = DlpProcessor(Whole())(None, "error", {"event": "e", "exc_info": ValueError(CANARY)})
    assert clean["exception"] == "ValueError (the text of this exception is withheld)"


def test_odd_exceptions_are_shown_as_far_as_they_go() -> None:
    class Mute(Exception):
        def __str__(self) -> str:
            raise RuntimeError(CANARY)

    class Unrenderable(Exception):
        @property
        def __notes__(self) -> Any:
            raise RuntimeError(CANARY)

    mute = Mute()
    mute.__context__ = mute.__cause__ = ValueError("shared")
    mute.__notes__ = "no list"  # type: ignore[assignment]
    processor = DlpProcessor(Redacting())
    shown = processor(None, "error", {"event": "e", "exc_info": mute})["exception"]
    assert "Mute: <exception str() failed>" in shown
    assert "ValueError: shared" in shown
    withheld = processor(None, "error", {"event": "e", "exc_info": Unrenderable()})
    assert_no_canary(CANARY, withheld)


def test_the_traceback_of_a_triple_may_be_missing() -> None:
    clean = DlpProcessor(Redacting())(
        None, "error", {"event": "e", "exc_info": (ValueError, ValueError("x"), None)}
    )
    assert clean["exception"] == "ValueError: x"


def test_a_stack_is_rendered_and_redacted() -> None:
    lines = Lines(DlpProcessor(Redacting()))
    lines.log.info("an event", stack_info=True, field="canary-0f5e-77aa")
    stack = lines.last["stack"]
    assert stack.startswith("Stack (most recent call last):")
    assert stack.splitlines()[-1].strip() == 'lines.log.info("an event", stack_info=True, field="[X]")'
    assert_no_canary(CANARY, lines.text)


def test_a_rendered_stack_is_redacted() -> None:
    processor = DlpProcessor(Redacting())
    assert processor(None, "info", {"event": "e", "stack_info": f"a {CANARY}"}) == {
        "event": "e",
        "stack": "a [X]",
    }
    assert processor(None, "info", {"event": "e", "stack_info": None}) == {"event": "e"}


@pytest.mark.parametrize(
    ("event", "arguments", "expected"),
    [
        ("a %s", (CANARY,), "a [X]"),
        ("a %s-%s-%s", ("canary", "0f5e", "77aa"), "a [X]"),
        ("a %(b)s", ({"b": CANARY},), "a [X]"),
        ("a %s", ({},), "a {}"),
        ("a %d", (CANARY,), "a %d ('[X]',)"),
        ("a", (), "a"),
        ("a %s", [CANARY], "a ['[X]']"),
    ],
    ids=["one", "parts", "dict", "empty dict", "misfit", "none", "list"],
)
def test_positional_arguments_are_filled_in_before_the_inspection(
    event: str, arguments: Any, expected: str
) -> None:
    clean = DlpProcessor(Redacting())(None, "info", {"event": event, "positional_args": arguments})
    assert clean == {"event": expected}


@pytest.mark.parametrize(
    "stamp", ["2026-11-30T10:20:30.123456Z", "2026-11-30 10:20:30", "2026-11-30T10:20+01:00"]
)
def test_a_timestamp_is_not_looked_at(stamp: str) -> None:
    dlp = Redacting()
    clean = DlpProcessor(dlp)(None, "info", {"event": "e", "timestamp": stamp})
    assert clean == {"event": "e", "timestamp": stamp}
    assert stamp not in dlp.texts


def test_a_timestamp_that_is_something_else_is() -> None:
    clean = DlpProcessor(Redacting())(None, "info", {"event": "e", "timestamp": f"2026-11-30 {CANARY}"})
    assert clean == {"event": "e", "timestamp": "2026-11-30 [X]"}


@pytest.mark.parametrize(
    ("make", "reason", "error_type"),
    [
        (DlpInspectionError, "rejected", "DlpInspectionError"),
        (RuntimeError, "failed", "RuntimeError"),
        (RecursionError, "failed", "RecursionError"),
    ],
)
def test_a_line_whose_inspection_fails_says_so_and_nothing_else(
    make: type[Exception], reason: str, error_type: str
) -> None:
    lines = Lines(DlpProcessor(Raising(make)), before=(structlog.processors.TimeStamper(fmt="iso"),))
    lines.log.error("fine", user="ada", **{CANARY: 1})
    stamp = lines.last.pop("timestamp")
    assert stamp.startswith("20")
    assert lines.last == {
        "event": "log line withheld: its inspection failed",
        "dlp_failure": reason,
        "dlp_error_type": error_type,
        "level": "error",
        "timestamp": stamp,
    }


def test_a_level_and_a_timestamp_that_are_words_are_withheld_too() -> None:
    clean = DlpProcessor(Raising())(None, "info", {"event": CANARY, "level": CANARY, "timestamp": CANARY})
    assert_no_canary(CANARY, clean)


@pytest.mark.parametrize(
    "line",
    [
        FailingDict(event=CANARY),
        {"event": Classless(), "level": Classless()},
        {"event": CANARY, "_record": Classless()},
    ],
    ids=["line", "event", "record"],
)
def test_an_object_that_fails_in_every_way_costs_no_more_than_its_line(line: dict[str, Any]) -> None:
    clean = DlpProcessor(Redacting())(None, "info", line)
    assert type(clean) is dict
    assert_no_canary(CANARY, str(clean))


def test_only_a_logger_that_shows_its_name_and_no_secret_stays_one() -> None:
    clean = DlpProcessor(Redacting())(
        None,
        "info",
        {
            "_logger": logging.getLogger("shop"),
            "root": logging.getLogger(),
            "named": logging.Logger(CANARY),  # noqa: LOG001
            "like": LoggerLike(),
        },
    )
    assert clean["_logger"] is logging.getLogger("shop")
    assert clean["root"] is logging.getLogger()
    assert (clean["named"], clean["like"]) == ("<Logger [X] (NOTSET)>", "[X]")


def test_a_cancellation_passes() -> None:
    with pytest.raises(asyncio.CancelledError):
        DlpProcessor(Raising(lambda _: asyncio.CancelledError()))(None, "info", {"event": CANARY})


def test_an_answer_that_is_no_result_withholds_the_line() -> None:
    class Wrong(DlpInterceptor):
        def inspect(self, context: DlpContext, text: str) -> DlpResult:
            answer: Any = text
            return answer

    clean = DlpProcessor(Wrong())(None, "info", {"event": CANARY})
    assert clean["dlp_failure"] == "failed"
    assert_no_canary(CANARY, clean)


def test_an_awaitable_answer_withholds_the_line_and_is_closed() -> None:
    class Late(DlpInterceptor):
        def inspect(self, context: DlpContext, text: str) -> Any:
            async def answer() -> DlpResult:
                return DlpResult(text)

            return answer()

    clean = DlpProcessor(Late())(None, "info", {"event": CANARY})
    assert clean["dlp_error_type"] == "TypeError"
    assert_no_canary(CANARY, clean)


def test_an_interceptor_that_logs_through_the_same_chain_ends() -> None:
    class Chatty(DlpInterceptor):
        def inspect(self, context: DlpContext, text: str) -> DlpResult:
            lines.log.debug("inspecting", text=text)
            return DlpResult(text.replace(CANARY, "[X]"))

    lines = Lines(DlpProcessor(Chatty()))
    lines.log.info("an event", field=CANARY)
    assert lines.last["field"] == "[X]"
    assert_no_canary(CANARY, lines.text)
    written = [json.loads(line) for line in lines.text.splitlines()]
    assert {line.get("dlp_failure") for line in written} == {None, "reentrant"}


@pytest.mark.parametrize("line", [f"a {CANARY}", f"a {CANARY}".encode()], ids=["text", "bytes"])
def test_a_line_that_was_rendered_before_is_redacted(line: Any) -> None:
    assert DlpProcessor(Redacting())(None, "info", line) == "a [X]"
    assert DlpProcessor(Raising())(None, "info", line) == "log line withheld: its inspection failed"


def test_a_line_of_a_shape_that_nobody_can_read_is_withheld() -> None:
    line: Any = ((CANARY,), {"extra": CANARY})
    assert DlpProcessor(Redacting())(None, "info", line) == (
        ("log line withheld: its inspection failed",),
        {},
    )


def _formatter_lines(processor: DlpProcessor, log: Callable[[logging.Logger], None], **options: Any) -> str:
    file = io.StringIO()
    handler = logging.StreamHandler(file)
    handler.setFormatter(
        structlog.stdlib.ProcessorFormatter(
            processors=[
                processor,
                structlog.stdlib.ProcessorFormatter.remove_processors_meta,
                structlog.processors.JSONRenderer(),
            ],
            **options,
        )
    )
    logger = logging.Logger("shop")  # noqa: LOG001  # one that nobody else has
    logger.addHandler(handler)
    log(logger)
    return file.getvalue()


def _through_structlog(logger: logging.Logger) -> None:
    structlog.wrap_logger(
        logger,
        processors=[structlog.stdlib.add_log_level, structlog.stdlib.ProcessorFormatter.wrap_for_formatter],
        wrapper_class=structlog.stdlib.BoundLogger,
    ).error(CANARY, field=CANARY, exc_info=ValueError(CANARY))


def _through_logging(logger: logging.Logger) -> None:
    logger.error("a %s", CANARY, exc_info=ValueError(CANARY), extra={"field": CANARY})


@pytest.mark.parametrize("log", [_through_structlog, _through_logging], ids=["structlog", "logging"])
def test_it_works_in_the_formatter_for_lines_of_both_kinds(log: Callable[[logging.Logger], None]) -> None:
    options: dict[str, Any] = {"foreign_pre_chain": [structlog.stdlib.ExtraAdder()]}
    text = _formatter_lines(DlpProcessor(Redacting()), log, **options)
    line = json.loads(text)
    assert "[X]" in line["event"]
    assert line["field"] == "[X]"
    assert line["exception"].endswith("ValueError: [X]")
    withheld = json.loads(_formatter_lines(DlpProcessor(Raising()), log, **options))
    assert withheld["dlp_failure"] == "rejected"
    assert_no_canary(CANARY, text, withheld)


def test_what_the_formatter_adds_is_redacted_where_nobody_removes_it() -> None:
    record = logging.makeLogRecord({"msg": "a %s", "args": (CANARY,), "field": CANARY})
    line = {"event": "e", "_record": record, "_from_structlog": False}
    for processor in (DlpProcessor(Redacting()), DlpProcessor(Raising())):
        clean = processor(None, "info", dict(line))
        assert clean["_from_structlog"] is False
        assert isinstance(clean["_record"], logging.LogRecord)
        assert_no_canary(CANARY, clean)
    assert record.args == (CANARY,)
    assert DlpProcessor(Redacting())(None, "info", {"event": "e", "_record": CANARY}) == {
        "event": "e",
        "_record": "[X]",
    }


def test_it_works_from_many_threads() -> None:
    lines = Lines(DlpProcessor(Redacting()))

    def work(number: int) -> None:
        for _ in range(50):
            lines.log.info("from a thread", field=f"{CANARY} {number}")

    threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert lines.text.count("[X]") == 200
    assert_no_canary(CANARY, lines.text)


@pytest.mark.parametrize("backend", ["asyncio", "trio"])
def test_it_works_on_an_event_loop(backend: str) -> None:
    lines = Lines(DlpProcessor(Redacting()))

    async def task() -> None:
        await anyio.lowlevel.checkpoint()
        lines.log.info("from a task", field=CANARY)

    async def main() -> None:
        async with anyio.create_task_group() as tasks:
            for _ in range(10):
                tasks.start_soon(task)

    anyio.run(main, backend=backend)
    assert lines.text.count("[X]") == 10
    assert_no_canary(CANARY, lines.text)


def test_it_works_for_async_methods_of_a_logger() -> None:
    lines = Lines(DlpProcessor(Redacting()))

    async def main() -> None:
        await lines.log.ainfo("an event", field=CANARY)
        try:
            raise ValueError(CANARY)
        except ValueError:
            await lines.log.aexception("failed")

    asyncio.run(main())
    assert_no_canary(CANARY, lines.text)
    assert "ValueError: [X]" in lines.last["exception"]


_LEAVES = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.floats(allow_nan=False),
    st.text(),
    st.binary(),
    st.builds(lambda before, after: before + CANARY + after, st.text(max_size=3), st.text(max_size=3)),
    st.builds(lambda before: before + CANARY.encode(), st.binary(max_size=3)),
)
_KEYS = st.one_of(st.text(max_size=5), st.just(CANARY), st.integers(), st.none(), st.just((CANARY,)))
_TREES = st.recursive(
    _LEAVES,
    lambda inner: st.one_of(
        st.lists(inner, max_size=4),
        st.lists(inner, max_size=4).map(tuple),
        st.dictionaries(_KEYS, inner, max_size=4),
    ),
    max_leaves=12,
)


@given(st.dictionaries(st.one_of(st.text(max_size=5), st.just(CANARY)), _TREES, max_size=5))
def test_no_shape_of_a_line_hides_a_canary(line: dict[str, Any]) -> None:
    processor = DlpProcessor(Redacting())
    clean = processor(None, "info", {**line, "event": "e"})
    assert_no_canary(CANARY, clean)
    assert "dlp_failure" not in clean
    assert repr(processor(None, "info", dict(clean))) == repr(clean)
