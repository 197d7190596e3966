"""Every defect of the configuration is an error that names its place."""

from __future__ import annotations

import datetime
from pathlib import Path

import pytest

from safety_gate.config import Config, ConfigError
from safety_gate.config_file import load_config
from safety_gate.roles import Role, matches, role_of
from tests.safety_gate.projects import PRINT, Project

ENTRY = """rule = "SG101"
path = "pkg/a.py"
symbol = "builtins.print"
occurrences = 1
rationale = "The banner."
"""


def defects(project: Project, text: str) -> list[tuple[int | None, str]]:
    project.configure(text)
    with pytest.raises(ConfigError) as caught:
        load_config(project.root)
    assert {d.rule for d in caught.value.diagnostics} == {"SG901"}
    return [(d.line, d.message) for d in caught.value.diagnostics]


def entry(**changes: str) -> str:
    lines = dict(line.split(" = ", 1) for line in ENTRY.strip().splitlines())
    lines |= {key: value for key, value in changes.items() if value}
    for key, value in changes.items():
        if not value:
            del lines[key]
    return "[[exemptions]]\n" + "".join(f"{key} = {value}\n" for key, value in lines.items())


def test_without_a_file_the_defaults_hold(tmp_path: Path) -> None:
    assert load_config(tmp_path) == Config(root=tmp_path)


def test_own_file_and_project_file_say_the_same(project: Project) -> None:
    project.write(pkg__a=PRINT)
    project.configure(f'strict = true\nsanitizers = ["x.y"]\n[re-exports]\n"a.b" = "requests.get"\n{entry()}')
    own = load_config(project.root)
    (project.root / "safety-gate.toml").unlink()
    text = '[tool.safety-gate]\nstrict = true\nsanitizers = ["x.y"]\n'
    text += '[tool.safety-gate.re-exports]\n"a.b" = "requests.get"\n'
    project.put("pyproject.toml", text + entry().replace("[[", "[[tool.safety-gate."))
    shared = load_config(project.root)
    assert own.settings == shared.settings
    assert [e.family for e in own.exemptions] == [e.family for e in shared.exemptions]
    assert own.settings.is_strict


@pytest.mark.parametrize(
    ("text", "is_on"),
    [
        ('enable = ["SG203"]\n', True),
        ('enable = ["SG2"]\n', True),
        ('enable = ["no-sensitive-logging"]\n', True),
        ('select = ["SG203"]\n', True),
        ('select = ["no-sensitive-logging"]\n', False),
    ],
    ids=["code", "beginning", "group", "selected code", "selected group"],
)
def test_optional_rule_is_turned_on(project: Project, text: str, is_on: bool) -> None:
    project.configure(text)
    assert ("SG203" in load_config(project.root).settings.enabled) is is_on


def test_search_goes_upwards(project: Project) -> None:
    project.configure("strict = true\n").write(pkg__a=PRINT)
    assert load_config(project.root / "pkg").root == project.root


def test_two_configurations_are_an_error(project: Project) -> None:
    project.put("pyproject.toml", "[tool.safety-gate]\n")
    assert "Keep one" in defects(project, "strict = true\n")[0][1]


