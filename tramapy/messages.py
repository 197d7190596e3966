"""What goes to a model and what comes back, as immutable values that never show their text in `repr`."""

from __future__ import annotations

import dataclasses
import enum
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Final, Self, TypeAlias, TypedDict, Unpack

from tramapy.keywords import explains_names
from tramapy.values import MOST, each, instance, number, optional_texts, texts

__all__ = [
    "NO_USAGE",
    "Chunk",
    "CompletedChunk",
    "ContentPart",
    "FinishReason",
    "ImageDetail",
    "ImagePart",
    "Message",
    "MessageRole",
    "ModelRequest",
    "ModelResponse",
    "TextChunk",
    "TextPart",
    "TokenUsage",
    "ToolCall",
    "ToolCallChunk",
    "ToolDefinition",
]


class MessageRole(enum.Enum):
    """Who speaks."""

    SYSTEM = "system"
    USER = "user"
    ASSISTANT = "assistant"
    TOOL = "tool"


class ImageDetail(enum.Enum):
    """How closely the model should look at an image."""

    LOW = "low"
    HIGH = "high"
    AUTO = "auto"


class FinishReason(enum.Enum):
    """Why the model stopped."""

    STOP = "stop"
    LENGTH = "length"
    TOOL_CALLS = "tool_calls"
    CONTENT_FILTER = "content_filter"
    OTHER = "other"


@explains_names
@dataclass(frozen=True, slots=True, repr=False)
class TextPart:
    """A run of text inside a multimodal message."""

    text: str

    def __post_init__(self) -> None:
        texts(self, "TextPart", "text")

    def __repr__(self) -> str:
        return f"TextPart(<{len(self.text)} characters>)"


@explains_names
@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class ImagePart:
    """An image, inline or by address; exactly one of `data` and `url`.

    Args:
        data: The encoded image, not empty; copied.
        mime_type: For example `image/png`; required with `data`.
        url: An address that the provider fetches. It is sent as it is: DLP does not look into it.
        detail: How closely to look.
    """

    data: bytes | None = None
    mime_type: str | None = None
    url: str | None = None
    detail: ImageDetail = ImageDetail.AUTO

    def __post_init__(self) -> None:
        if (self.data is None) == (self.url is None):
            raise ValueError("ImagePart takes exactly one of data and url")
        optional_texts(self, "ImagePart", "mime_type", "url")
        instance("ImagePart.detail", self.detail, ImageDetail, "for example ImageDetail.AUTO")
        if self.data is not None:
            if not isinstance(self.data, (bytes, bytearray, memoryview)):
                raise TypeError(f"ImagePart.data takes bytes, not {type(self.data).__name__}")
            object.__setattr__(self, "data", bytes(self.data))
            if not self.data:
                raise ValueError("ImagePart.data is empty; pass the bytes of an encoded image")
            if not self.mime_type:
                raise ValueError("ImagePart.mime_type is required with data, for example 'image/png'")

    def __repr__(self) -> str:
        where = "<url>" if self.data is None else f"<{len(self.data)} bytes>"
        return f"ImagePart({where}, mime_type={self.mime_type!r}, detail={self.detail.name})"


ContentPart: TypeAlias = TextPart | ImagePart


@explains_names
@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class ToolCall:
    """A call that the model proposes; `arguments_json` is the JSON text exactly as the model wrote it."""

    id: str
    name: str
    arguments_json: str

    def __post_init__(self) -> None:
        arguments: object = self.arguments_json
        if isinstance(arguments, dict):
            raise TypeError("ToolCall.arguments_json takes a str, not dict; write json.dumps(...)")
        texts(self, "ToolCall", "id", "name", "arguments_json")

    def replace(self, *, arguments_json: str) -> ToolCall:
        """Return a copy with other arguments."""
        return ToolCall(id=self.id, name=self.name, arguments_json=arguments_json)

    def __repr__(self) -> str:
        # id and name are a model's words too, and may be anything
        return f"ToolCall(name=<{len(self.name)} characters>, <{len(self.arguments_json)} characters>)"


