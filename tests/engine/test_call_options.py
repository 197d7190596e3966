"""Bad input: every wrong option of a call is refused by name, with a remedy, before anything is sent."""

from __future__ import annotations

import math
from typing import Any

import pytest

from tests.drivers import Driver
from tramapy import AsyncTramapy, ConfigurationError, Message, ToolDefinition, Tramapy
from tramapy.testing import FakeClock, ScriptedProvider

OPTIONS: list[tuple[dict[str, Any], str]] = [
    ({"unheard_of": 1}, r"Unknown option 'unheard_of'; known are model, provider"),
    ({"is_stream": True}, r"Unknown option 'is_stream'"),
    ({"model": 5}, r"model takes a str, not int"),
    ({"model": ["m"]}, r"model takes a str, not list"),
    ({"model": " "}, r"model is blank; give it a name"),
    ({"provider": "q"}, r"provider names the unknown provider 'q'; providers has 'p'"),
    ({"provider": ["p"]}, r"provider takes a str, not list"),
    ({"service_interface": ""}, r"service_interface is blank; give it a name or leave it out"),
    ({"service_interface": None}, r"service_interface takes a str, not NoneType"),
    ({"method_name": 5}, r"method_name takes a str, not int"),
    ({"method_name": ""}, r"method_name is blank"),
    ({"correlation_id": 5}, r"correlation_id takes a str, not int"),
    ({"correlation_id": "  "}, r"correlation_id is blank"),
    ({"workflow_run_id": 5}, r"workflow_run_id takes a str, not int"),
    ({"workflow_run_id": ""}, r"workflow_run_id is blank"),
    ({"data_classification": "public"}, r"data_classification takes DataClassification, not str"),
    ({"classification_source": "declared"}, r"classification_source takes ClassificationSource, not str"),
    ({"tools": 0}, r"tools takes a sequence of ToolDefinition, not int"),
    ({"tools": False}, r"tools takes a sequence of ToolDefinition, not bool"),
    ({"tools": ""}, r"tools takes a sequence of ToolDefinition, not str"),
    ({"tools": b""}, r"tools takes a sequence of ToolDefinition, not bytes"),
    ({"tools": {}}, r"tools takes a sequence of ToolDefinition, not dict"),
    ({"tools": {"lookup": ToolDefinition(name="lookup")}}, r"tools takes a sequence of .*, not dict"),
    ({"tools": 5}, r"tools takes a sequence of ToolDefinition, not int"),
    ({"tools": ["lookup"]}, r"tools\[0\] is of type str; make it a ToolDefinition\(name=\.\.\.\)"),
    ({"temperature": "hot"}, r"temperature takes a number, not str"),
    ({"temperature": True}, r"temperature takes a number, not bool"),
    ({"temperature": -0.1}, r"temperature is -0\.1; it must be a number from 0 to"),
    ({"temperature": math.nan}, r"temperature is nan; it must be a number from 0 to"),
    ({"temperature": math.inf}, r"temperature is inf; it must be a number from 0 to"),
    ({"top_p": 1.1}, r"top_p is 1\.1; it must be a number from 0 to 1, or None"),
    ({"top_p": "1"}, r"top_p takes a number, not str"),
    ({"max_output_tokens": 0}, r"max_output_tokens is 0; it must be at least 1, or None"),
    ({"max_output_tokens": 1.5}, r"max_output_tokens takes an int, not float"),
    ({"max_output_tokens": True}, r"max_output_tokens takes an int, not bool"),
    ({"instructions": 5}, r"instructions takes a str, not int"),
    ({"timeout_s": 0}, r"timeout_s is 0; it must be a positive"),
    ({"timeout_s": "5"}, r"timeout_s takes seconds as a number, not str"),
    ({"deadline_s": math.inf}, r"deadline_s is inf; it must be a positive"),
]


@pytest.mark.parametrize("call", ["complete", "stream"])
@pytest.mark.parametrize(("options", "complaint"), OPTIONS)
def test_a_wrong_option_is_named(driver: Driver, call: str, options: dict[str, Any], complaint: str) -> None:
    provider = ScriptedProvider()
    rig = driver.rig(provider)
    with pytest.raises(ConfigurationError, match=f"^{complaint}"):
        getattr(rig, call)(**options)
    assert provider.requests == ()
    assert rig.names == []


