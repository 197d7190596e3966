"""What must hold with every version of the SDKs: `python -m tests.peers.sdk_checks`, in an environment that has them.

It needs nothing of what tests are run with, since it runs beside versions that these do not take.
"""

from __future__ import annotations

import importlib
import inspect
import sys
from collections.abc import Awaitable, Callable, Iterable
from typing import Any, Final, TypeAlias

import anthropic
import anyio
import openai

from tramapy import (
    AsyncGovernedTransport,
    ConfigurationError,
    DlpInspectionError,
    DlpRule,
    GovernedTransport,
    ModelResponse,
    OperationInterceptor,
    RetryPolicySettings,
    RuleBasedDlpConfiguration,
    RuleBasedDlpInterceptor,
    ToolCall,
    wrap,
)
from tramapy.dlp import DlpAction
from tramapy.errors import TramapyError
from tramapy.testing import CutStream, HttpRejection, ScriptedAnswer, ScriptedServer

Check: TypeAlias = Callable[["Case"], Awaitable[None]]

_SSN: Final = "123-45-6789"
_CALL: Final = ModelResponse(tool_calls=(ToolCall(id="c1", name="find", arguments_json=f'{{"q":"{_SSN}"}}'),))
_RETRIES: Final = RetryPolicySettings(provider_retries=1, jitter_ratio=0.0)


def _dlp(action: DlpAction = DlpAction.REDACT) -> RuleBasedDlpInterceptor:
    rule = DlpRule(id="ssn", pattern=r"\b\d{3}-\d{2}-\d{4}\b", replacement="[SSN]", action=action)
    return RuleBasedDlpInterceptor(RuleBasedDlpConfiguration(rules=[rule]))


class _Masking(OperationInterceptor):
    def intercept_request(self, context: object, messages: Any) -> list[Any]:
        return [message.replace(content=message.content.replace("Ada", "***")) for message in messages]


class Case:
    """A vendor's client, sync or async, over a scripted server."""

    def __init__(self, vendor: str, *, is_async: bool) -> None:
        self.vendor = vendor
        self.is_async = is_async
        self.sdk: Any = openai if vendor == "openai" else anthropic
        self.base: type[Exception] = openai.OpenAIError if vendor == "openai" else anthropic.AnthropicError

    def bare(self, server: ScriptedServer) -> Any:
        """Make a client."""
        title = "OpenAI" if self.vendor == "openai" else "Anthropic"
        kind = getattr(self.sdk, f"Async{title}" if self.is_async else title)
        url = server.base_url if self.vendor == "openai" else server.root_url
        return kind(base_url=url, api_key="none", max_retries=2)

    async def ask(self, client: Any, **options: Any) -> Any:
        """Ask by the vendor's main method."""
        options = {"model": "m", "messages": [{"role": "user", "content": "Who is Ada?"}], **options}
        if self.vendor == "openai":
            return await _go(client.chat.completions.create(**options))
        return await _go(client.messages.create(max_tokens=9, **options))

    async def run(
        self,
        answers: Iterable[ScriptedAnswer],
        step: Callable[[Any, ScriptedServer], Awaitable[None]],
        **settings: Any,
    ) -> None:
        """Run a step with a wrapped client."""
        with ScriptedServer(answers) as server:
            bare = self.bare(server)
            try:
                await step(wrap(bare, retry=_RETRIES, **{"dlp": _dlp(), **settings}), server)
            finally:
                await _go(bare.close())

    def text(self, answer: Any) -> str:
        """The text of a whole answer."""
        if self.vendor == "openai":
            return str(answer.choices[0].message.content)
        return str(answer.content[0].text)

    def arguments(self, answer: Any) -> object:
        """The arguments of an answer's tool call."""
        if self.vendor == "openai":
            return answer.choices[0].message.tool_calls[0].function.arguments
        return answer.content[0].input

    def piece(self, item: Any) -> str:
        """The text, and the arguments, of an item of a stream."""
        if self.vendor == "openai":
            delta = item.choices[0].delta if item.choices else None
            calls = [call.function.arguments or "" for call in getattr(delta, "tool_calls", None) or ()]
            return (getattr(delta, "content", None) or "") + "".join(calls)
        delta = getattr(item, "delta", None)
        return getattr(delta, "text", "") or getattr(delta, "partial_json", "")


async def _go(value: Any) -> Any:
    return await value if inspect.isawaitable(value) else value


async def _joined(case: Case, stream: Any) -> str:
    if case.is_async:
        return "".join([case.piece(item) async for item in stream])
    return "".join(case.piece(item) for item in stream)


def _require(is_so: bool, what: object) -> None:
    if not is_so:
        raise AssertionError(repr(what))


async def _plain(case: Case) -> None:
    async def step(client: Any, server: ScriptedServer) -> None:
        answer = await case.ask(client)
        _require(case.text(answer) == "It is [SSN].", answer)
        _require("***" in repr(server.requests[0].body), server.requests[0].body)
        _require(type(client) is type(client.with_options(timeout=9)), type(client))

    await case.run([f"It is {_SSN}."], step, interceptors=[_Masking()])


async def _stream(case: Case) -> None:
    async def step(client: Any, server: ScriptedServer) -> None:
        said = await _joined(case, await case.ask(client, stream=True))
        _require(said == "It is [SSN] indeed.", said)

    await case.run([f"It is {_SSN} indeed."], step)


async def _tool_call(case: Case) -> None:
    async def step(client: Any, server: ScriptedServer) -> None:
        arguments = case.arguments(await case.ask(client))
        _require("[SSN]" in repr(arguments) and _SSN not in repr(arguments), arguments)
        said = await _joined(case, await case.ask(client, stream=True))
        _require(said.replace(" ", "") == '{"q":"[SSN]"}', said)

    await case.run([_CALL, _CALL], step)


