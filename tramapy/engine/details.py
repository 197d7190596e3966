"""`CallDetails`: what a call may say beside its messages, and mostly does not."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from tramapy.engine.arguments import (
    checked_count,
    checked_member,
    checked_name,
    checked_number,
    checked_text,
    checked_tools,
)
from tramapy.hooks.dlp import ClassificationSource, DataClassification
from tramapy.messages import ToolDefinition

__all__ = ["NO_DETAILS", "CallDetails"]


class CallDetails:
    """Sampling, tools, and what the caller says of the data.

    The keyword arguments are those of `Tramapy.complete`.

    Raises:
        ConfigurationError: An argument cannot work; the message names it.
    """

    __slots__ = (
        *("workflow_run_id", "data_classification", "classification_source"),
        *("tools", "temperature", "top_p", "max_output_tokens", "instructions"),
    )

    def __init__(
        self,
        *,
        workflow_run_id: str | None = None,
        data_classification: DataClassification | None = None,
        classification_source: ClassificationSource | None = None,
        tools: Iterable[ToolDefinition] | None = None,
        temperature: float | None = None,
        top_p: float | None = None,
        max_output_tokens: int | None = None,
        instructions: str | None = None,
    ) -> None:
        self.workflow_run_id: str | None = (
            None if workflow_run_id is None else checked_name("workflow_run_id", workflow_run_id)
        )
        self.data_classification: DataClassification | None = (
            None
            if data_classification is None
            else checked_member("data_classification", data_classification, DataClassification)
        )
        self.classification_source: ClassificationSource | None = (
            None
            if classification_source is None
            else checked_member("classification_source", classification_source, ClassificationSource)
        )
        self.tools: tuple[ToolDefinition, ...] = () if tools is None else checked_tools(tools)
        self.temperature: float | None = (
            None if temperature is None else checked_number("temperature", temperature)
        )
        self.top_p: float | None = None if top_p is None else checked_number("top_p", top_p, maximum=1.0)
        self.max_output_tokens: int | None = (
            None if max_output_tokens is None else checked_count("max_output_tokens", max_output_tokens)
        )
        self.instructions: str | None = (
            None if instructions is None else checked_text("instructions", instructions)
        )


NO_DETAILS: Final = CallDetails()
