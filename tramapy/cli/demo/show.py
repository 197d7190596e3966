"""`play_demo`: the scenes in order, each with the claims that it has checked."""

from __future__ import annotations

import string

from rich.console import Console
from rich.padding import Padding
from rich.panel import Panel
from rich.rule import Rule
from rich.table import Table
from rich.text import Text

from tramapy.cli.demo.prompt_file import LIMIT_BYTES, PromptFile
from tramapy.cli.demo.scene import Claim, Scene
from tramapy.cli.demo.scenes import SCENES
from tramapy.cli.demo.show_text import printable

__all__ = ["play_demo"]


def play_demo(prompt: PromptFile, console: Console) -> bool:
    """Play every scene; return whether every claim held."""
    console.print(_opening(prompt))
    claims: list[Claim] = []
    for letter, play in zip(string.ascii_lowercase, SCENES, strict=False):
        scene = play(prompt)
        _show(letter, scene, console)
        claims += scene.claims
    held_count = sum(claim.holds for claim in claims)
    console.print()
    console.print(Rule(style="dim"))
    style = "bold green" if held_count == len(claims) else "bold red"
    console.print(Text(f"{held_count} of {len(claims)} claims held, in {len(SCENES)} scenes.", style))
    console.print(
        Text(
            "Try it on a text of yours: tramapy demo FILE, or make demo PROMPT=FILE. How it works: docs/index.md",
            "dim",
        )
    )
    return held_count == len(claims)


def _opening(prompt: PromptFile) -> Panel:
    line_count = len(prompt.text.splitlines())
    size = f"{len(prompt.text)} characters in {line_count} line{'' if line_count == 1 else 's'}"
    cut = f"; only the first {LIMIT_BYTES} bytes of it are used" if prompt.is_cut else ""
    text = Text.assemble(
        ("Your prompt: ", "bold"),
        f"{printable(prompt.name)}, {size}{cut}.\n",
        "It goes through Tramapy and the OpenAI SDK, over HTTP, to a server in this process that answers from ",
        "a script and fails when it is told to. Time stands still but for waits, so the same prompt always ",
        "shows the same. What the rules find is shown nowhere.",
    )
    return Panel(text, title="tramapy demo", title_align="left")


def _show(letter: str, scene: Scene, console: Console) -> None:
    console.print()
    console.print(Rule(Text(f"{letter}. {scene.title}", "bold"), align="left", style="dim"))
    for part in scene.body:
        console.print(Padding(part, (0, 0, 0, 2)))
    console.print(Padding(_claims_table(scene), (0, 0, 0, 2)))


def _claims_table(scene: Scene) -> Table:
    table = Table.grid(padding=(0, 1))
    for claim in scene.claims:
        mark, style = ("✓", "green") if claim.holds else ("✗ DOES NOT HOLD:", "bold red")
        table.add_row(Text(mark, style), Text(claim.text, style))
    return table