async def _retried(case: Case) -> None:
    async def step(client: Any, server: ScriptedServer) -> None:
        await case.ask(client)
        _require(len(server.requests) == 2, len(server.requests))

    await case.run([HttpRejection(status=503), "yes"], step)


async def _refusal(case: Case) -> None:
    async def step(client: Any, server: ScriptedServer) -> None:
        for options in ({}, {"stream": True}):
            error = await _error(case.ask(client, **options), case.sdk.BadRequestError)
            _require(_SSN not in f"{error} {error.body}", error)
        _require(len(server.requests) == 2, len(server.requests))

    await case.run([HttpRejection(status=400, message=f"no {_SSN}")] * 2, step)


async def _own_error(case: Case) -> None:
    async def step(client: Any, server: ScriptedServer) -> None:
        error = await _error(case.ask(client), DlpInspectionError)
        _require(isinstance(error, case.base), type(error).__mro__)
        await _error(case.ask(client.with_options(timeout=9)), DlpInspectionError)
        _require(len(server.requests) == 2, len(server.requests))

    await case.run([_SSN] * 2, step, dlp=_dlp(DlpAction.BLOCK))


async def _cut_stream(case: Case) -> None:
    async def step(client: Any, server: ScriptedServer) -> None:
        stream = await case.ask(client, stream=True)
        error = await _error(_joined(case, stream), TramapyError)
        _require(isinstance(error, case.base), type(error).__mro__)

    await case.run([CutStream()], step)


async def _helper_stream(case: Case) -> None:
    async def step(client: Any, server: ScriptedServer) -> None:
        options = {"model": "m", "messages": [{"role": "user", "content": "x"}], "max_tokens": 9}
        manager = client.messages.stream(**options)
        if case.is_async:
            async with manager as stream:
                said = await stream.get_final_text()
        else:
            with manager as stream:
                said = stream.get_final_text()
        _require(said == "It is [SSN].", said)

    await case.run([f"It is {_SSN}."], step)


async def _responses(case: Case) -> None:
    async def step(client: Any, server: ScriptedServer) -> None:
        answer = await _go(client.responses.create(model="m", input="x"))
        _require(answer.output_text == "It is [SSN].", answer)

    await case.run([f"It is {_SSN}."], step)


async def _transport(case: Case) -> None:
    """Ask below each HTTP library that is installed, as a library that is built on it would."""
    for name in ("httpx", "httpx2"):
        try:
            library: Any = importlib.import_module(name)
        except ImportError:
            continue
        settings: dict[str, Any] = {"vendor": case.vendor, "retry": _RETRIES, "dlp": _dlp()}
        if case.is_async:
            inner = library.AsyncHTTPTransport(verify=False)
            client = library.AsyncClient(transport=AsyncGovernedTransport(inner, **settings))
        else:
            inner = library.HTTPTransport(verify=False)
            client = library.Client(transport=GovernedTransport(inner, **settings))
        answers: list[ScriptedAnswer] = [
            HttpRejection(status=503),
            f"It is {_SSN}.",
            f"It is {_SSN} indeed.",
            CutStream(),
        ]
        with ScriptedServer(answers) as server:
            path = "/v1/chat/completions" if case.vendor == "openai" else "/v1/messages"
            body = {"model": "m", "max_tokens": 9, "messages": [{"role": "user", "content": "x"}]}
            for options in ({}, {"stream": True}):
                response = await _go(client.post(server.root_url + path, json={**body, **options}))
                _require("[SSN]" in response.text and _SSN not in response.text, response.text)
            pending = _post(client, server.root_url + path, {**body, "stream": True})
            await _error(pending, TramapyError)
            _require(len(server.requests) == 4, len(server.requests))
        await _go(client.aclose() if case.is_async else client.close())


async def _post(client: Any, url: str, body: object) -> Any:
    return await _go(client.post(url, json=body))


async def _refused_version(case: Case) -> None:
    """Take the place of all others where the SDK is too old."""

    async def step(client: Any, server: ScriptedServer) -> None:
        raise AssertionError("it was wrapped")

    error = await _error(case.run([], step), ConfigurationError)
    _require(openai.__version__ in str(error), error)


async def _error(pending: Awaitable[Any], kind: type[Exception]) -> Any:
    try:
        found = await pending
    except kind as error:
        return error
    raise AssertionError(f"no {kind.__name__}, but {found!r}")


_BOTH: Final[tuple[Check, ...]] = (
    *(_plain, _stream, _tool_call, _retried, _refusal, _own_error, _cut_stream),
    _transport,
)
_CHECKS: Final[dict[str, tuple[Check, ...]]] = {
    "openai": (_refused_version,) if openai.__version__.startswith("1.") else (*_BOTH, _responses),
    "anthropic": (*_BOTH, _helper_stream),
}


def main() -> int:
    """Run all checks, and print a line for each."""
    failed = 0
    for vendor, checks in _CHECKS.items():
        for world in ("sync", "asyncio", "trio"):
            for check in checks:
                case = Case(vendor, is_async=world != "sync")
                name = f"{vendor} {world} {check.__name__.strip('_')}"
                try:
                    anyio.run(check, case, backend="asyncio" if world == "sync" else world)
                except Exception as error:
                    failed += 1
                    sys.stdout.write(
                        f"FAILED {name}: {type(error).__name__}: {' '.join(str(error).split())[:300]}\n"
                    )
                else:
                    sys.stdout.write(f"passed {name}\n")
    return failed


if __name__ == "__main__":
    sys.exit(bool(main()))
