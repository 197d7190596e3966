"""Which values show a secret or a payload when they are logged."""

from __future__ import annotations

import pytest

from safety_gate import RuleSettings, check_source

HEAD = "import hashlib, logging, os\nlog = logging.getLogger()\n"
HEAD += "def f(password, prompt, rows, request, flag, clean_up):\n"


def is_shown(value: str, before: str = "", settings: RuleSettings | None = None) -> bool:
    lines = "".join(f"    {line}\n" for line in [*before.splitlines(), f'log.info("%s", {value})'])
    report = check_source(HEAD + lines, settings=settings)
    assert report.diagnostics == ()
    return any(violation.rule in ("SG201", "SG202") for violation in report.violations)


@pytest.mark.parametrize(
    "value",
    [
        "password",
        "password if flag else None",
        "[password for _ in rows]",
        "{password for _ in rows}",
        "{1: password for _ in rows}",
        "{'a': password}",
        "f'{password}'",
        "'x' + password",
        "(p := password)",
        "str(password)",
        "password[:4]",
        "rows['password']",
        "rows['api-key']",
        "rows[CONF_PASSWORD]",
        "rows.get('password')",
        "os.environ['API_KEY']",
        "request.body",
        "user.password.lower()",
    ],
)
def test_value_is_shown(value: str) -> None:
    assert is_shown(value)


@pytest.mark.parametrize(
    "value",
    [
        "len(password)",
        "password is None",
        "not password",
        "bool(password)",
        "password == prompt",
        "'*' * len(password)",
        "hashlib.sha256(password).hexdigest()",
        "password_count",
        "rows['user']",
        "rows[0]",
        "rows[ATTR_NAME]",
        "rows[flag]",
        "rows.get(flag)",
        "os.getenv(flag)",
        "redact(password)",
        "'a' if flag else 'b'",
        "prompt.length",
        "request.method",
        "lambda: 1",
    ],
)
def test_value_shows_nothing(value: str) -> None:
    assert not is_shown(value)


@pytest.mark.parametrize(
    ("before", "expected"),
    [
        ("token = 'a'", False),
        ("token = 1", False),
        ("token = b'abcdefghijklmnopqrstuvwxyz0123456789'", True),
        ("token = 'abcdefghijklmnopqrstuvwxyz0123456789'", True),
        ("token = redact(password)", False),
        ("token = password is None", False),
        ("token = not password", False),
        ("token = read()", True),
        ("def token(): pass", False),
        ("token, other = read()", True),
    ],
)
def test_what_a_name_was_given_counts(before: str, expected: bool) -> None:
    assert is_shown("token", before) is expected


@pytest.mark.parametrize(("pattern", "expected"), [("conceal", False), ("con*", False), ("other", True)])
def test_sanitizers_are_configured(pattern: str, expected: bool) -> None:
    assert is_shown("password.conceal()", settings=RuleSettings(sanitizers=(pattern,))) is expected
