"""The engine's steps on a stream in a vendor's format: lanes, held calls, repeats, and the whole where it must wait."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Any

import pytest

from tests.drivers import Driver
from tests.engine.doubles import Words, breaker_of, retries
from tests.engine.native_doubles import (
    ARGUMENTS,
    CONTENT,
    REASONING,
    Asked,
    Bit,
    Ended,
    Natives,
    Said,
    streamed,
)
from tramapy import (
    CircuitBreakerSettings,
    DlpContext,
    DlpInspectionError,
    DlpRedaction,
    DlpResult,
    InterceptorError,
    Message,
    ModelRequest,
    ModelResponse,
    OperationCallContext,
    OperationInterceptor,
    ProviderError,
    RuleBasedDlpInterceptor,
    StreamingDlpInterceptor,
)
from tramapy.dlp import DlpAction, DlpRule, RuleBasedDlpConfiguration
from tramapy.engine.native import NativeRejectionError
from tramapy.hooks.dlp import DlpContentType

ASKED = Asked(Message.user("hello"))
RULE = DlpRule(id="ssn", pattern=r"\b[0-9]{3}-[0-9]{2}-[0-9]{4}\b", enabled_for=DlpContentType)
SSN = "219-09-9999"


def ssn_dlp(action: DlpAction = DlpAction.REDACT) -> RuleBasedDlpInterceptor:
    rule = DlpRule(id=RULE.id, pattern=RULE.pattern, enabled_for=DlpContentType, action=action)
    return RuleBasedDlpInterceptor(RuleBasedDlpConfiguration(rules=[rule]))


class Whole(Words):
    """Inspects whole texts only."""

    def __init__(self) -> None:
        super().__init__({SSN: "[S]"})


def held(text: str, lane: str = "call", tool_name: str = "lookup") -> Bit:
    return Bit(text, lane, ARGUMENTS, tool_name=tool_name, is_held=True)


def test_without_dlp_events_pass_as_they_came(driver: Driver) -> None:
    steps = [
        Said(name="start", is_opening=True),
        Said(Bit("a ")),
        Said(held("{"), opens="call", name="call"),
        Said(held("}"), name="call"),
        Said(Bit("b")),
        Said(Bit("a b", is_repeat=True), Bit("note", None), ends=["content"], name="done"),
        Ended(lanes=["content", "call"]),
    ]
    rig = driver.rig({"p": Natives(steps)})
    assert streamed(rig, ASKED) == "start:;say:a ;call:{;call:};say:b;done:a b|note;end:;"
    assert rig.attributes_of("attempt.completed")[0]["tool_call_count"] == 1
    assert rig.names[-1] == "operation.completed"


def test_a_lane_holds_back_what_is_undecided(driver: Driver) -> None:
    steps = [
        Said(Bit("no 219-09")),
        Said(Bit("-9999")),
        Said(Bit(" yes 219-")),
        Said(Bit("no 219-09-9999 yes 219-", is_repeat=True), ends=["content"], name="done"),
        Ended(Bit("no 219-09-9999 yes 219-", is_repeat=True), Bit("other 219-09-9999", is_repeat=True)),
    ]
    rig = driver.rig({"p": Natives(steps)}, dlp=ssn_dlp())
    out = streamed(rig, ASKED)
    assert out == (
        "say:no ;say:[REDACTED] yes ;tail content:219-;done:no [REDACTED] yes 219-;"
        "end:no [REDACTED] yes 219-|other [REDACTED];"
    )
    assert [each["replacement_count"] for each in rig.attributes_of("dlp.redacted")] == [1, 1]


def test_a_repeat_of_a_text_that_did_not_change_stays_as_it_came(driver: Driver) -> None:
    steps = [
        Said(Bit("a b "), ends=["content"]),
        Said(held("", "odd"), name="odd"),
        Ended(Bit("a b ", is_repeat=True)),
    ]
    assert streamed(driver.rig({"p": Natives(steps)}, dlp=ssn_dlp()), ASKED) == "say:a b ;end:a b ;"


def test_a_stream_may_be_made_to_wait(driver: Driver) -> None:
    rig = driver.rig({"p": Natives(steps())}, dlp=ssn_dlp(), stream_dlp="buffer")
    assert streamed(rig, ASKED).startswith("start:;say:no [REDACTED] ;call:")


def test_lanes_are_apart_from_each_other(driver: Driver) -> None:
    steps = [
        Said(Bit("219-", "content"), Bit("219-", "other", REASONING)),
        Said(Bit("09-9999 ", "other", REASONING)),
        Said(Bit("x", "content"), ends=["content", "nothing"]),
        Ended(),
    ]
    dlp = ssn_dlp()
    out = streamed(driver.rig({"p": Natives(steps)}, dlp=dlp), ASKED)
    assert SSN not in out
    assert out.count("219-") == 1
    assert out.startswith("say:")
    assert out.endswith("end:;")


def test_the_end_of_a_lane_goes_out_with_its_last_piece(driver: Driver) -> None:
    steps = [Said(Bit("219-")), Said(Bit("09"), ends=["content"]), Ended()]
    assert streamed(driver.rig({"p": Natives(steps)}, dlp=ssn_dlp()), ASKED) == "say:219-09;end:;"


def test_a_lane_that_nobody_ends_ends_with_the_stream(driver: Driver) -> None:
    rig = driver.rig({"p": Natives([Said(Bit("a 219-")), Ended()])}, dlp=ssn_dlp())
    assert streamed(rig, ASKED) == "say:a ;tail content:219-;end:;"


def test_a_tool_call_goes_out_whole_and_inspected(driver: Driver) -> None:
    steps = [
        Said(opens="call", name="open"),
        Said(held('{"a":"219-09'), name="arguments"),
        Said(Bit("meanwhile ")),
        Said(held('-9999"}'), name="arguments"),
        Said(
            Bit('{"a":"219-09-9999"}', "call", ARGUMENTS, is_held=True, is_repeat=True),
            ends=["call"],
            name="done",
        ),
        Ended(lanes=["content", "call"]),
    ]
    rig = driver.rig({"p": Natives(steps)}, dlp=ssn_dlp())
    out = streamed(rig, ASKED)
    assert SSN not in out
    assert out.index("say:meanwhile") < out.index("open:;") < out.index("tail call:") < out.index("done:")
    (context,) = rig.attributes_of("dlp.redacted")
    assert context["content_location"] == "model_response_tool_arguments"


def test_a_tool_call_without_arguments_goes_out_at_its_end(driver: Driver) -> None:
    steps = [Said(name="open", opens="call"), Said(Bit("x y ")), Said(name="stop", ends=["call"]), Ended()]
    assert streamed(driver.rig({"p": Natives(steps)}, dlp=ssn_dlp()), ASKED).endswith("open:;stop:;end:;")


def test_a_tool_call_that_nobody_ends_goes_out_with_the_stream(driver: Driver) -> None:
    steps = [Said(held("{"), name="open", opens="call"), Said(name="odd", opens="bare"), Ended()]
    out = streamed(driver.rig({"p": Natives(steps)}, dlp=ssn_dlp()), ASKED)
    assert out == "tail call:{;odd:;end:;"


def test_a_call_that_opens_and_ends_at_once(driver: Driver) -> None:
    steps = [
        Said(held('{"n":1}'), name="call", opens="call", ends=["call"]),
        Ended(lanes=["content", "call"]),
    ]
    out = streamed(driver.rig({"p": Natives(steps)}, dlp=ssn_dlp()), ASKED)
    assert out == 'tail call:{"n":1};end:;'


def test_what_comes_after_the_end_of_a_lane_is_inspected_by_itself(driver: Driver) -> None:
    steps = [
        Said(Bit("a"), ends=["content"]),
        Said(Bit(f"b {SSN}")),
        Said(Bit("c", "unknown", is_repeat=True)),
        Ended(),
    ]
    out = streamed(driver.rig({"p": Natives(steps)}, dlp=ssn_dlp()), ASKED)
    assert SSN not in out
    assert out.startswith("say:a;say:b [")
    assert "say:c;" in out


def test_what_comes_after_the_end_of_a_lane_is_inspected_behind_what_was_said(driver: Driver) -> None:
    head, tail = SSN[:4], SSN[4:]
    steps = [
        Said(Bit(f"a {head}"), ends=["content"]),
        Said(Bit("", "content"), name="empty"),
        Said(Bit(tail)),
        Ended(),
    ]
    with pytest.raises(DlpInspectionError, match="went on after its end") as caught:
        streamed(driver.rig({"p": Natives(steps)}, dlp=ssn_dlp()), ASKED)
    assert head not in str(caught.value)


def test_texts_that_are_whole_by_themselves_are_inspected_in_place(driver: Driver) -> None:
    out = streamed(
        driver.rig({"p": Natives([Said(Bit(f"note {SSN}", None)), Ended()])}, dlp=ssn_dlp()), ASKED
    )
    assert SSN not in out
    assert out.startswith("say:note [")


@pytest.mark.parametrize("dlp", [None, ssn_dlp()], ids=["no dlp", "dlp"])
def test_openings_wait_so_that_a_failure_can_be_retried(driver: Driver, dlp: Any) -> None:
    overloaded = NativeRejectionError("no", body="secret", status_code=529, retryable=True, is_in_stream=True)
    provider = Natives(
        [Said(name="start", is_opening=True), overloaded],
        [Said(name="start", is_opening=True), Said(Bit("yes ")), Said(name="ping", is_opening=True), Ended()],
    )
    rig = driver.rig({"p": provider}, dlp=dlp, retry=retries(1))
    assert streamed(rig, ASKED) == "start:;say:yes ;ping:;end:;"
    assert rig.names.count("streaming.startup_retry") == 1
    assert provider.open_count == 0


def test_an_opening_goes_out_where_nothing_else_comes(driver: Driver) -> None:
    steps = [Said(name="start", is_opening=True), Ended(is_opening=True)]
    assert streamed(driver.rig({"p": Natives(steps)}), ASKED) == "start:;end:;"


def test_after_something_is_released_nothing_is_retried(driver: Driver) -> None:
    error = NativeRejectionError("no", body=f"why {SSN}", status_code=529, retryable=True, is_in_stream=True)
    provider = Natives([Said(Bit("a b ")), error])
    rig = driver.rig(
        {"p": provider},
        dlp=ssn_dlp(),
        retry=retries(3),
        circuit_breaker=CircuitBreakerSettings(failure_threshold=1),
    )
    frames: list[str] = []
    with pytest.raises(NativeRejectionError) as caught:
        streamed(rig, ASKED, into=frames)
    assert SSN not in caught.value.body
    assert frames == ["say:a b ;"]
    assert breaker_of(rig).open_until_s("p") is not None


def test_a_cut_stream_is_a_failure_and_what_is_held_is_dropped(driver: Driver) -> None:
    rig = driver.rig({"p": Natives([Said(Bit("a 219-"))])}, dlp=ssn_dlp())
    frames: list[str] = []
    with pytest.raises(ProviderError, match="without a"):
        streamed(rig, ASKED, into=frames)
    assert frames == ["say:a ;"]


def test_what_is_no_event_is_refused(driver: Driver) -> None:
    with pytest.raises(ProviderError, match="gave a str"):
        streamed(driver.rig({"p": Natives(["text"])}), ASKED)


@pytest.mark.parametrize("way", ["pass", "inspect", "buffer"])
def test_leaving_early_closes_everything(driver: Driver, way: str) -> None:
    steps = [Said(Bit("a 219-")), Said(Bit("b ")), Ended()]
    provider = Natives(steps)
    dlp = {"pass": None, "inspect": ssn_dlp(), "buffer": Whole()}[way]
    rig = driver.rig({"p": provider}, dlp=dlp)
    streamed(rig, ASKED, take=1)
    assert provider.open_count == 0
    expected = "attempt.completed" if way == "buffer" else "attempt.cancelled"
    assert expected in rig.names


def test_what_a_stream_cannot_show_is_told_once(driver: Driver) -> None:
    steps = [Said(unscanned=["audio"]), Said(unscanned=["audio"]), Said(unscanned=["image"]), Ended()]
    rig = driver.rig({"p": Natives(steps)})
    streamed(rig, ASKED)
    assert [each["reason_code"] for each in rig.attributes_of("content.unscanned")] == ["audio", "image"]
    strict = driver.rig({"p": Natives([Said(unscanned=["audio"], is_strict=True), Ended()])})
    with pytest.raises(DlpInspectionError, match="audio"):
        streamed(strict, ASKED)


# the whole, where a hook or DLP must see it first


class Rewriting(OperationInterceptor):
    """Puts other text in the place of a response's."""

    def __init__(self, **changes: Any) -> None:
        self.changes = changes
        self.seen: list[ModelResponse] = []

    def intercept_response(self, context: OperationCallContext, response: ModelResponse) -> ModelResponse:
        self.seen.append(response)
        return response.replace(**self.changes)


