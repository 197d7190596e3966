"""The fast values of an attempt are what their constructors make."""

from __future__ import annotations

import copy
import dataclasses
import pickle
from typing import Any

import pytest

from tests.drivers import Driver
from tramapy import (
    ClassificationSource,
    DataClassification,
    DlpContentLocation,
    DlpContentType,
    DlpContext,
    DlpResult,
    Message,
    ModelRequest,
    OperationCallContext,
    ToolDefinition,
)
from tramapy.engine.drafts import call_context, dlp_context, model_request
from tramapy.engine.operation import Attempt, Operation
from tramapy.hooks.dlp import unchanged
from tramapy.messages import MessageRole

TOOL = ToolDefinition(name="lookup")


def attempt_of(**options: Any) -> Attempt:
    """Make an attempt of an operation with these options; no call is made."""
    rig = Driver("sync").rig(["answer"])
    operation = Operation(
        rig.tramapy._pipeline, [Message.user("hello")], is_stream=False, **{"model": "m", **options}
    )
    return Attempt(operation, operation.routes[0], 0, 0.0)


FULL: dict[str, Any] = {
    "service_interface": "Support",
    "method_name": "answer",
    "correlation_id": "c1",
    "workflow_run_id": "w1",
    "data_classification": DataClassification.CONFIDENTIAL,
    "classification_source": ClassificationSource.DECLARED,
    "tools": [TOOL],
    "temperature": 0.5,
    "top_p": 0.9,
    "max_output_tokens": 7,
}


def pairs() -> dict[str, tuple[Any, Any]]:
    """Give each draft beside what its constructor makes."""
    attempt = attempt_of(**FULL)
    about: dict[str, Any] = {
        "operation_interface": "Support",
        "operation_method": "answer",
        "correlation_id": "c1",
        "workflow_run_id": "w1",
        "data_classification": DataClassification.CONFIDENTIAL,
        "classification_source": ClassificationSource.DECLARED,
    }
    messages = [Message(role=MessageRole.USER, content="x")]
    return {
        "call context": (
            call_context(attempt.operation, "q", 3),
            OperationCallContext(
                service_interface="Support",
                method_name="answer",
                provider_id="q",
                requested_model="m",
                attempt=3,
            ),
        ),
        "output context": (
            dlp_context(
                attempt,
                DlpContentType.MODEL_OUTPUT,
                DlpContentLocation.MODEL_RESPONSE_TOOL_ARGUMENTS,
                "lookup",
            ),
            DlpContext(
                content_type=DlpContentType.MODEL_OUTPUT,
                content_location=DlpContentLocation.MODEL_RESPONSE_TOOL_ARGUMENTS,
                provider_id="p",
                model_name="m",
                tool_name="lookup",
                **about,
            ),
        ),
        "input context": (
            dlp_context(
                attempt, DlpContentType.MODEL_INPUT, DlpContentLocation.REQUEST_MESSAGE_CONTENT, None
            ),
            DlpContext(
                content_type=DlpContentType.MODEL_INPUT,
                content_location=DlpContentLocation.REQUEST_MESSAGE_CONTENT,
                **about,
            ),
        ),
        "request": (
            model_request(attempt, messages, "be brief", 5.0),
            ModelRequest(
                model="m",
                messages=tuple(messages),
                tools=(TOOL,),
                temperature=0.5,
                top_p=0.9,
                max_output_tokens=7,
                instructions="be brief",
                timeout_s=5.0,
            ),
        ),
        "bare request": (
            model_request(attempt_of(), messages, None, None),
            ModelRequest(model="m", messages=tuple(messages)),
        ),
        "result": (unchanged("text"), DlpResult("text")),
    }


KINDS = ["call context", "output context", "input context", "request", "bare request", "result"]


@pytest.mark.parametrize("kind", KINDS)
def test_a_draft_equals_the_constructors_value(kind: str) -> None:
    draft, value = pairs()[kind]
    assert type(draft) is type(value)
    assert draft == value
    assert repr(draft) == repr(value)
    assert dataclasses.asdict(draft) == dataclasses.asdict(value)


@pytest.mark.parametrize("kind", KINDS)
def test_a_draft_is_frozen_in_every_field(kind: str) -> None:
    draft, _ = pairs()[kind]
    for field in dataclasses.fields(draft):
        with pytest.raises(dataclasses.FrozenInstanceError):
            setattr(draft, field.name, None)
        with pytest.raises(dataclasses.FrozenInstanceError):
            delattr(draft, field.name)
    assert not hasattr(draft, "__dict__")


@pytest.mark.parametrize("kind", KINDS)
def test_a_draft_copies_pickles_and_replaces(kind: str) -> None:
    draft, value = pairs()[kind]
    assert copy.deepcopy(draft) == value
    assert pickle.loads(pickle.dumps(draft)) == value
    assert dataclasses.replace(draft) == value


@pytest.mark.parametrize("kind", ["call context", "output context", "input context", "result"])
def test_a_draft_hashes_like_the_value(kind: str) -> None:
    draft, value = pairs()[kind]
    assert hash(draft) == hash(value)


def test_an_unchanged_text_of_a_subclass_is_an_exact_one() -> None:
    class Shouted(str):
        __slots__ = ()

    result = unchanged(Shouted("text"))
    assert type(result.sanitized_text) is str
    assert result == DlpResult("text")


def test_a_request_copies_the_messages() -> None:
    messages = [Message.user("x")]
    request = model_request(attempt_of(), messages, None, None)
    messages.append(Message.user("late"))
    assert len(request.messages) == 1
