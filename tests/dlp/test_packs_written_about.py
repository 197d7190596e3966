"""Values that stand in tables, code, Markdown, quotes and logs are found, on both backends and in streams."""

from __future__ import annotations

import pytest

from tests.dlp.contexts import BACKENDS, default_rules, inspect, streamed
from tramapy.dlp.interceptor import Backend

_LINES = ["Ab3dEf6hIj9lMn2pQr5t" * 3 + "Xy1z" for _ in range(3)] + ["Ab3dEf6hIjk="]
_BEGIN = "-----BEGIN " + "RSA PRIVATE KEY-----"
_END = "-----END RSA PRIVATE KEY-----"
_KEY = "a1B2c3D4e5F6g7H8i9J0"
_JOINTS = ("\n    ", "\n\t\t\t\t\t\t", "\n> ", "\n+ ", "\n# ", "\n // ", "\n  | ", '\\n" +\n  "')
_PAIRS = (
    ("4111111111111111,5555555555554444", "5555555555554444"),
    ("1,4111111111111111,12/29", "4111111111111111"),
    ("219-09-9999,219-09-9998", "219-09-9998"),
    ("- **Password:** hunter2", "hunter2"),
    ("**Password**: hunter2", "hunter2"),
    ("`password`: `hunter2`", "hunter2"),
    ('password: str = "hunter2"', "hunter2"),
    ("const password: string = 'hunter2'", "hunter2"),
    ("password = r'hunter2'", "hunter2"),
    ('password = """hunter2x"""', "hunter2x"),
    ("PASSWORD=$tr0ng!pw", "tr0ng"),
    (f"credentials: {_KEY}", _KEY),
    ("smtp://ann@example.com:pa55word@mail.example.com:587", "pa55word"),
    (f"Authorization: Token {_KEY}", _KEY),
    (f"Authorization: {_KEY}", _KEY),
    ("Basic w7xzZXI6cMOkc3N3w7ZyZA==", "w7xzZXI6cMOkc3N3w7ZyZA=="),
    (f"glffct-{_KEY}", _KEY),
    (f"xoxc-123456789012-{_KEY}", _KEY),
    (f"eyJhbGciOiJkaXIiLCJlbmMiOiJ4In0.{_KEY}.{_KEY}.{_KEY}.{_KEY}", _KEY),
    (f"\x1b[31mghp_{_KEY}{_KEY}\x1b[0m", _KEY),
    (f"\\u001b[1;31mghp_{_KEY}{_KEY}\\x1b[0m", _KEY),
    ("\x1b[33mann@example.com\x1b[0m", "ann@example.com"),
    ("card \x1b[1m4111111111111111\x1b[0m", "4111111111111111"),
)
_HARMLESS = (
    "(0,4111111111111111)",
    "Mozilla/5.0 (X11) Chrome/120.0.0.0 Safari/537.36",
    "password = $DB_PASSWORD",
    "password: $(cat file)",
    "$this->password = $this->random",
    "password: str = None",
    "tokens: 4096",
    "**Token**: what a lexer gives",
)


@pytest.mark.unmeasured
@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("joint", _JOINTS, ids=repr)
def test_a_key_block_goes_whole_however_its_lines_are_joined(backend: Backend, joint: str) -> None:
    dlp = default_rules(backend)
    text = joint.join(["key:", _BEGIN, *_LINES, _END, "(end)"])
    result = inspect(dlp, text)
    assert not [line for line in _LINES if line in result.sanitized_text]
    assert result.sanitized_text.startswith("key:")
    assert result.sanitized_text.endswith("(end)")
    for place in range(len(text)):
        assert streamed(dlp, [text[:place], text[place:]]) == result


@pytest.mark.unmeasured
@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize(("text", "value"), _PAIRS)
def test_a_value_is_found_as_it_is_written(backend: Backend, text: str, value: str) -> None:
    dlp = default_rules(backend)
    result = inspect(dlp, text)
    assert value not in result.sanitized_text
    assert inspect(dlp, result.sanitized_text).sanitized_text == result.sanitized_text
    for place in range(len(text)):
        assert streamed(dlp, [text[:place], text[place:]]) == result


@pytest.mark.unmeasured
@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("text", _HARMLESS)
def test_what_only_looks_alike_stays(backend: Backend, text: str) -> None:
    assert inspect(default_rules(backend), text).sanitized_text == text