STEPS = (
    Said(name="start", is_opening=True),
    Said(Bit("no 219-09")),
    Said(Bit("-9999 ")),
    Said(held('{"a":'), name="call", opens="call"),
    Said(held("1}"), name="call"),
    Said(Bit("thought ", "thought", REASONING), name="think"),
    Said(Bit(SSN, "thought", REASONING), name="think"),
    Said(Bit(f"note {SSN}", None), name="note"),
)


def steps() -> list[Any]:
    """Return fresh events: what is written into one stays."""
    fresh: list[Any] = []
    for said in STEPS:
        bits = [
            Bit(bit.text, bit.lane, bit.location, tool_name=bit.tool_name, is_held=bit.is_held)
            for bit in said.bits
        ]
        fresh.append(Said(*bits, name=said.name, opens=said.opens, is_opening=said.is_opening))
    repeats = [
        Bit(f"no {SSN} ", is_repeat=True),
        Bit(f"odd {SSN}", is_repeat=True),
        Bit(f"thought {SSN}", "thought", is_repeat=True),
        Bit(f"lost {SSN}", "lost", is_repeat=True),
    ]
    return [*fresh, Ended(*repeats, lanes=["content", "call"])]


def test_a_dlp_that_cannot_inspect_pieces_makes_the_stream_wait(driver: Driver) -> None:
    out = streamed(driver.rig({"p": Natives(steps())}, dlp=Whole()), ASKED)
    assert out == (
        'start:;say:no [S] ;call:{"a":;call:1};think:thought [S];note:note [S];'
        "end:no [S] |odd [S]|thought [S]|lost [S];"
    )


