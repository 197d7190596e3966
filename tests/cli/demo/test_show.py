import io
import re
from functools import cache
from pathlib import Path

import pytest
from rich.console import Console
from rich.text import Text

from tests.cli.running import PROMPTS, Outcome, run, run_in_a_pipe
from tramapy import TramapyError
from tramapy.cli.demo import show
from tramapy.cli.demo.answers import PLANTED
from tramapy.cli.demo.masking import find_sensitive
from tramapy.cli.demo.prompt_file import PromptFile, default_prompt_path
from tramapy.cli.demo.scene import Claim, Scene
from tramapy.testing import assert_no_canary


@cache
def shown(path: Path) -> Outcome:
    return run("demo", str(path))


@cache
def piped() -> bytes:
    return run_in_a_pipe("demo")


def played(text: str, *, is_cut: bool = False) -> tuple[bool, str]:
    console = Console(file=io.StringIO(), width=100, highlight=False, emoji=False)
    is_good = show.play_demo(PromptFile(name="prompt.txt", text=text, is_cut=is_cut), console)
    return is_good, console.file.getvalue()  # type: ignore[attr-defined]


@pytest.mark.parametrize("path", PROMPTS, ids=lambda path: path.stem)
def test_every_claim_holds_on_every_example(path: Path) -> None:
    outcome = shown(path)
    assert outcome.exit_code == 0
    assert re.search(r"^(\d+) of \1 claims held, in 8 scenes\.", outcome.output, re.MULTILINE)


@pytest.mark.parametrize("path", PROMPTS, ids=lambda path: path.stem)
def test_no_secret_is_shown(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    originals = [text[span.start : span.end] for span in find_sensitive(text)]
    assert_no_canary([*PLANTED, *originals], shown(path).output)


@pytest.mark.unmeasured
def test_the_same_prompt_always_shows_the_same_also_through_a_pipe() -> None:
    assert run_in_a_pipe("demo", PYTHONHASHSEED="7", COLUMNS="60") == piped()
    assert piped().decode() == shown(default_prompt_path()).output


@pytest.mark.unmeasured
def test_a_pipe_gets_no_colours_and_neither_does_no_color() -> None:
    assert b"\x1b" not in piped()
    coloured = run_in_a_pipe("events", FORCE_COLOR="1")
    assert b"\x1b[36m" in coloured
    assert b"\x1b[36m" not in run_in_a_pipe("events", FORCE_COLOR="1", NO_COLOR="1")


@pytest.mark.unmeasured
def test_a_terminal_without_the_characters_gets_question_marks_and_no_error() -> None:
    assert run_in_a_pipe("demo", PYTHONIOENCODING="ascii").isascii()


def test_no_port_and_no_path_of_the_machine_is_shown() -> None:
    output = shown(default_prompt_path()).output
    assert "127.0.0.1" not in output
    assert str(default_prompt_path().parent) not in output


@pytest.mark.parametrize(
    "text",
    [
        "Hello?",
        "one line without an end",
        "[CARD] is in the prompt itself",
        "\x1b]0;title\x07 tries the terminal",
        "·\r\n·\r\n",
    ],
    ids=["short", "no newline", "placeholder", "escape", "CRLF"],
)
def test_a_prompt_without_anything_sensitive_works_as_well(text: str) -> None:
    is_good, output = played(text)
    assert is_good
    assert "The default rules find nothing in this prompt." in output
    assert "\x1b" not in output


def test_a_prompt_with_much_to_mask_shows_the_first_of_it() -> None:
    is_good, output = played("Please call 078-05-1120 about 4111 1111 1111 1111 today.\n" * 20)
    assert is_good
    assert "and 32 more" in output


def test_a_single_value_is_told_as_one() -> None:
    is_good, output = played("Write to ann@example.com about 4711.")
    assert is_good
    assert "the original value is nowhere in the server's record" in output


def test_a_prompt_that_is_cut_says_so() -> None:
    _, output = played("Hello?", is_cut=True)
    assert "only the first 65536 bytes of it are used" in output


@pytest.mark.parametrize("data", [b"", b"\xff"], ids=["empty", "no UTF-8"])
def test_a_file_that_is_no_prompt_is_exit_code_2(tmp_path: Path, data: bytes) -> None:
    path = tmp_path / "prompt"
    path.write_bytes(data)
    outcome = run("demo", str(path))
    assert outcome.exit_code == 2
    assert outcome.output == ""
    assert "prompt" in outcome.errors


def test_a_claim_that_does_not_hold_is_exit_code_1(monkeypatch: pytest.MonkeyPatch) -> None:
    def play(prompt: PromptFile) -> Scene:
        return Scene(title="t", body=(Text("b"),), claims=(Claim("good", True), Claim("bad", False)))

    monkeypatch.setattr(show, "SCENES", (play,))
    outcome = run("demo")
    assert outcome.exit_code == 1
    assert "✗ DOES NOT HOLD: bad" in outcome.output
    assert "1 of 2 claims held" in outcome.output


@pytest.mark.parametrize("scene_name", ["answer", "stream", "fallback"])
def test_a_scene_that_gets_an_error_instead_of_its_answer_raises_it(
    scene_name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    from tramapy.cli.demo.stage import Stage

    def ask(stage: Stage, correlation_id: str) -> TramapyError:
        stage.tramapy.complete(stage.messages, model="model-a")
        return TramapyError("no answer")

    monkeypatch.setattr(Stage, "ask", ask)
    module = __import__(f"tramapy.cli.demo.scenes.{scene_name}", fromlist=["play"])
    with pytest.raises(TramapyError, match="no answer"):
        module.play(PromptFile(name="p", text="Hello?", is_cut=False))
