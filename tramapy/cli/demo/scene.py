"""`Scene`: what one part of the demo shows, and the claims that it makes and has checked."""

from __future__ import annotations

from dataclasses import dataclass

from rich.console import RenderableType

__all__ = ["Claim", "Scene"]


@dataclass(frozen=True, slots=True)
class Claim:
    """A sentence about what happened, and whether it held in this run."""

    text: str
    holds: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Scene:
    """One part of the demo, ready to be shown.

    Args:
        title: What it is about.
        body: What is shown.
        claims: What follows from it, each checked against what was recorded.
    """

    title: str
    body: tuple[RenderableType, ...]
    claims: tuple[Claim, ...]
