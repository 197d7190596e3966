"""One input: what is read of it, and what comes out."""

import io
import json
from collections.abc import Callable
from pathlib import Path

import pytest

from tramapy.cli.redact import redaction
from tramapy.cli.redact.reading import PIECE_BYTES
from tramapy.cli.redact.redaction import FileReport, RedactSettings, RedactTask, redact_task
from tramapy.dlp import DlpAction, DlpRule, RuleBasedDlpConfiguration
from tramapy.dlp.packs import pii
from tramapy.dlp.portable import PortableRules
from tramapy.hooks.dlp import DlpContentType

RULES = PortableRules.of()
DEFAULT = RedactSettings(rules=RULES)
PROSE = "The quick brown fox wrote to ann@example.com at 10:30.\n"


class CountingFile(io.BytesIO):
    """A file that keeps the sizes that were asked for."""

    def __init__(self, data: bytes) -> None:
        super().__init__(data)
        self.asked: list[int | None] = []

    def read(self, size: int | None = -1, /) -> bytes:
        self.asked.append(size)
        return super().read(size)

    def read1(self, size: int | None = -1, /) -> bytes:
        self.asked.append(size)
        return super().read1(size)

    def readline(self, size: int | None = -1, /) -> bytes:
        self.asked.append(size)
        return super().readline(size)


class FakePath:
    """A path whose file is made up."""

    def __init__(self, open_file: Callable[[], io.BytesIO]) -> None:
        self._open_file = open_file

    def open(self, mode: str) -> io.BytesIO:
        assert mode == "rb"
        return self._open_file()


class Output(io.BytesIO):
    """Keeps how much was written at once."""

    def __init__(self) -> None:
        super().__init__()
        self.longest = 0

    def write(self, data, /) -> int:  # type: ignore[no-untyped-def]
        self.longest = max(self.longest, len(data))
        return super().write(data)


def redacted(
    data: bytes, settings: RedactSettings = DEFAULT, source: object = None
) -> tuple[FileReport, bytes]:
    output = io.BytesIO()
    path = FakePath(lambda: io.BytesIO(data)) if source is None else source
    task = RedactTask(name="x.txt", source=path)  # type: ignore[arg-type]
    return redact_task(task, settings, output, lambda _: None), output.getvalue()


@pytest.mark.unmeasured
def test_a_long_file_is_read_and_written_in_small_pieces() -> None:
    text = (PROSE * 60_000).encode()
    assert len(text) > 3 * redaction.WHOLE_LENGTH
    file = CountingFile(text)
    output = Output()
    heard: list[int] = []
    task = RedactTask(name="x.txt", source=FakePath(lambda: file))  # type: ignore[arg-type]
    report = redact_task(task, RedactSettings(rules=RULES), output, heard.append)
    assert set(file.asked) == {PIECE_BYTES}
    assert output.longest < 2 * PIECE_BYTES
    assert sum(heard) == report.read_bytes == len(text)
    assert output.getvalue() == text.replace(b"ann@example.com", b"[REDACTED:email]")
    assert [redaction.replacement_count for redaction in report.redactions] == [60_000]


def test_records_are_read_one_by_one_with_a_limit() -> None:
    file = CountingFile(b'{"a": "ann@example.com"}\n' * 3)
    settings = RedactSettings(rules=RULES, is_jsonl=True)
    report, output = redacted(b"", settings, FakePath(lambda: file))
    assert set(file.asked) == {16 * 1024 * 1024 + 1}
    assert output == b'{"a": "[REDACTED:email]"}\n' * 3
    assert report.record_count == 3


@pytest.mark.parametrize("repeats", [1, 30_000], ids=["short", "long"])
def test_a_byte_order_mark_stays_and_hides_nothing(repeats: int) -> None:
    text = "\ufeffann@example.com\n" + PROSE * repeats
    report, output = redacted(text.encode())
    assert report.error is None
    assert output.decode() == text.replace("ann@example.com", "[REDACTED:email]")


@pytest.mark.parametrize("encoding", ["utf-16", "latin-1"])
def test_the_result_has_the_encoding_of_the_input(encoding: str) -> None:
    text = "häuser ann@example.com"
    _, output = redacted(text.encode(encoding), RedactSettings(rules=RULES, encoding=encoding))
    assert output.decode(encoding) == "häuser [REDACTED:email]"


def test_json_is_one_object_without_the_mark() -> None:
    settings = RedactSettings(rules=RULES, is_json=True)
    _, output = redacted('\ufeff"q" ann@example.com ä\n'.encode(), settings)
    assert output.endswith(b"}\n")
    assert output.count(b"\n") == 1
    assert json.loads(output) == {
        "path": "x.txt",
        "sanitized_text": '"q" [REDACTED:email] ä\n',
        "redactions": [{"rule_id": "email", "replacement_count": 1}],
    }


def test_json_of_an_input_that_fails_is_nothing() -> None:
    report, output = redacted(b"ann\xff", RedactSettings(rules=RULES, is_json=True))
    assert report.error == (
        "x.txt: it is not in utf-8: byte 3 cannot be read. Give its --encoding, or convert it to UTF-8."
    )
    assert output == b""


def test_a_rule_that_blocks_withholds_the_text() -> None:
    rules = RuleBasedDlpConfiguration(max_text_length=None, packs=[pii], actions={"email": DlpAction.BLOCK})
    report, output = redacted(PROSE.encode(), RedactSettings(rules=PortableRules.of(rules)))
    assert report.error == "x.txt: DLP rule 'email' blocks this text"
    assert output == b""


def test_a_replacement_that_the_encoding_lacks_is_an_error() -> None:
    rule = DlpRule(id="r", pattern="secret", replacement="█", enabled_for=set(DlpContentType))
    rules = PortableRules.of(RuleBasedDlpConfiguration([rule]))
    report, _ = redacted(b"a secret", RedactSettings(rules=rules, encoding="latin-1"))
    assert report.error is not None
    assert report.error.startswith("x.txt: a replacement cannot be written in latin-1.")


def test_a_rule_that_holds_back_without_end_is_stopped(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(redaction, "LONGEST_HELD", 200_000)
    rule = DlpRule(id="r", pattern="<[^>]*>", enabled_for=set(DlpContentType))
    rules = PortableRules.of(RuleBasedDlpConfiguration([rule], None))
    file = CountingFile(b"<" + b"a" * 5_000_000)
    report, output = redacted(b"", RedactSettings(rules=rules), FakePath(lambda: file))
    assert report.error is not None
    assert report.error.startswith("x.txt: a rule leaves more than 200000 characters undecided.")
    assert output == b""
    assert report.read_bytes < 2 * redaction.WHOLE_LENGTH


def test_a_file_that_is_not_there_is_an_error(tmp_path: Path) -> None:
    report, _ = redacted(b"", source=tmp_path / "none.txt")
    assert report.error == "x.txt: No such file or directory. Check the path and its permissions."


def test_an_error_without_a_text_of_the_system_is_named_by_its_type() -> None:
    def refuse() -> io.BytesIO:
        raise OSError

    assert redacted(b"", source=FakePath(refuse))[0].error == (
        "x.txt: OSError. Check the path and its permissions."
    )