@pytest.mark.parametrize(
    ("text", "line", "words"),
    [
        ("strict = [", None, "TOML"),
        ("strict = true\nstrict = true\n", 2, "TOML"),
        ("stric = true\n", 1, "stric is no setting"),
        ('x = 1\nstrict = "yes"\n', 2, "strict must be true or false"),
        ("schema-version = 2\n", 1, "schema-version must be the integer 1"),
        ("schema-version = true\n", 1, "schema-version"),
        ('exclude = "x"\n', 1, "exclude must be a list"),
        ("sanitizers = [1]\n", 1, "sanitizers must be a list"),
        ('sanitizers = [" "]\n', 1, "non-blank"),
        ('select = ["SG999"]\n', 1, "select names a rule"),
        ("max-file-bytes = 0\n", 1, "positive integer"),
        ("max-file-bytes = true\n", 1, "positive integer"),
        ("max-memory-mb = 0\n", 1, "max-memory-mb must be a positive integer"),
        ('symlinks = "follow"\n', 1, "one of error, skip"),
        ('base-scope = "none"\n', 1, "one of all, cancellation"),
        ("re-exports = 1\n", 1, "table"),
        ('[re-exports]\na = 1\n', None, "re-exports must map"),
        ("roles = 1\n", 1, "roles must be a table of lists"),
        ('[roles]\nlibrary = ["x"]\n', None, "is no role"),
        ("exemptions = 1\n", None, "list of tables"),
    ],
)  # fmt: skip
def test_defect_is_named(project: Project, text: str, line: int | None, words: str) -> None:
    found = defects(project, text)
    assert any(at == line and words in message for at, message in found)


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"rule": '"SG999"'}, "no rule SG999"),
        ({"rule": '"SG901"'}, "no rule SG901"),
        ({"rule": ""}, "rule is missing"),
        ({"rule": "1"}, "rule must be a non-blank string"),
        ({"path": '"/pkg/a.py"'}, "relative"),
        ({"path": '"pkg/../pkg/a.py"'}, "empty parts"),
        ({"path": '"pkg/*.py"'}, "patterns are not allowed"),
        ({"path": '"pkg/none.py"'}, "there is no file"),
        ({"path": '"tests/a.py"'}, "no production code"),
        ({"path": '"link.py"'}, "out of the project"),
        ({"symbol": '" "'}, "symbol must be a non-blank string"),
        ({"occurrences": ""}, "occurrences is missing"),
        ({"occurrences": "0"}, "at least 1"),
        ({"occurrences": "1.5"}, "at least 1"),
        ({"occurrences": "true"}, "at least 1"),
        ({"rationale": '"  "'}, "rationale must be a non-blank string"),
        ({"rationale": ""}, "rationale is missing"),
        ({"owner": "1"}, "owner must be"),
        ({"expires": '"soon"'}, "expires must be a date"),
        ({"expires": "1"}, "expires must be a date"),
        ({"why": '"x"'}, "why is no field"),
    ],
    ids=lambda value: str(value),
)
def test_defect_of_an_exemption_names_the_entry(
    project: Project, changes: dict[str, str], words: str
) -> None:
    project.write(pkg__a=PRINT, tests__a=PRINT)
    outside = project.root.parent / "outside.py"
    outside.write_text("x = 1\n", "utf-8")
    (project.root / "link.py").symlink_to(outside)
    found = defects(project, "strict = false\n" + entry(**changes))
    assert any(
        line == 2 and message.startswith("exemptions[1]: ") and words in message for line, message in found
    )


def test_same_family_twice_is_an_error(project: Project) -> None:
    project.write(pkg__a=PRINT)
    assert "exempted twice" in defects(project, entry() + entry(occurrences="2"))[0][1]


def test_all_defects_are_reported_at_once(project: Project) -> None:
    project.write(pkg__a=PRINT)
    assert len(defects(project, "stric = true\nignore = 1\n" + entry(occurrences="0", rule='"X"'))) == 4


def test_dates_are_read_as_dates_and_as_text(project: Project) -> None:
    project.write(pkg__a=PRINT, pkg__b=PRINT)
    project.configure(entry(expires="2031-01-02") + entry(path='"pkg/b.py"', expires='"2031-01-03"'))
    dates = [exemption.expires for exemption in load_config(project.root).exemptions]
    assert dates == [datetime.date(2031, 1, 2), datetime.date(2031, 1, 3)]


@pytest.mark.parametrize(
    ("path", "role"),
    [
        ("pkg/a.py", Role.PRODUCTION),
        ("tests/a.py", Role.TEST),
        ("pkg/tests/deep/a.py", Role.TEST),
        ("pkg/test_a.py", Role.TEST),
        ("pkg/latest.py", Role.PRODUCTION),
        ("conftest.py", Role.TEST),
        ("examples/a.py", Role.EXAMPLE),
        ("pkg/examples.py", Role.PRODUCTION),
        ("scripts/a.py", Role.TOOL),
        ("setup.py", Role.TOOL),
        ("pkg/cli.py", Role.CLI),
        ("pkg/cli/main.py", Role.CLI),
        ("pkg/__main__.py", Role.CLI),
        ("pkg/client.py", Role.PRODUCTION),
        ("pkg/a_pb2.py", Role.GENERATED),
    ],
)
def test_default_roles(path: str, role: Role) -> None:
    assert role_of(path, Config(root=Path()).roles) is role