def test_what_did_not_change_goes_out_as_it_came(driver: Driver) -> None:
    plain = [Said(Bit("a ")), Said(Bit("b")), Ended(Bit("a b", is_repeat=True))]
    hook = Rewriting()
    assert streamed(driver.rig({"p": Natives(plain)}, interceptors=[hook]), ASKED) == "say:a ;say:b;end:a b;"
    assert [response.content for response in hook.seen] == ["a b"]


def test_a_response_interceptor_holds_on_streams(driver: Driver) -> None:
    hook = Rewriting(content="other")
    rig = driver.rig({"p": Natives(steps())}, dlp=ssn_dlp(), interceptors=[hook])
    out = streamed(rig, ASKED)
    assert SSN not in out
    assert out.startswith('start:;say:other;call:{"a":;call:1};think:thought [')
    assert "end:other|" in out
    assert SSN not in hook.seen[0].content


def test_a_text_that_an_interceptor_adds_gets_an_event(driver: Driver) -> None:
    hook = Rewriting(content="more")
    rig = driver.rig({"p": Natives([Said(name="only"), Ended()])}, interceptors=[hook])
    assert streamed(rig, ASKED) == "only:;tail content:more;end:;"


@pytest.mark.parametrize("ends", [["content"], ["thought"]])
def test_a_text_that_an_interceptor_adds_comes_before_the_end_of_the_others(
    driver: Driver, ends: list[str]
) -> None:
    events = [Said(name="only"), Said(name="stop", ends=ends), Said(name="usage"), Ended()]
    rig = driver.rig({"p": Natives(events)}, interceptors=[Rewriting(content="more")])
    assert streamed(rig, ASKED) == "only:;tail content:more;stop:;usage:;end:;"


