from pathlib import Path

import pytest

from tests.cli.running import PROMPTS
from tramapy.cli.demo.prompt_file import LIMIT_BYTES, PromptFileError, default_prompt_path, read_prompt_file


def test_a_text_is_read_as_it_is(tmp_path: Path) -> None:
    path = tmp_path / "letter.txt"
    path.write_bytes("Größe: 7 €\r\n".encode())
    prompt = read_prompt_file(path)
    assert prompt.text == "Größe: 7 €\r\n"
    assert prompt.name == "letter.txt"
    assert not prompt.is_cut


def test_a_byte_order_mark_is_no_text(tmp_path: Path) -> None:
    path = tmp_path / "letter.txt"
    path.write_bytes(b"\xef\xbb\xbfhello")
    assert read_prompt_file(path).text == "hello"


def test_a_huge_file_is_cut_at_the_limit(tmp_path: Path) -> None:
    path = tmp_path / "huge.txt"
    path.write_text("x" * (3 * LIMIT_BYTES))
    prompt = read_prompt_file(path)
    assert len(prompt.text) == LIMIT_BYTES
    assert prompt.is_cut


def test_a_cut_within_a_character_drops_the_character(tmp_path: Path) -> None:
    path = tmp_path / "huge.txt"
    path.write_bytes(b"x" * (LIMIT_BYTES - 1) + "€€".encode())
    prompt = read_prompt_file(path)
    assert prompt.text == "x" * (LIMIT_BYTES - 1)


def test_a_file_of_exactly_the_limit_is_whole(tmp_path: Path) -> None:
    path = tmp_path / "full.txt"
    path.write_text("x" * LIMIT_BYTES)
    assert not read_prompt_file(path).is_cut


@pytest.mark.parametrize(
    ("data", "complaint"),
    [
        (b"", "has no text"),
        (b" \n\t\n", "has no text"),
        (b"ok \xff\xfe", "not in UTF-8: byte 3"),
        ("caf\xe9".encode("latin-1"), "not in UTF-8: byte 3"),
        ("hello".encode("utf-16-le"), "zero bytes"),
        (b"\x7fELF\0\0", "zero bytes"),
    ],
    ids=["empty", "blank", "no UTF-8", "latin-1", "UTF-16", "binary"],
)
def test_what_is_no_text_is_refused_with_a_remedy(tmp_path: Path, data: bytes, complaint: str) -> None:
    path = tmp_path / "file"
    path.write_bytes(data)
    with pytest.raises(PromptFileError, match=complaint) as refused:
        read_prompt_file(path)
    assert str(refused.value).endswith(".")
    assert refused.value.__cause__ is None


@pytest.mark.parametrize("name", ["missing.txt", "."], ids=["missing", "folder"])
def test_what_cannot_be_opened_is_refused(tmp_path: Path, name: str) -> None:
    with pytest.raises(PromptFileError, match="Give the path of a text file"):
        read_prompt_file(tmp_path / name)


def test_repr_shows_a_size_and_no_text(tmp_path: Path) -> None:
    path = tmp_path / "secret.txt"
    path.write_text("4111111111111111")
    assert repr(read_prompt_file(path)) == "PromptFile('secret.txt', <16 characters>, is_cut=False)"


def test_the_default_prompt_is_one_of_the_examples() -> None:
    shipped = {path.name: path.read_bytes() for path in PROMPTS}
    assert shipped[default_prompt_path().name] == default_prompt_path().read_bytes()
    assert len(shipped) >= 4