def test_configured_role_replaces_its_defaults(project: Project) -> None:
    project.configure('[roles]\ntest = ["checks/**"]\n')
    roles = load_config(project.root).roles
    assert role_of("tests/a.py", roles) is Role.PRODUCTION
    assert role_of("checks/a.py", roles) is Role.TEST


@pytest.mark.parametrize(
    ("pattern", "path", "expected"),
    [
        ("a/*.py", "a/b.py", True),
        ("a/*.py", "a/b/c.py", False),
        ("a/**", "a/b/c.py", True),
        ("**/a.py", "a.py", True),
        ("a", "a/b.py", True),
        ("a", "ab.py", False),
        ("a?.py", "ab.py", True),
        ("a.py", "a+py", False),
    ],
)
def test_patterns(pattern: str, path: str, expected: bool) -> None:
    assert matches(path, [pattern]) is expected


def test_configuration_that_is_no_text_is_a_defect(project: Project) -> None:
    project.put("safety-gate.toml", b"\xff")
    with pytest.raises(ConfigError, match="cannot be read as UTF-8"):
        load_config(project.root)


def test_table_in_a_project_file_must_be_one(project: Project) -> None:
    file = project.put("pyproject.toml", "[tool]\nsafety-gate = 1\n")
    with pytest.raises(ConfigError, match="must be a table"):
        load_config(project.root, file)


def test_project_file_that_is_no_text_is_passed_over(project: Project) -> None:
    project.put("pyproject.toml", b"\xff")
    assert load_config(project.root).file is None


@pytest.mark.parametrize(
    "text",
    [
        "[tool.safety-gate]\nstric = 1\n",
        '[tool."safety-gate"]\nstric = 1\n',
        "[ tool . safety-gate ]\nstric = 1\n",
        "[tool]\nsafety-gate = {stric = 1}\n",
        "[tool]\nsafety-gate.stric = 1\n",
        "tool.safety-gate.stric = 1\n",
        '[tool."safety\\u002dgate"]\nstric = 1\n',
        "[tool]\nsafety-gate = 1\n",
        "[tool.safety-gate\nstric = 1\n",
    ],
)
def test_every_spelling_of_the_table_is_found(project: Project, text: str) -> None:
    project.put("pyproject.toml", text)
    with pytest.raises(ConfigError):
        load_config(project.root)


def test_project_file_that_only_names_the_gate_is_no_configuration(project: Project) -> None:
    project.put("pyproject.toml", '[tool.other]\nrun = "[tool.safety-gate]"\n')
    assert load_config(project.root).file is None


def test_project_file_that_is_no_text_is_not_passed_over(project: Project) -> None:
    project.put("pyproject.toml", b"[tool.safety-gate]\nstrict = true # \xff\n")
    with pytest.raises(ConfigError, match="UTF-8"):
        load_config(project.root)


@pytest.mark.parametrize(
    "value", ["[" * 3000 + "]" * 3000, "9" * 5000, "9" * 4000], ids=["deep", "unreadable", "long"]
)
def test_hostile_value_is_a_defect(project: Project, value: str) -> None:
    assert defects(project, f"strict = {value}\n")


def test_missing_file_is_called_missing(project: Project) -> None:
    with pytest.raises(ConfigError, match="No such file"):
        load_config(project.root, project.root / "none.toml")


@pytest.mark.parametrize("pair", ['"" = "x"', '" " = "x"', '"x" = " "'])
def test_blank_names_are_no_re_exports(project: Project, pair: str) -> None:
    assert "re-exports must map names" in defects(project, f"[re-exports]\n{pair}\n")[0][1]
