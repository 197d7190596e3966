import io

import pytest

from tramapy.cli.redact.reading import (
    LONGEST_LINE_BYTES,
    PIECE_BYTES,
    InputError,
    check_encoding,
    decode_record,
    is_json,
    read_lines,
    read_pieces,
)


def pieces(data: bytes, encoding: str = "utf-8", at_once: int = PIECE_BYTES) -> list[str]:
    file = io.BytesIO(data)
    return list(read_pieces(lambda limit: file.read(min(limit, at_once)), encoding))


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16", "latin-1", "gb18030"])
@pytest.mark.parametrize("at_once", [1, 3, PIECE_BYTES])
def test_pieces_are_the_text(encoding: str, at_once: int) -> None:
    text = "häuser\r\nstraße\n" * 5
    assert "".join(pieces(text.encode(encoding), encoding, at_once)) == text


@pytest.mark.parametrize("at_once", [1, 2, 5, PIECE_BYTES])
def test_bytes_that_are_no_text_are_named_by_their_place(at_once: int) -> None:
    with pytest.raises(
        InputError, match=r"it is not in utf-8: byte 7 cannot be read\. Give its --encoding"
    ) as caught:
        pieces("häuse".encode() + b"r\xff!", at_once=at_once)
    assert caught.value.__context__ is None


@pytest.mark.parametrize("at_once", [1, PIECE_BYTES])
def test_a_character_that_is_cut_off_is_no_text(at_once: int) -> None:
    with pytest.raises(InputError, match="byte 1 cannot be read"):
        pieces(b"a\xe2\x82", at_once=at_once)


@pytest.mark.parametrize("at_once", [1, PIECE_BYTES])
@pytest.mark.parametrize("encoding", ["utf-16", "utf-32"])
def test_a_text_without_the_mark_that_its_encoding_wants_is_refused(encoding: str, at_once: int) -> None:
    with pytest.raises(InputError, match=rf"it is not in {encoding}: byte 0 cannot be read") as caught:
        pieces("ann@example.com ".encode("utf-16-le"), encoding, at_once)
    assert caught.value.__context__ is None


def test_zero_bytes_are_no_text() -> None:
    with pytest.raises(InputError, match="it has zero bytes"):
        pieces("ann".encode("utf-16-le"))


@pytest.mark.parametrize("encoding", ["rot13", "no-such-encoding", "base64", "a\0b"])
def test_what_is_no_encoding_of_text_is_refused(encoding: str) -> None:
    with pytest.raises(InputError, match="--encoding takes the name"):
        check_encoding(encoding)


def test_lines_keep_their_ends() -> None:
    assert list(read_lines(io.BytesIO(b"a\r\nb\n\nc").readline)) == [b"a\r\n", b"b\n", b"\n", b"c"]


def test_a_long_line_is_refused_before_it_is_read_to_its_end() -> None:
    file = io.BytesIO(b"a\n" + b"b" * (2 * LONGEST_LINE_BYTES))
    with pytest.raises(
        InputError, match=f"line 2 is longer than {LONGEST_LINE_BYTES} bytes. Split the record"
    ):
        list(read_lines(file.readline))
    assert file.tell() == 2 + LONGEST_LINE_BYTES + 1


@pytest.mark.parametrize(
    ("line", "message"),
    [
        (b"{", "line 3 is no JSON"),
        (b'"\xff"', "line 3 is not in UTF-8: its byte 1"),
        (b"[" * 100_000, "line 3 is no"),
    ],
    ids=["cut", "bytes", "deep"],
)
def test_a_record_that_cannot_be_read_is_named_by_its_line(line: bytes, message: str) -> None:
    with pytest.raises(InputError, match=message) as caught:
        decode_record(line, 3)
    assert caught.value.__context__ is None


def test_a_number_of_any_length_is_json() -> None:
    assert is_json("9" * 10_000)
    assert is_json("1." + "9" * 10_000)