@explains_names
@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class ToolDefinition:
    """A tool that the model may call; `input_schema` is a JSON Schema object."""

    name: str
    description: str = ""
    input_schema: Mapping[str, object] = field(default_factory=lambda: {"type": "object", "properties": {}})

    def __post_init__(self) -> None:
        texts(self, "ToolDefinition", "name", "description")
        schema: object = self.input_schema
        if not isinstance(schema, Mapping):
            remedy = "; write json.loads(...)" if isinstance(schema, str) else ""
            raise TypeError(
                f"ToolDefinition.input_schema takes a mapping, not {type(schema).__name__}{remedy}"
            )

    def __repr__(self) -> str:
        return f"ToolDefinition(name={self.name!r})"


class MessageFields(TypedDict, total=False):
    """The fields that `Message.replace` takes."""

    role: MessageRole
    content: str
    content_parts: Iterable[ContentPart] | None
    tool_call_id: str | None
    tool_name: str | None
    tool_calls: Iterable[ToolCall]


@explains_names
@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Message:
    """One message of a conversation.

    Args:
        role: Who speaks.
        content: Plain text; must be blank where `content_parts` is given.
        content_parts: Text and images in order, instead of `content`. An empty list counts as given.
        tool_call_id: In a TOOL message, the call that this answers.
        tool_name: In a TOOL message, the tool's name; otherwise found through `tool_call_id`.
        tool_calls: In an ASSISTANT message, the calls that the model proposed.
        origin: Under a wrapped client, the message's place in the request; leave it as it is. A message of your
            own has None.
    """

    role: MessageRole
    content: str = ""
    content_parts: tuple[ContentPart, ...] | None = None
    tool_call_id: str | None = None
    tool_name: str | None = None
    tool_calls: tuple[ToolCall, ...] = ()
    origin: object = field(default=None, compare=False)

    def __post_init__(self) -> None:
        instance(
            "Message.role", self.role, MessageRole, "for example MessageRole.USER, or write Message.user(...)"
        )
        texts(self, "Message", "content")
        optional_texts(self, "Message", "tool_call_id", "tool_name")
        if self.tool_calls != ():
            object.__setattr__(self, "tool_calls", _tool_calls("Message", self.tool_calls))
        if self.content_parts is None:
            return
        object.__setattr__(self, "content_parts", _parts("Message", self.content_parts))
        if self.content and not self.content.isspace():
            raise ValueError(
                "Message takes content or content_parts, not both; move the text into a TextPart"
            )

    @classmethod
    def system(cls, content: str) -> Self:
        """Make a SYSTEM message."""
        return cls(role=MessageRole.SYSTEM, content=content)

    @classmethod
    def user(cls, content: str | Iterable[ContentPart]) -> Self:
        """Make a USER message from text, or from parts where it is multimodal."""
        if isinstance(content, str):
            return cls(role=MessageRole.USER, content=content)
        if not isinstance(content, Iterable):
            raise TypeError(
                f"Message.user takes a str, or parts such as [TextPart(...)], not {type(content).__name__}"
            )
        return cls(role=MessageRole.USER, content_parts=_parts("Message", content))

    @classmethod
    def assistant(cls, content: str = "", *, tool_calls: Iterable[ToolCall] = ()) -> Self:
        """Make an ASSISTANT message."""
        return cls(role=MessageRole.ASSISTANT, content=content, tool_calls=_tool_calls("Message", tool_calls))

    @classmethod
    def tool(cls, content: str, *, tool_call_id: str, tool_name: str | None = None) -> Self:
        """Make a TOOL message, the answer to one call."""
        return cls(role=MessageRole.TOOL, content=content, tool_call_id=tool_call_id, tool_name=tool_name)

    @property
    def has_image(self) -> bool:
        """Whether any part is an image."""
        return self.content_parts is not None and any(
            isinstance(part, ImagePart) for part in self.content_parts
        )

    def replace(self, **changes: Unpack[MessageFields]) -> Message:
        """Return a copy with the given fields changed."""
        return dataclasses.replace(self, **changes)  # type: ignore[arg-type]  # __post_init__ makes tuples

    def __repr__(self) -> str:
        return f"Message({self.role.name}, {_size(self.content, self.content_parts, self.tool_calls)})"