def test_what_the_stream_has_no_place_for_is_refused(driver: Driver) -> None:
    from tramapy import ToolCall

    calls = [ToolCall(id=str(n), name="x", arguments_json="{}") for n in range(2)]
    rig = driver.rig({"p": Natives([Said(Bit("a")), Ended()])}, interceptors=[Rewriting(tool_calls=calls)])
    with pytest.raises(InterceptorError, match="further call"):
        streamed(rig, ASKED)


@pytest.mark.parametrize("interceptors", [[], [Rewriting()]], ids=["pieces", "whole"])
@pytest.mark.parametrize("dlp", [None, ssn_dlp()], ids=["no dlp", "dlp"])
def test_values_return_in_pieces_too(driver: Driver, dlp: Any, interceptors: list[Any]) -> None:
    def tell(request: ModelRequest) -> list[Any]:
        placeholder = request.messages[0].content
        arguments = f'{{"n":"{placeholder}"}}'
        half = len(placeholder) // 2
        return [
            Said(Bit(f"it is {placeholder[:half]}")),
            Said(Bit(placeholder[half:])),
            Said(Bit(f" and {placeholder[:3]}")),
            Said(held(arguments[:9]), name="call", opens="call"),
            Said(held(arguments[9:]), name="call", ends=["call"]),
            Said(held(arguments, "second", "mail"), name="mail", ends=["second"]),
            Said(Bit(f"note {placeholder}", None), name="note"),
            Ended(lanes=["content", "call"]),
        ]

    class Echo(Natives):
        def _next(self, request: ModelRequest) -> Any:
            return tell(request)

    rig = driver.rig(
        {"p": Echo()},
        request_dlp=ssn_dlp(DlpAction.PLACEHOLDER),
        dlp=dlp,
        restore_for_tools=["mail"],
        interceptors=interceptors,
    )
    out = streamed(rig, Asked(Message.user(SSN)))
    assert f"note {SSN}" in out
    assert f'{{"n":"{SSN}"}}' in out
    assert out.count(SSN) == 3


