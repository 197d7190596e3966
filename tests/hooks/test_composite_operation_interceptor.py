"""`CompositeOperationInterceptor`: several as one, plain and awaited ones in any mix."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Awaitable, Sequence
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tramapy import (
    CompositeOperationInterceptor,
    Message,
    ModelResponse,
    OperationCallContext,
    OperationInterceptor,
)

CONTEXT = OperationCallContext(
    service_interface="s", method_name="m", provider_id="p", requested_model="m", attempt=0
)
START = (Message.user("start"),)


class Plain(OperationInterceptor):
    def __init__(self, word: str) -> None:
        self._word = word

    def intercept_request(self, context: object, messages: Sequence[Message]) -> Any:
        assert context is CONTEXT
        return (*messages, Message.user(self._word))

    def intercept_response(self, context: object, response: ModelResponse) -> Any:
        assert context is CONTEXT
        return response.replace(content=response.content + self._word)


class Awaited(Plain):
    async def intercept_request(self, context: object, messages: Sequence[Message]) -> Any:
        return Plain.intercept_request(self, context, messages)

    async def intercept_response(self, context: object, response: ModelResponse) -> Any:
        return Plain.intercept_response(self, context, response)


def settled(value: Any) -> Any:
    """Return a value, awaited where it must be."""

    async def main() -> Any:
        return await value

    return asyncio.run(main()) if inspect.isawaitable(value) else value


def words_of(composite: OperationInterceptor) -> tuple[str, str]:
    """Run both sides; return what each added, in order."""
    messages = settled(composite.intercept_request(CONTEXT, START))
    response = settled(composite.intercept_response(CONTEXT, ModelResponse()))
    return "".join(message.content for message in messages[1:]), response.content


@given(st.lists(st.tuples(st.booleans(), st.sampled_from("abc")), max_size=6))
@settings(max_examples=60)
def test_rt53_any_mix_folds_in_order_on_both_sides(kinds: list[tuple[bool, str]]) -> None:
    composite = CompositeOperationInterceptor(
        Awaited(word) if is_async else Plain(word) for is_async, word in kinds
    )
    expected = "".join(word for _, word in kinds)
    assert words_of(composite) == (expected, expected)


def test_rt54_an_empty_one_is_the_identity() -> None:
    composite = CompositeOperationInterceptor([])
    response = ModelResponse(content="x")
    assert composite.intercept_request(CONTEXT, START) is START
    assert composite.intercept_response(CONTEXT, response) is response


def test_rt55_a_side_that_nobody_overrides_is_the_identity() -> None:
    composite = CompositeOperationInterceptor([OperationInterceptor(), OperationInterceptor()])
    response = ModelResponse(content="x")
    assert composite.intercept_request(CONTEXT, START) is START
    assert composite.intercept_response(CONTEXT, response) is response


def test_plain_children_make_a_plain_composite() -> None:
    composite = CompositeOperationInterceptor([Plain("a"), Plain("b")])
    assert not isinstance(composite.intercept_request(CONTEXT, START), Awaitable)


def test_composites_nest() -> None:
    inner = CompositeOperationInterceptor([Plain("b"), Awaited("c")])
    assert words_of(CompositeOperationInterceptor([Plain("a"), inner, Plain("d")])) == ("abcd", "abcd")


def test_a_failure_stops_the_fold() -> None:
    seen: list[str] = []

    class Failing(OperationInterceptor):
        def intercept_request(self, context: object, messages: object) -> Any:
            raise KeyError("x")

    class Late(OperationInterceptor):
        def intercept_request(self, context: object, messages: Any) -> Any:
            seen.append("late")
            return messages

    for first in (Plain("a"), Awaited("a")):
        with pytest.raises(KeyError):
            settled(
                CompositeOperationInterceptor([first, Failing(), Late()]).intercept_request(CONTEXT, START)
            )
    assert seen == []


def test_a_pending_fold_that_is_given_up_closes_the_child_it_waits_for() -> None:
    pending: Any = CompositeOperationInterceptor(
        [CompositeOperationInterceptor([Awaited("a")]), Plain("b")]
    ).intercept_request(CONTEXT, START)
    pending.close()
    with pytest.raises(RuntimeError, match="cannot reuse already awaited coroutine"):
        settled(pending)


def test_a_pending_fold_over_something_without_close_can_be_given_up() -> None:
    class Future:
        def __await__(self) -> Any:
            return iter(())

    class Handing(OperationInterceptor):
        def intercept_request(self, context: object, messages: object) -> Any:
            return Future()

    pending: Any = CompositeOperationInterceptor([Handing()]).intercept_request(CONTEXT, START)
    pending.close()


@pytest.mark.parametrize(
    ("child", "kind"),
    [
        (object(), "of type object"),
        (print, "a bare function"),
        (Plain, "the class Plain, and no instance"),
        (None, "of type NoneType"),
    ],
)
def test_what_is_no_interceptor_is_refused_by_position(child: Any, kind: str) -> None:
    complaint = rf"^interceptors\[1\] is {kind}; derive it from OperationInterceptor$"
    with pytest.raises(TypeError, match=complaint):
        CompositeOperationInterceptor([Plain("a"), child])


def test_the_children_are_kept_as_a_tuple() -> None:
    children: list[OperationInterceptor] = [Plain("a")]
    composite = CompositeOperationInterceptor(children)
    children.append(Plain("b"))
    assert len(composite.interceptors) == 1