@explains_names
@dataclass(frozen=True, slots=True, kw_only=True)
class TokenUsage:
    """Token counts of one attempt; a count that the provider did not give is None, never 0.

    Args:
        input_tokens: All tokens of the prompt, cached ones included.
        output_tokens: All tokens of the answer, reasoning included.
        reasoning_tokens: The part of `output_tokens` spent on reasoning.
        cache_read_tokens: The part of `input_tokens` read from the provider's cache.
        cache_write_tokens: The part of `input_tokens` written to it.
    """

    input_tokens: int | None = None
    output_tokens: int | None = None
    reasoning_tokens: int | None = None
    cache_read_tokens: int | None = None
    cache_write_tokens: int | None = None

    def __post_init__(self) -> None:
        for name in _COUNTS:
            count = getattr(self, name)
            if count is None or (type(count) is int and -MOST <= count <= MOST):
                continue
            if type(count) is not int:
                raise TypeError(f"TokenUsage.{name} takes an int or None, not {type(count).__name__}")
            raise ValueError(f"TokenUsage.{name} does not fit into 64 bits; give the tokens of one attempt")

    @property
    def total_tokens(self) -> int | None:
        """Input and output together, or None where either is missing."""
        if self.input_tokens is None or self.output_tokens is None:
            return None
        return self.input_tokens + self.output_tokens


_COUNTS: Final = TokenUsage.__slots__

NO_USAGE: Final = TokenUsage()
"""The usage of a provider that gave none."""


class ModelResponseFields(TypedDict, total=False):
    """The fields that `ModelResponse.replace` takes."""

    content: str
    content_parts: Iterable[ContentPart] | None
    tool_calls: Iterable[ToolCall]
    refusal: str | None
    reasoning: str | None
    usage: TokenUsage
    model: str | None
    finish_reason: FinishReason
    response_id: str | None


@explains_names
@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class ModelResponse:
    """One answer of a model.

    Args:
        content: The text; blank where `content_parts` is given.
        content_parts: Text and images in order, where the answer is multimodal.
        tool_calls: The calls that the model proposes.
        refusal: The model's words where it refused.
        reasoning: Its reasoning, where the provider shows it.
        usage: Token counts.
        model: The model that answered, as the provider names it.
        finish_reason: Why it stopped.
        response_id: The provider's id of the answer.
    """

    content: str = ""
    content_parts: tuple[ContentPart, ...] | None = None
    tool_calls: tuple[ToolCall, ...] = ()
    refusal: str | None = None
    reasoning: str | None = None
    usage: TokenUsage = NO_USAGE
    model: str | None = None
    finish_reason: FinishReason = FinishReason.STOP
    response_id: str | None = None

    def __post_init__(self) -> None:
        texts(self, "ModelResponse", "content")
        optional_texts(self, "ModelResponse", "refusal", "reasoning", "model", "response_id")
        instance("ModelResponse.usage", self.usage, TokenUsage, "for example TokenUsage()")
        instance(
            "ModelResponse.finish_reason", self.finish_reason, FinishReason, "for example FinishReason.STOP"
        )
        if self.tool_calls != ():
            object.__setattr__(self, "tool_calls", _tool_calls("ModelResponse", self.tool_calls))
        if self.content_parts is None:
            return
        object.__setattr__(self, "content_parts", _parts("ModelResponse", self.content_parts))
        if self.content and not self.content.isspace():
            raise ValueError("ModelResponse takes content or content_parts, not both")

    def replace(self, **changes: Unpack[ModelResponseFields]) -> ModelResponse:
        """Return a copy with the given fields changed."""
        return dataclasses.replace(self, **changes)  # type: ignore[arg-type]  # __post_init__ makes tuples

    def __repr__(self) -> str:
        size = _size(self.content, self.content_parts, self.tool_calls)
        extras = "".join(
            f", {name}=<{len(text)} characters>"
            for name, text in (("refusal", self.refusal), ("reasoning", self.reasoning))
            if text is not None
        )
        return f"ModelResponse({size}{extras}, finish_reason={self.finish_reason.name})"


class ModelRequestFields(TypedDict, total=False):
    """The fields that `ModelRequest.replace` takes."""

    model: str
    messages: Iterable[Message]
    tools: Iterable[ToolDefinition]
    temperature: float | None
    top_p: float | None
    max_output_tokens: int | None
    instructions: str | None
    timeout_s: float | None


