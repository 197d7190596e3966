"""A provider that fails twice and is tried again: first by backoff, then when it says so itself."""

from __future__ import annotations

from typing import Final

from tramapy.cli.demo.answers import plain_answer
from tramapy.cli.demo.prompt_file import PromptFile
from tramapy.cli.demo.scene import Claim, Scene
from tramapy.cli.demo.stage import on_stage
from tramapy.errors import TramapyError
from tramapy.testing import HttpRejection

__all__ = ["play"]

_RETRY_AFTER_S: Final = 2


def play(prompt: PromptFile) -> Scene:
    """Let a 503 and a 429 pass, and get the answer."""
    overloaded = HttpRejection(status=503, message="overloaded")
    limited = HttpRejection(status=429, code="rate_limit", headers={"retry-after": str(_RETRY_AFTER_S)})
    with on_stage(prompt, [overloaded, limited, plain_answer]) as stage:
        response = stage.ask("demo-d")
        sleeps, bodies = stage.clock.sleeps, [request.body["messages"] for request in stage.server.requests]
    return Scene(
        title="A provider fails twice, and the third attempt answers",
        body=(stage.timeline.table(),),
        claims=(
            Claim("the caller got an answer and no error", not isinstance(response, TramapyError)),
            Claim(
                f"the second wait is the {_RETRY_AFTER_S} s that Retry-After asked for, and jitter on top",
                len(sleeps) == 2 and sleeps[0] < 0.1 and _RETRY_AFTER_S <= sleeps[1] < _RETRY_AFTER_S * 1.2,
            ),
            Claim(
                "the server saw three requests, each masked anew from the same prompt",
                len(bodies) == 3 and bodies[0] == bodies[1] == bodies[2],
            ),
        ),
    )
