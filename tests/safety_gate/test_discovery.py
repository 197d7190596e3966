"""Which files are looked at, and that none hides another."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from safety_gate.config import Config, isolated
from safety_gate.discovery import discover
from safety_gate.roles import Role
from safety_gate.source import SourceError, read_source
from tests.safety_gate.projects import PRINT, Project


def paths(project: Project, *arguments: str, config: Config | None = None) -> list[str]:
    found = discover(
        [Path(argument) for argument in arguments or (".",)], config or Config(root=project.root)
    )
    return [target.path for target in found.targets]


def test_directories_are_walked_in_order(project: Project) -> None:
    project.write(b="", a="", pkg__c="", pkg__a="").put("x.txt", "")
    assert paths(project) == ["a.py", "b.py", "pkg/a.py", "pkg/c.py"]


@pytest.mark.parametrize(
    "folder", [".git", ".venv", "__pycache__", "node_modules", "build", "x.egg-info", "site-packages"]
)
def test_output_and_environments_are_skipped(project: Project, folder: str) -> None:
    project.put(f"{folder}/a.py", PRINT)
    assert paths(project) == []


def test_environment_is_known_by_its_mark(project: Project) -> None:
    project.write(my__a=PRINT).put("my/pyvenv.cfg", "")
    assert paths(project) == []


def test_excluded_paths_are_not_looked_at(project: Project) -> None:
    project.write(pkg__a="", vendored__b="")
    assert paths(project, config=Config(root=project.root, exclude=("vendored/**",))) == ["pkg/a.py"]


def test_named_file_needs_no_suffix(project: Project) -> None:
    project.put("run", PRINT)
    assert paths(project, "run") == ["run"]


def test_a_file_is_taken_once(project: Project) -> None:
    project.write(pkg__a="")
    assert paths(project, "pkg", "pkg/a.py", ".") == ["pkg/a.py"]


def test_missing_path_is_a_diagnostic(project: Project) -> None:
    report = project.report("nowhere")
    assert (report["exit_code"], report["errors"][0]["path"]) == (2, "nowhere")


def test_isolated_run_takes_everything_for_production(project: Project) -> None:
    project.write(tests__test_a=PRINT)
    assert project.report("tests")["exit_code"] == 0
    assert project.report("--isolated", "tests")["exit_code"] == 1


def test_outside_the_root_the_folders_above_give_no_role(project: Project) -> None:
    other = project.root.parent / "tests" / "pkg"
    other.mkdir(parents=True)
    (other / "a.py").write_text(PRINT, "utf-8")
    (target,) = discover([other], Config(root=project.root)).targets
    assert target.role is Role.PRODUCTION


def test_module_names_follow_packages(project: Project) -> None:
    project.write(src__pkg__sub__a="", script="")
    project.put("src/pkg/__init__.py", "")
    project.put("src/pkg/sub/__init__.py", "")
    modules = {t.path: t.module for t in discover(["."], isolated(project.root)).targets}
    assert modules == {
        "script.py": "", "src/pkg/__init__.py": "pkg", "src/pkg/sub/__init__.py": "pkg.sub",
        "src/pkg/sub/a.py": "pkg.sub.a",
    }  # fmt: skip


def test_links_are_reported_and_not_followed(project: Project) -> None:
    project.write(pkg__a=PRINT)
    (project.root / "pkg" / "link.py").symlink_to("a.py")
    (project.root / "pkg" / "dangling.py").symlink_to("nowhere.py")
    (project.root / "pkg" / "loop").symlink_to("../pkg")
    report = project.report("pkg")
    assert [(e["path"], e["rule"]) for e in report["errors"]] == [
        ("pkg/dangling.py", "SG905"), ("pkg/link.py", "SG905"), ("pkg/loop", "SG905"),
    ]  # fmt: skip
    assert [f["path"] for f in report["findings"]] == ["pkg/a.py"]
    project.configure('symlinks = "skip"\n')
    assert project.report("pkg")["exit_code"] == 1


def test_bad_files_hide_no_findings(project: Project) -> None:
    project.write(pkg__a=PRINT, pkg__syntax="def f(:\n", pkg__z=PRINT)
    project.put("pkg/latin.py", b'x = "caf\xe9"\nprint(x)\n')
    project.put("pkg/nul.py", b"x = 1\n\0")
    project.put("pkg/deep.py", "x = " + "(" * 100_000 + ")" * 100_000)
    project.put("pkg/huge.py", "x = 1\n" * 200_000)
    project.put("pkg/line.py", "x = '" + "a" * 10_000_000 + "'\n")
    project.put("pkg/decorators.py", "@d\n" * 300_000 + "def f(): print(1)\n")
    project.put("pkg/sum.py", "print(" + "+".join(["1"] * 900) + ")\n")
    os.mkfifo(project.root / "pkg" / "pipe.py")
    report = project.report("pkg")
    assert report["exit_code"] == 2
    assert [f["path"] for f in report["findings"]] == ["pkg/a.py", "pkg/sum.py", "pkg/z.py"]
    lines = {e["path"]: e["line"] for e in report["errors"]}
    without_line = ("decorators", "huge", "line", "pipe")
    with_line = {"deep": 1, "latin": 1, "nul": 2, "syntax": 1}
    expected = {**dict.fromkeys(without_line), **with_line}
    assert lines == {f"pkg/{name}.py": line for name, line in expected.items()}


def test_unreadable_file_is_a_diagnostic(tmp_path: Path) -> None:
    with pytest.raises(SourceError, match="no regular file"):
        read_source(tmp_path, 10)
    with pytest.raises(SourceError, match="cannot be read"):
        read_source(tmp_path / "none.py", 10)


def test_file_that_grows_is_bounded(tmp_path: Path) -> None:
    file = tmp_path / "a.py"
    file.write_bytes(b"x" * 11)
    with pytest.raises(SourceError, match="more than 10 bytes"):
        read_source(file, 10)


def test_file_that_changes_while_read_is_a_diagnostic(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "a.py"
    file.write_bytes(b"x = 1\n")
    real = os.fstat
    calls = iter(range(1, 1_000))

    def moving(handle: int) -> os.stat_result:
        os.utime(file, ns=(0, next(calls)))
        return real(handle)

    monkeypatch.setattr(os, "fstat", moving)
    with pytest.raises(SourceError, match="changed while it was read"):
        read_source(file, 100)


def test_directory_that_cannot_be_listed_is_a_diagnostic(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    project.write(pkg__a=PRINT, other__b=PRINT)
    real = os.scandir

    def refusing(path: str) -> object:
        if path.endswith("pkg"):
            raise PermissionError(13, "Permission denied", path)
        return real(path)

    monkeypatch.setattr(os, "scandir", refusing)
    found = discover(["."], Config(root=project.root))
    assert [target.path for target in found.targets] == ["other/b.py"]
    assert [(d.path, "Permission denied" in d.message) for d in found.diagnostics] == [("pkg", True)]


def test_short_reads_are_put_together(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "a.py"
    file.write_bytes(b"x = 1\n" * 10)
    real = os.read
    monkeypatch.setattr(os, "read", lambda handle, count: real(handle, min(count, 7)))
    assert read_source(file, 100) == b"x = 1\n" * 10


def test_link_is_not_read(tmp_path: Path) -> None:
    (tmp_path / "link.py").symlink_to("nowhere.py")
    with pytest.raises(SourceError, match="symbolic link"):
        read_source(tmp_path / "link.py", 10)