@pytest.mark.parametrize("call", ["complete", "stream"])
@pytest.mark.parametrize(
    ("messages", "complaint"),
    [
        (
            "hello",
            r"messages takes a sequence of Message, not str; for one prompt pass \[Message\.user\(\.\.\.\)\]",
        ),
        (b"hello", r"messages takes a sequence of Message, not bytes"),
        (Message.user("hello"), r"messages takes a sequence of Message, not Message; for one prompt pass"),
        (None, r"messages takes a sequence of Message, not NoneType"),
        ([], r"messages is empty; pass at least one Message"),
        ((), r"messages is empty"),
        (iter(()), r"messages is empty"),
        (
            [Message.user("x"), "hello"],
            r"messages\[1\] is of type str; make it a Message, for example Message\.user",
        ),
        (("hello",), r"messages\[0\] is of type str; make it a Message"),
        ({"role": "user"}, r"messages\[0\] is of type str; make it a Message"),
    ],
    ids=["str", "bytes", "message", "none", "list", "tuple", "iterator", "mixed", "strings", "dict"],
)
def test_wrong_messages_are_named(driver: Driver, call: str, messages: Any, complaint: str) -> None:
    rig = driver.rig(ScriptedProvider())
    with pytest.raises(ConfigurationError, match=f"^{complaint}") as caught:
        getattr(rig, call)(messages)
    assert "hello" not in str(caught.value)
    assert rig.names == []


@pytest.mark.parametrize("facade", [Tramapy, AsyncTramapy])
def test_a_missing_model_is_named(facade: Any) -> None:
    t = facade({"p": ScriptedProvider()})
    with pytest.raises(
        ConfigurationError, match=r"^model is missing; name the model, for example model='gpt-4o'$"
    ):
        t.stream([Message.user("hello")])


def test_any_iterable_of_messages_will_do(driver: Driver) -> None:
    class Special(Message):
        pass

    provider = ScriptedProvider(["one", "two"])
    rig = driver.rig(provider)
    rig.complete(message for message in (Message.user("a"), Message.user("b")))
    rig.complete([Special.user("c")])
    assert [[message.content for message in request.messages] for request in provider.requests] == [
        ["a", "b"],
        ["c"],
    ]


def test_good_options_reach_the_provider(driver: Driver) -> None:
    tool = ToolDefinition(name="lookup")
    provider = ScriptedProvider(["answer"])
    driver.rig(provider).complete(
        temperature=0, top_p=1, max_output_tokens=5, instructions="be brief", tools=iter([tool]), timeout_s=3
    )
    (request,) = provider.requests
    assert (request.temperature, request.top_p, request.max_output_tokens) == (0, 1, 5)
    assert (request.instructions, request.tools, request.timeout_s) == ("be brief", (tool,), 3.0)


def test_a_typed_error_of_the_callers_own_iterable_stays(driver: Driver) -> None:
    def broken() -> Any:
        yield Message.user("a")
        raise KeyError("mine")

    with pytest.raises(KeyError, match="mine"):
        driver.rig(ScriptedProvider()).complete(broken())


def test_a_type_error_that_is_not_the_callers_stays(driver: Driver) -> None:
    class Broken(FakeClock):
        def now_s(self) -> float:
            raise TypeError("mine")

    with pytest.raises(TypeError, match="mine"):
        driver.rig(ScriptedProvider(), clock=Broken()).complete()


@pytest.mark.parametrize("tools", [None, (), [], set()], ids=["none", "tuple", "list", "set"])
def test_no_tools_are_no_tools(driver: Driver, tools: Any) -> None:
    provider = ScriptedProvider(["answer"])
    driver.rig(provider).complete(tools=tools)
    assert provider.requests[0].tools == ()


@pytest.mark.parametrize("name", ["max_output_tokens", "temperature", "timeout_s"])
def test_an_int_of_any_length_is_refused_in_a_short_message(driver: Driver, name: str) -> None:
    with pytest.raises(ConfigurationError, match=f"^{name} is an int of 16610 bits; it must be"):
        driver.rig(ScriptedProvider()).complete(**{name: -(10**5000)})
