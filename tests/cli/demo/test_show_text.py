import pytest

from tramapy.cli.demo.show_text import dotted, printable


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("plain\ttext\n", "plain\ttext\n"),
        ("windows\r\nlines", "windows\nlines"),
        ("\x1b[31mred", "�[31mred"),
        ("back\rover", "back�over"),
        ("turn\u202earound", "turn�around"),
        ("Größe €", "Größe €"),
    ],
    ids=["plain", "CRLF", "escape", "carriage return", "direction", "letters"],
)
def test_nothing_commands_the_terminal(text: str, shown: str) -> None:
    assert printable(text) == shown


def test_a_secret_becomes_as_many_dots() -> None:
    assert dotted("a 123 b 45", ["123", "45"]) == "a ••• b ••"
