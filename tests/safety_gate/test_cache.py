"""Verdicts are remembered by content, gate and configuration, and never wrongly."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from safety_gate.cache import DIRECTORY
from safety_gate.config import Config
from safety_gate.config_file import load_config
from safety_gate.judging import Judged, RunOptions, Task
from safety_gate.runner import Result, check_paths
from tests.safety_gate.projects import PRINT, SWALLOW, Project


def run(*paths: str, config: Config | None = None, **options: object) -> Result:
    return check_paths(paths or ("pkg",), config=config, options=RunOptions(**options))  # type: ignore[arg-type]  # built from names


def shown(result: Result) -> list[tuple[object, ...]]:
    return [(*v.order, v.message, v.risk, v.end_line, v.fails) for v in result.violations]


def test_warm_run_finds_the_same(project: Project) -> None:
    project.write(pkg__a=PRINT, pkg__b=SWALLOW, pkg__c="def f(:\n").put("pkg/d.py", b"\xff\n")
    cold, warm, uncached = run(), run(), run(use_cache=False)
    assert shown(cold) == shown(warm) == shown(uncached)
    assert cold.diagnostics == warm.diagnostics == uncached.diagnostics
    assert len(cold.diagnostics) == 2


def test_change_of_content_is_seen(project: Project) -> None:
    project.write(pkg__a=PRINT)
    run()
    project.write(pkg__a="x = 1\n")
    assert run().exit_code == 0


def test_change_of_configuration_is_seen(project: Project) -> None:
    project.write(pkg__a=PRINT)
    run()
    project.configure('ignore = ["SG101"]\n')
    assert run().exit_code == 0


def test_change_of_role_is_seen(project: Project) -> None:
    project.write(pkg__a=PRINT)
    run()
    project.configure('[roles]\ncli = ["pkg/a.py"]\n')
    assert run().exit_code == 0


@pytest.mark.parametrize(
    "damage",
    [
        b"",
        b"{",
        b"[]",
        b'{"format":3,"entries":{"pkg/a.py":["x"]}}',
        b'{"format":3,"entries":[]}',
        b'{"format":2,"entries":{}}',
        b"\xff\xfe",
    ],
)
def test_damaged_cache_is_no_cache(project: Project, damage: bytes) -> None:
    project.write(pkg__a=PRINT)
    run()
    (file,) = (project.root / DIRECTORY).glob("*.json")
    file.write_bytes(damage)
    assert run().exit_code == 1


def test_forged_entry_is_no_entry(project: Project) -> None:
    project.write(pkg__a=PRINT)
    run()
    (file,) = (project.root / DIRECTORY).glob("*.json")
    file.write_text(file.read_text("utf-8").replace('"SG101"', "7"), "utf-8")
    assert run().file_count == 1


def test_no_cache_leaves_no_trace(project: Project) -> None:
    project.write(pkg__a=PRINT)
    run(use_cache=False)
    assert not (project.root / DIRECTORY).exists()


def test_cache_is_ignored_by_version_control(project: Project) -> None:
    project.write(pkg__a=PRINT)
    run()
    assert (project.root / DIRECTORY / ".gitignore").read_text("utf-8") == "*\n"


def test_read_only_tree_only_costs_time(project: Project) -> None:
    project.write(pkg__a=PRINT).put(DIRECTORY, "a file where the directory would be")
    assert run().exit_code == 1


def test_warm_run_imports_neither_libcst_nor_a_rule(project: Project) -> None:
    project.write(pkg__a=PRINT, pkg__b="x = 1\n")
    project.gate("check", "pkg")
    code = (
        "import sys; from safety_gate.cli import main; code = main(['check', 'pkg']);"
        "print(code, 'libcst' in sys.modules, any(m.startswith('safety_gate.rules') for m in sys.modules))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=project.root, capture_output=True, text=True, check=True
    )
    assert done.stdout.splitlines()[-1] == "1 False False"


def test_file_without_a_word_of_the_rules_needs_no_rule(project: Project) -> None:
    project.write(a="x = 1\n")
    code = (
        "import sys; from safety_gate.cli import main; code = main(['check', '--no-cache', 'a.py']);"
        "print(code, {'safety_gate.engine', 'hashlib', 'json', 'typing', 'shutil'} & set(sys.modules))"
    )
    done = subprocess.run(
        [sys.executable, "-S", "-c", code], cwd=project.root, capture_output=True, text=True, check=True,
        env={"PYTHONPATH": str(Path(__file__).parents[2])},
    )  # fmt: skip
    assert done.stdout.splitlines()[-1] == "0 set()"


@pytest.mark.parametrize(
    ("source", "rule"),
    [
        (PRINT, "SG101"),
        (SWALLOW, "SG501"),
        ("\uff50\uff52\uff49\uff4e\uff54(1)\n", "SG101"),
        ("def f(:\n", "SG905"),
        ("x = 1\n\0", "SG905"),
    ],
    ids=["word", "words", "other-form", "syntax", "nul"],
)
def test_words_of_the_rules_hide_nothing(project: Project, source: str, rule: str) -> None:
    project.write(pkg__b=source)
    result = run("pkg/b.py")
    assert [v.rule for v in result.violations] + [d.rule for d in result.diagnostics] == [rule]


def test_two_jobs_find_what_one_finds(project: Project) -> None:
    for number in range(60):
        project.write(**{f"pkg__m{number}": PRINT * (number % 3) + SWALLOW * (number % 2)})
    assert shown(run(jobs=2, use_cache=False)) == shown(run(jobs=1, use_cache=False))
    assert shown(run(jobs=2)) == shown(run(jobs=2))


def test_parallel_runs_do_not_harm_each_other(project: Project) -> None:
    for number in range(20):
        project.write(**{f"pkg__m{number}": PRINT})
    command = [sys.executable, "-m", "safety_gate", "check", "pkg"]
    runs = [subprocess.Popen(command, cwd=project.root, stdout=subprocess.PIPE, text=True) for _ in range(4)]
    outputs = {process.communicate()[0] for process in runs}
    assert len(outputs) == 1
    assert run().exit_code == 1


def test_config_is_found_from_the_working_directory(project: Project) -> None:
    project.configure('ignore = ["SG1"]\n').write(pkg__a=PRINT)
    assert load_config(Path.cwd()).settings.ignored == ("SG101", "SG102")


def test_entry_of_another_shape_is_no_entry(project: Project) -> None:
    project.write(pkg__a=PRINT)
    run()
    (file,) = (project.root / DIRECTORY).glob("*.json")
    file.write_text(re.sub(r'("pkg/a.py":\["\w+").*?\]\]', r"\1]", file.read_text("utf-8")), "utf-8")
    assert run().exit_code == 1


def test_directory_in_the_place_of_the_file_only_costs_time(project: Project) -> None:
    project.write(pkg__a=PRINT)
    run()
    (file,) = (project.root / DIRECTORY).glob("*.json")
    file.unlink()
    file.mkdir()
    assert run().exit_code == 1
    assert not list((project.root / DIRECTORY).glob("*.tmp"))


def test_old_files_are_removed(project: Project) -> None:
    project.write(pkg__a=PRINT).put(f"{DIRECTORY}/old.json", "{}")
    os.utime(project.root / DIRECTORY / "old.json", (0, 0))
    run()
    assert not (project.root / DIRECTORY / "old.json").exists()


def test_remembered_file_that_is_gone_unreadable_is_reported(project: Project) -> None:
    project.write(pkg__a=PRINT)
    run()
    (project.root / "pkg" / "a.py").unlink()
    os.mkfifo(project.root / "pkg" / "a.py")
    assert [d.rule for d in run().diagnostics] == ["SG905"]


def test_re_exports_ask_the_engine(project: Project) -> None:
    project.configure('[re-exports]\n"pkg.show" = "builtins.print"\n')
    project.write(pkg__a="from pkg import show\nshow(1)\n")
    assert [v.rule for v in run().violations] == ["SG101"]


def test_warm_run_knows_what_a_comment_exempts(project: Project) -> None:
    project.write(pkg__a="print(1)  # safety-gate: allow SG101 -- the banner\n")
    project.configure("inline-exemptions = true\n")
    cold, warm = run(), run()
    assert [v.is_exempted for v in cold.violations] == [True]
    assert warm.violations == tuple(replace(v, content="") for v in cold.violations)


@pytest.mark.skipif(sys.platform != "linux", reason="other file systems refuse the name")
def test_name_that_is_no_text_is_remembered(project: Project) -> None:
    project.write(pkg____init__="")
    with open(os.path.join(os.fsencode(project.root), b"pkg", b"\xff.py"), "wb") as file:
        file.write(PRINT.encode())
    assert [run().exit_code for _ in range(2)] == [1, 1]


@pytest.mark.parametrize("entry", ["5", "[]", "null", '"x"', "{}"])
def test_entry_that_is_no_list_of_a_verdict_is_no_entry(project: Project, entry: str) -> None:
    project.write(pkg__a=PRINT)
    run()
    (file,) = (project.root / DIRECTORY).glob("*.json")
    document = json.loads(file.read_bytes())
    document["entries"]["pkg/a.py"] = json.loads(entry)
    file.write_text(json.dumps(document), "utf-8")
    assert run().exit_code == 1


@pytest.mark.skipif(sys.platform == "win32", reason="workers are not forked there")
def test_worker_that_dies_is_a_diagnostic(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("safety_gate.judging.judge", _die)
    project.write(**{f"pkg__m{number}": PRINT for number in range(45)})
    result = run(jobs=2)
    assert (result.exit_code, len(result.diagnostics)) == (2, 45)


def _die(task: Task) -> Judged:
    os._exit(1)
