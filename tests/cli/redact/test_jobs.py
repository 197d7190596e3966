import io
from pathlib import Path

import pytest

from tramapy.cli.redact.jobs import redact_all, redact_to_file
from tramapy.cli.redact.redaction import RedactSettings, RedactTask
from tramapy.dlp.portable import PortableRules

SETTINGS = RedactSettings(rules=PortableRules.of())


@pytest.fixture
def tasks(tmp_path: Path) -> list[RedactTask]:
    tasks: list[RedactTask] = []
    for number in range(7):
        path = tmp_path / f"{number}.txt"
        path.write_bytes(b"\xff" if number == 3 else f"{number} ann@example.com\n".encode())
        destination = tmp_path / "out" / path.name if number == 5 else None
        tasks.append(RedactTask(name=path.name, source=path, destination=destination))
    return tasks


class Stdin:
    buffer = io.BytesIO(b"- bob@example.com\n")


def test_several_processes_give_what_one_gives(
    tasks: list[RedactTask], monkeypatch: pytest.MonkeyPatch
) -> None:
    outcomes = []
    for jobs in (1, 2):
        Stdin.buffer.seek(0)
        monkeypatch.setattr("sys.stdin", Stdin)
        output = io.BytesIO()
        heard: list[int] = []
        listed = [*tasks[:4], RedactTask(name="-", source=None), *tasks[4:]]
        reports = list(redact_all(listed, SETTINGS, output, heard.append, jobs=jobs))
        outcomes.append((reports, output.getvalue(), sum(heard)))
        destination = tasks[5].destination
        assert destination is not None
        assert destination.read_text() == "5 [REDACTED:email]\n"
    assert outcomes[0] == outcomes[1]
    reports, printed, _ = outcomes[0]
    assert [report.name for report in reports] == [task.name for task in listed]
    assert [report.name for report in reports if report.error is not None] == ["3.txt"]
    assert printed.decode() == "".join(f"{name} [REDACTED:email]\n" for name in (0, 1, 2, "-", 4, 6))


def test_a_process_of_its_own_writes_to_files(tasks: list[RedactTask], tmp_path: Path) -> None:
    result = tmp_path / "result"
    assert redact_to_file(tasks[0], SETTINGS, result).error is None
    assert result.read_bytes() == b"0 [REDACTED:email]\n"
    assert redact_to_file(tasks[5], SETTINGS, None).error is None
    assert (tmp_path / "out" / "5.txt").read_bytes() == b"5 [REDACTED:email]\n"