@explains_names
@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class ModelRequest:
    """What one attempt sends to a provider.

    Args:
        model: The model of this route.
        messages: The messages after the request interceptors and `request_dlp`.
        tools: The tools that the model may call.
        temperature: Sampling temperature; None leaves it to the provider.
        top_p: Nucleus sampling; None leaves it to the provider.
        max_output_tokens: Limit of the answer's length.
        instructions: Added to the system prompt, where a provider has a place for it.
        timeout_s: How long this attempt may take; hand it to the transport.
        native: Under a wrapped client, the request in the vendor's own format; leave it as it is.
    """

    model: str
    messages: tuple[Message, ...]
    tools: tuple[ToolDefinition, ...] = ()
    temperature: float | None = None
    top_p: float | None = None
    max_output_tokens: int | None = None
    instructions: str | None = None
    timeout_s: float | None = None
    native: object = field(default=None, compare=False)

    def __post_init__(self) -> None:
        texts(self, "ModelRequest", "model")
        optional_texts(self, "ModelRequest", "instructions")
        for field_ in ("temperature", "top_p", "timeout_s"):
            number(f"ModelRequest.{field_}", getattr(self, field_), int, float)
        number("ModelRequest.max_output_tokens", self.max_output_tokens, int)
        messages = each("ModelRequest.messages", self.messages, (Message,), "give Message values")
        object.__setattr__(self, "messages", messages)
        tools = each("ModelRequest.tools", self.tools, (ToolDefinition,), "give ToolDefinition(name=...)")
        object.__setattr__(self, "tools", tools)

    def replace(self, **changes: Unpack[ModelRequestFields]) -> ModelRequest:
        """Return a copy with the given fields changed."""
        return dataclasses.replace(self, **changes)  # type: ignore[arg-type]  # __post_init__ makes tuples

    def __repr__(self) -> str:
        return (
            f"ModelRequest(model={self.model!r}, <{len(self.messages)} messages>, <{len(self.tools)} tools>)"
        )


@explains_names
@dataclass(frozen=True, slots=True, repr=False)
class TextChunk:
    """A piece of the answer's text, already inspected."""

    text: str

    def __repr__(self) -> str:
        # nothing is checked when one is made, on the hot path; the engine refuses what is no text
        text: object = self.text
        size = f"{len(text)} characters" if isinstance(text, str) else type(text).__name__
        return f"TextChunk(<{size}>)"


@explains_names
@dataclass(frozen=True, slots=True, repr=False)
class ToolCallChunk:
    """One whole tool call; it is never cut into pieces."""

    tool_call: ToolCall

    def __repr__(self) -> str:
        return f"ToolCallChunk({_shown(self.tool_call, ToolCall)})"


@explains_names
@dataclass(frozen=True, slots=True, repr=False)
class CompletedChunk:
    """The end of a stream: the whole answer, once. Its text is what the `TextChunk`s carried."""

    response: ModelResponse

    def __repr__(self) -> str:
        return f"CompletedChunk({_shown(self.response, ModelResponse)})"


Chunk: TypeAlias = TextChunk | ToolCallChunk | CompletedChunk


def _parts(owner: str, parts: Iterable[ContentPart]) -> tuple[ContentPart, ...]:
    return each(
        f"{owner}.content_parts", parts, (TextPart, ImagePart), "give TextPart(...) or ImagePart(...)"
    )


def _tool_calls(owner: str, calls: Iterable[ToolCall]) -> tuple[ToolCall, ...]:
    return each(f"{owner}.tool_calls", calls, (ToolCall,), "give ToolCall(...)")


def _shown(value: object, kind: type[object]) -> str:
    """Return the repr of a value that hides its text, and of anything else the type alone."""
    return repr(value) if isinstance(value, kind) else f"<{type(value).__name__}>"


def _size(content: str, parts: tuple[ContentPart, ...] | None, tool_calls: tuple[ToolCall, ...]) -> str:
    body = f"<{len(content)} characters>" if parts is None else f"<{len(parts)} parts>"
    return f"{body}, <{len(tool_calls)} tool calls>" if tool_calls else body
