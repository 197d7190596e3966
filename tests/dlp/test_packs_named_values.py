"""Values behind their names where no plain separator joins them, and what only looks alike."""

from __future__ import annotations

import pytest

from tests.dlp.contexts import BACKENDS, inspect, streamed
from tramapy.dlp import RuleBasedDlpInterceptor
from tramapy.dlp.interceptor import Backend

DLP = {backend: RuleBasedDlpInterceptor.with_default_rules(backend=backend) for backend in BACKENDS}
PROSE = "so the story goes on and on. " * 9

TAKEN = {
    "element": ("<password>", "hunter2", "</password>"),
    "element with attributes": ("<db:Password type=\"x\" n='1'>", "correct horse", "</db:Password>"),
    "element on lines": ("<passphrase>\n    ", "hunter2", "\n  </passphrase>"),
    "marked section": ("<password><![CDATA[", "hunter2", "]]></password>"),
    "key element": ("<apiKey>", "abcd1234efgh5678", "</apiKey>"),
    "named by an attribute": ('<entry key="password">', "hunter2", "</entry>"),
    "attribute": ('<add key="Password" value="', "hunter2", '"/>'),
    "variable": ('{"name": "DB_PASSWORD", "value": "', "hunter2", '"}'),
    "variable on lines": ("- name: DB_PASSWORD\n  value: ", "hunter2", "\n"),
    "table": ("| password | ", "hunter2", " |"),
    "table in bold": ("| user | ann |\n| **password** | `", "hunter2", "` |"),
    "key in a table": ("| API key | ", "abcd1234efgh5678", " |"),
    "table without an edge": (" password | ", "hunter2", ""),
    "tabs": ("user\tann\npassword\t", "hunter2", "\n"),
    "option": ("mysqldump --password ", "hunter2", " db"),
    "quoted option": ("x --password '", "correct horse", "' y"),
    "option of words": ("x --db-password ", "hunter", " --user ann"),
    "option in the end of a line": ("x --db-password ", "hunter", " \\\n  --user ann"),
    "key option": ("x --api-key ", "abcd1234efgh5678", " run"),
    "short option": ("keytool -storepass ", "hunter22", " -x"),
    "next line": ("password:\n  ", "hunter2", "\n"),
    "block": ("password: |\n  ", "hunter2", "\nnext: 1"),
    "folded block": ("password: >-\r\n  ", "hunter2", "\r\nnext: 1"),
    "next line quoted": ('password:\n  "', "hunter2", '"\n'),
    "statement": ("ALTER USER ann PASSWORD '", "secretx", "';"),
    "netrc": ("machine h.example.com login ann password ", "hunter", ""),
    "netrc on lines": ("machine h.example.com\n  login ann\n  password ", "hunter", "\n"),
    "ampersand": ("password=", "ab1&cd2", ""),
    "ampersand before a field": ("a?user=x&password=", "ab12", "&lang=en"),
    "two ampersands": ("password=", "foo1234", " && echo"),
    "open bracket": ("password: ", "hun(ter2", ""),
    "bracket behind a mark": ("password: ", "P@ss(word)1", ""),
    "in brackets": ("(password=", "P@ss1", ")"),
    "brackets in brackets": ("(password=", "P@s(s)1", ")"),
    "key with a bracket": ("secret=", "x!y(z12345", ""),
}

HARMLESS = [
    '<label for="password">Password</label> <option value="password">Password grant</option>',
    "<password>The password of the user</password>",
    "if token > 5 and x <y/>",
    '<input name="password" value="password">',
    '{"name": "password", "value": "required"}',
    "| password | string | required |",
    "| api_key | sha256 | token | int64 |",
    "| user | password |\n|---|---|",
    "echo $PASSWORD | sha256sum; cat token | base64",
    "Alpha1PrivateKey | Beta2PrivateKey | Gamma25519PrivateKey",
    "app [--password password] [--token TOKEN]",
    "  --token TOKEN    The token1 to use",
    "use --password to set it, or --password and so on",
    "docker login --password-stdin registry1.example.com",
    "password:\n  type: string",
    "if has_token:\n    x1=3\n",
    "case TOKEN:\n   return1;",
    "password:\n- item1\n",
    "see the password:\nhttps://example.com/reset1\n",
    "password:\n  name1:\n",
    "def f(token:\n      str)",
    "the password 'field' is; Possible hardcoded password '(root)'",
    "the login and password with1 it, machine learning password x1y2",
    "password = getpass.getpass('x')",
    "password: varchar(255), password: foo1(bar, baz)",
    "token=get_token1(foo,",
    "x password=load1(",
    "my password-1 x1y2z3",
    "use --password-stdin x1y2z3, my-token abcd1234efgh, --password HUNTER",
    "the password is wrong",
    "password=ab12(" + "x" * 300,
]


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("parts", TAKEN.values(), ids=TAKEN)
def test_a_value_is_taken_however_it_is_joined_to_its_name(
    parts: tuple[str, str, str], backend: Backend
) -> None:
    before, value, behind = parts
    for left, right in (("", ""), (f"{PROSE}\n", f"\n{PROSE}")):
        result = inspect(DLP[backend], left + before + value + behind + right)
        rule_id = result.redactions[0].rule_id
        assert rule_id in ("password", "secret")
        assert result.sanitized_text == f"{left}{before}[REDACTED:{rule_id}]{behind}{right}"


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("text", HARMLESS)
def test_what_looks_alike_stays(text: str, backend: Backend) -> None:
    for whole in (text, f"{PROSE}\n{text}\n{PROSE}"):
        assert inspect(DLP[backend], whole).sanitized_text == whole


@pytest.mark.parametrize("text", [*map("".join, TAKEN.values()), *HARMLESS])
def test_every_split_in_two_gives_the_whole_result(text: str) -> None:
    for whole in (text, text + "\nx", text + PROSE):
        expected = inspect(DLP["stdlib"], whole)
        assert streamed(DLP["stdlib"], whole) == expected
        for place in range(len(text) + 1):
            assert streamed(DLP["stdlib"], [whole[:place], whole[place:]]) == expected


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("step", [1, 7, 500])
@pytest.mark.parametrize(
    ("before", "behind"),
    [("password:\n  ", " x"), ("| password | ", " x"), ("--password ", " x"), ("password: ", "(x)")],
    ids=["line", "cell", "option", "call"],
)
def test_a_value_longer_than_it_is_judged_by_is_taken_without_what_stands_behind(
    before, behind, step, backend
):
    text = before + "aB3" * 2_000 + behind
    assert inspect(DLP[backend], text).sanitized_text == f"{before}[REDACTED:password]{behind}"
    pieces = [text[start : start + step] for start in range(0, len(text), step)]
    assert streamed(DLP[backend], pieces).sanitized_text == f"{before}[REDACTED:password]{behind}"
