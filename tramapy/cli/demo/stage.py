"""`Stage`: a scripted server or two, the real SDK's client before each, and `Tramapy` over both."""

from __future__ import annotations

import random
from collections.abc import Generator, Iterable
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import Final, Unpack

import openai

from tramapy.cli.demo.masking import PromptMasking, default_rules
from tramapy.cli.demo.prompt_file import PromptFile
from tramapy.cli.demo.timeline import Timeline
from tramapy.client import Tramapy
from tramapy.errors import TramapyError
from tramapy.hooks.provider import Provider
from tramapy.messages import Message, ModelResponse
from tramapy.providers.openai_chat import OpenAIChatProvider
from tramapy.settings import PipelineSettings
from tramapy.testing import FakeClock, ScriptedAnswer, ScriptedServer, Split, split_words

__all__ = ["BACKUP_MODEL", "MODEL", "Stage", "on_stage"]

MODEL: Final = "model-a"
BACKUP_MODEL: Final = "model-b"

_SEED: Final = 2
_INSTRUCTION: Final = "You answer briefly, in the language of the question."


@dataclass(frozen=True, slots=True, kw_only=True)
class Stage:
    """Everything that a scene needs.

    Args:
        prompt: What is sent.
        server: Behind provider `primary`.
        backup: Behind provider `backup`.
        clock: Stands still but for waits, so that a wait takes no time.
        timeline: Hears every event.
        tramapy: Over both providers.
    """

    prompt: PromptFile
    server: ScriptedServer
    backup: ScriptedServer
    clock: FakeClock
    timeline: Timeline
    tramapy: Tramapy

    @property
    def messages(self) -> tuple[Message, ...]:
        """The prompt as it is, before any hook."""
        return (Message.system(_INSTRUCTION), Message.user(self.prompt.text))

    def ask(self, correlation_id: str) -> ModelResponse | TramapyError:
        """Send the prompt; return the answer, or the error that ended the operation."""
        try:
            return self.tramapy.complete(
                self.messages, model=MODEL, service_interface="Demo", correlation_id=correlation_id
            )
        except TramapyError as error:
            return error


@contextmanager
def on_stage(
    prompt: PromptFile,
    answers: Iterable[ScriptedAnswer],
    *,
    backup: Iterable[ScriptedAnswer] = (),
    split: Split = split_words,
    **settings: Unpack[PipelineSettings],
) -> Generator[Stage, None, None]:
    """Start the servers with these answers, and build the facade with these settings beside the demo's own."""
    clock = FakeClock()
    timeline = Timeline(clock)
    defaults: PipelineSettings = {
        "default_provider": "primary",
        "interceptors": [PromptMasking()],
        "dlp": default_rules(),
        "event_observers": [timeline],
        "clock": clock,
        "random": random.Random(_SEED),  # noqa: S311  # jitter that is the same in every run
    }
    with ExitStack() as stack:
        servers = [stack.enter_context(ScriptedServer(script, split=split)) for script in (answers, backup)]
        providers: dict[str, Provider] = {
            provider_id: _provider(stack, server, clock)
            for provider_id, server in zip(("primary", "backup"), servers, strict=True)
        }
        merged: PipelineSettings = {**defaults, **settings}
        yield Stage(
            prompt=prompt,
            server=servers[0],
            backup=servers[1],
            clock=clock,
            timeline=timeline,
            tramapy=Tramapy(providers, **merged),
        )


def _provider(stack: ExitStack, server: ScriptedServer, clock: FakeClock) -> OpenAIChatProvider:
    # a proxy of the environment's must not come between two programs on this machine
    http_client = openai.DefaultHttpxClient(trust_env=False)
    client = openai.OpenAI(api_key="not-needed", base_url=server.base_url, http_client=http_client)
    stack.enter_context(client)
    return OpenAIChatProvider(client, now_s=clock.now_s, now_epoch_s=clock.now_s)
