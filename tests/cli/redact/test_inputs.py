import os
from pathlib import Path

import pytest

from tramapy.cli.redact.inputs import Inputs, Target, find_inputs
from tramapy.cli.redact.reading import InputError

STDOUT = Target()
IN_PLACE = Target(is_in_place=True)


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    tree = tmp_path / "tree"
    (tree / "b").mkdir(parents=True)
    (tree / "a.txt").write_text("aa")
    (tree / ".env").write_text("e")
    (tree / "b" / "c.txt").write_text("ccc")
    (tree / "link.txt").symlink_to(tree / "a.txt")
    os.mkfifo(tree / "fifo")
    return tree


def destinations(inputs: Inputs) -> list[Path | None]:
    return [task.destination for task in inputs.tasks]


def test_nothing_and_a_dash_are_the_standard_input() -> None:
    for names in ([], ["-"]):
        inputs = find_inputs(names, STDOUT, is_json=False)
        assert [(task.name, task.source) for task in inputs.tasks] == [("-", None)]
        assert inputs.size_bytes is None


def test_a_directory_gives_its_regular_files_in_order(tree: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    inputs = find_inputs([str(tree)], Target(directory=out), is_json=False)
    assert [task.source for task in inputs.tasks] == [tree / ".env", tree / "a.txt", tree / "b" / "c.txt"]
    assert destinations(inputs) == [out / ".env", out / "a.txt", out / "b" / "c.txt"]
    assert inputs.size_bytes == 6
    assert not out.exists()


def test_results_of_an_earlier_run_are_no_inputs(tree: Path) -> None:
    (tree / "out").mkdir()
    (tree / "out" / "a.txt").write_text("old")
    inputs = find_inputs([str(tree)], Target(directory=tree / "out"), is_json=False)
    assert tree / "out" / "a.txt" not in [task.source for task in inputs.tasks]


def test_in_place_the_file_behind_a_link_is_replaced(tree: Path) -> None:
    inputs = find_inputs([str(tree / "link.txt"), str(tree / "b")], IN_PLACE, is_json=False)
    assert destinations(inputs) == [(tree / "a.txt").resolve(), (tree / "b" / "c.txt").resolve()]


def test_a_directory_can_become_json(tree: Path) -> None:
    inputs = find_inputs([str(tree)], STDOUT, is_json=True)
    assert destinations(inputs) == [None] * 3


def test_a_file_that_is_not_there_is_left_to_whoever_opens_it(tmp_path: Path) -> None:
    inputs = find_inputs([str(tmp_path / "none")], STDOUT, is_json=False)
    assert inputs.size_bytes == 0


def test_a_directory_that_cannot_be_read_is_an_error(tree: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    scan = os.scandir

    def refuse(path: str) -> object:
        if Path(path).name == "b":
            raise PermissionError(13, "Permission denied", path)
        return scan(path)

    monkeypatch.setattr(os, "scandir", refuse)
    inputs = find_inputs([str(tree)], IN_PLACE, is_json=False)
    assert inputs.errors == (f"{tree / 'b'}: Permission denied. Check its permissions.",)
    assert len(inputs.tasks) == 2


@pytest.mark.parametrize(
    ("names", "target", "is_json", "message"),
    [
        (["tree/a.txt"], Target(directory=Path("out"), is_in_place=True), False, "exclude each other"),
        (["tree/a.txt"], Target(directory=Path("out")), True, "--format json goes to the standard output"),
        (["tree/a.txt"], IN_PLACE, True, "--format json goes to the standard output"),
        (["-"], IN_PLACE, False, "the standard input has no name for a file"),
        (
            ["tree"],
            Target(directory=Path("tree/a.txt")),
            False,
            r"--output takes a directory, and tree/a\.txt is none; .* tramapy redact FILE > RESULT",
        ),
        (["tree"], STDOUT, False, "tree is a directory; say --output DIR, --in-place or --format json"),
        (
            ["tree/a.txt"],
            Target(directory=Path("tree")),
            False,
            "tree/a.txt is an input; take another --output",
        ),
        (["tree"], Target(directory=Path("alias")), False, "is an input; take another --output"),
        (["tree/a.txt", "other/a.txt"], Target(directory=Path("out")), False, "would both become out/a.txt"),
    ],
)
def test_a_target_that_does_not_fit_is_refused(
    tree: Path,
    names: list[str],
    target: Target,
    is_json: bool,
    message: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tree.parent)
    Path("alias").mkdir()
    os.link("tree/b/c.txt", "alias/a.txt")  # one of the inputs under another name
    with pytest.raises(InputError, match=message):
        find_inputs(names, target, is_json=is_json)
