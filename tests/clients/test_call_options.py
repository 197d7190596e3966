"""`call_options`: where they hold, and where not."""

from __future__ import annotations

import asyncio
import contextvars
import threading
from collections.abc import Generator
from typing import Any

import pytest

from tests.clients.worlds import World
from tramapy import ClassificationSource, ConfigurationError, DataClassification, TokenBudgetExceededError
from tramapy.clients.call_options import call_options, current_options
from tramapy.messages import ModelResponse, TokenUsage
from tramapy.resilience.budget import TokenBudgetSettings

EVERYTHING: dict[str, Any] = {
    "service_interface": "Support",
    "method_name": "answer",
    "correlation_id": "c-1",
    "workflow_run_id": "w-1",
    "data_classification": DataClassification.PUBLIC,
    "classification_source": next(iter(ClassificationSource)),
    "token_budget": TokenBudgetSettings(hard_max_tokens_per_attempt=5),
    "timeout_s": 3.0,
    "deadline_s": 9.0,
}


def test_options_hold_inside_of_the_block_alone() -> None:
    assert current_options() == {}
    with call_options(**EVERYTHING) as options:
        assert isinstance(options, call_options)
        assert current_options() == EVERYTHING
    assert current_options() == {}


def test_nested_blocks_add_up_and_the_inner_one_wins() -> None:
    with call_options(correlation_id="outer", timeout_s=1.0):
        with call_options(correlation_id="inner", deadline_s=2.0):
            assert current_options() == {"correlation_id": "inner", "timeout_s": 1.0, "deadline_s": 2.0}
        assert current_options() == {"correlation_id": "outer", "timeout_s": 1.0}


def test_one_object_serves_several_blocks() -> None:
    options = call_options(correlation_id="again")
    with options:
        with options:
            pass
        assert current_options() == {"correlation_id": "again"}
    assert current_options() == {}


def test_a_generator_may_end_its_block_after_the_block_around_it() -> None:
    def inner() -> Generator[None, None, None]:
        with call_options(timeout_s=1.0):
            yield

    generator = inner()
    with call_options(correlation_id="outer"):
        next(generator)
        assert current_options() == {"correlation_id": "outer", "timeout_s": 1.0}
    assert current_options() == {"timeout_s": 1.0}
    generator.close()
    assert current_options() == {}


def test_a_block_that_is_left_in_another_context_disturbs_nobody() -> None:
    options = call_options(correlation_id="mine")
    elsewhere = contextvars.copy_context()
    options.__enter__()

    def leave() -> dict[str, object]:
        with call_options(correlation_id="theirs"):
            options.__exit__(None, None, None)
            return dict(current_options())

    assert elsewhere.run(leave) == {"correlation_id": "theirs"}
    assert current_options() == {"correlation_id": "mine"}
    options.__exit__(None, None, None)
    assert current_options() == {}


def test_tasks_inside_keep_the_options_and_others_have_none() -> None:
    async def seen() -> dict[str, object]:
        await asyncio.sleep(0)
        return dict(current_options())

    async def main() -> tuple[dict[str, object], dict[str, object]]:
        outside = asyncio.create_task(seen())
        with call_options(correlation_id="task"):
            inside = asyncio.create_task(seen())
        return await outside, await inside

    assert asyncio.run(main()) == ({}, {"correlation_id": "task"})


def test_another_thread_has_none() -> None:
    found: list[dict[str, object]] = []
    with call_options(correlation_id="here"):
        thread = threading.Thread(target=lambda: found.append(dict(current_options())))
        thread.start()
        thread.join()
    assert found in ([{}], [{"correlation_id": "here"}])  # free-threaded builds inherit


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("service_interface", " "),
        ("method_name", 3),
        ("correlation_id", ""),
        ("workflow_run_id", b"x"),
        ("data_classification", "public"),
        ("classification_source", "me"),
        ("token_budget", 100),
        ("timeout_s", -1),
        ("deadline_s", "soon"),
    ],
)
def test_a_value_that_cannot_work_is_refused_by_name(name: str, value: object) -> None:
    options: dict[str, Any] = {name: value}
    with pytest.raises(ConfigurationError, match=name):
        call_options(**options)


def test_a_wrapped_client_reads_them(any_world: World) -> None:
    async def step(use: Any) -> None:
        with call_options(correlation_id="c-9", service_interface="Support", method_name="answer"):
            await use.ask()
        await use.ask()

    any_world.use(["one", "two"], step)
    started = any_world.observer.attributes_of("tramai.operation.started")
    client = {"openai": "OpenAI", "anthropic": "Anthropic"}[any_world.vendor]
    assert [(each["service_interface"], each["method_name"]) for each in started] == [
        ("Support", "answer"),
        (
            f"Async{client}" if any_world.is_async else client,
            "chat.completions.create" if any_world.vendor == "openai" else "messages.create",
        ),
    ]
    assert started[0]["correlation_id"] == "c-9"
    assert started[1]["correlation_id"] != "c-9"


def test_a_budget_of_the_call_s_own_holds(world: World) -> None:
    answer = ModelResponse(content="much", usage=TokenUsage(input_tokens=10, output_tokens=10))

    async def step(use: Any) -> None:
        with (
            call_options(token_budget=TokenBudgetSettings(hard_max_tokens_per_attempt=5)),
            pytest.raises(TokenBudgetExceededError) as caught,
        ):
            await use.ask()
        assert isinstance(caught.value, world.sdk.OpenAIError)

    world.use([answer], step)