# splits and doubles that misbehave


def test_every_split_says_the_same(driver: Driver) -> None:
    text = f"so {SSN}, and 219-09-999 or {SSN}."
    chooser = random.Random(5)
    dlp = ssn_dlp()
    for _ in range(30):
        cuts = sorted(chooser.sample(range(1, len(text)), chooser.randint(1, 6)))
        pieces = [text[start:end] for start, end in zip([0, *cuts], [*cuts, len(text)], strict=True)]
        provider = Natives([*(Said(Bit(piece)) for piece in pieces), Ended(Bit(text, is_repeat=True))])
        out = streamed(driver.rig({"p": provider}, dlp=dlp), ASKED)
        said, end = out.split("end:")
        joined = said.replace("say:", "").replace("tail content:", "").replace(";", "")
        assert joined == end.removesuffix(";")
        assert SSN not in joined


class ContentOnly(StreamingDlpInterceptor):
    """Streams content and nothing else; replaces the SSN in whole texts."""

    def __init__(self) -> None:
        self._rules = ssn_dlp()

    def inspect(self, context: DlpContext, text: str) -> DlpResult:
        return self._rules.inspect(context, text)

    def open_stream(self, context: DlpContext) -> Any:
        return self._rules.open_stream(context) if context.content_location is CONTENT else None


def test_a_lane_without_a_stream_of_its_own_is_inspected_whole(driver: Driver) -> None:
    events: Sequence[Any] = [
        Said(Bit("a "), Bit("219-09", "thought", REASONING)),
        Said(Bit("-9999", "thought", REASONING)),
        Said(name="stop", ends=["thought"]),
        Ended(),
    ]
    out = streamed(driver.rig({"p": Natives(events)}, dlp=ContentOnly()), ASKED)
    assert SSN not in out
    assert "say:a |;" in out
    assert out.index("tail thought:[") < out.index("stop:")


class Broken(StreamingDlpInterceptor):
    """Fails at the second piece, and again when it is dropped."""

    def inspect(self, context: DlpContext, text: str) -> DlpResult:
        return DlpResult(text, [DlpRedaction("r", 1)] if "x" in text else [])

    def open_stream(self, context: DlpContext) -> Any:
        outer = self

        class Stream:
            redactions = ()
            count = 0

            def feed(self, text: str) -> str:
                self.count += 1
                if self.count == 2:
                    raise ValueError("secret")
                return text

            def finish(self) -> str:
                return ""

            def abort(self) -> None:
                outer.aborted = True
                raise ValueError("secret")

        return Stream()

    aborted = False


def test_a_dlp_that_fails_in_a_lane_ends_the_stream(driver: Driver) -> None:
    dlp = Broken()
    frames: list[str] = []
    rig = driver.rig({"p": Natives([Said(Bit("a")), Said(Bit("b")), Ended()])}, dlp=dlp)
    with pytest.raises(DlpInspectionError):
        streamed(rig, ASKED, into=frames)
    assert frames == ["say:a;"]
    assert dlp.aborted
