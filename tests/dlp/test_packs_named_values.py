"""Values behind their names where no plain separator joins them, and what only looks alike."""

from __future__ import annotations

import pytest

from tests.dlp.contexts import BACKENDS, default_rules, inspect, streamed
from tramapy.dlp.interceptor import Backend

DLP = {backend: default_rules(backend) for backend in BACKENDS}
PROSE = "so the story goes on and on. " * 9

TAKEN = {
    "element": ("<password>", "hunter2", "</password>"),
    "element with attributes": ("<db:Password type=\"x\" n='1'>", "correct horse", "</db:Password>"),
    "element on lines": ("<passphrase>\n    ", "hunter2", "\n  </passphrase>"),
    "marked section": ("<password><![CDATA[", "hunter2", "]]></password>"),
    "key element": ("<apiKey>", "abcd1234efgh5678", "</apiKey>"),
    "named by an attribute": ('<entry key="password">', "hunter2", "</entry>"),
    "value of a label": ('{"label": "Password:", "value": "', "x9k2mz", '"}'),
    "list of arguments": ('["mysql", "--password", "', "x9k2mz", '", "db"]'),
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
    "quotes in JSON": ('{"password":"', r"x1y2 \"quoted\" z\"!k", '","n":"m"}'),
    "a quote in a quote": ("{'password': '", r"it\'s1 hunter", "'}"),
    "quote and comma in JSON": ('{"password": "', r"ab\",cd9", '"}'),
    "quote, comma and blank in JSON": ('{"n": 1, "password":"', r"ab\", cd9\",x", '", "m": 2}'),
    "quote and comma in lines of JSON": ('"password": "', r"ab\",cd9" + "x" * 60, '"\n'),
    "JSON in JSON": (r'{"a": "{\"password\": \"', r"ab\\\",cd9", r'\"}"}'),
    "JSON of code": ('x = {"password": "', "ab12", '",cd: "e", "f":"g"}'),
    "end of JSON": ('x: {"password": "', "ab12", '","cd9": "e"}'),
    "quote and comma before words": ('x: {"password": "', "ab12", '", so and so"}'),
    "quote and comma before long words": ('x: {"password": "', "ab12", f'",{"x" * 65}"}}'),
    "colon behind a quote": ("DB_PASSWORD='", 'aB3":9xZ!', "'"),
    "comma between quotes": ("PASSWORD='", 'pa","x9!', "'"),
    "colon between quotes": ("password: `", 'pa":"x9!', "`"),
    "quotes of JSON behind JSON": ("""x = {"a": "b, it's"}\nPASSWORD='""", 'pa","x9!', "'"),
    "quotes of JSON behind a name in quotes": ("""x = {"a": {}, "password": '""", 'pa","x9!', "'}"),
    "quotes of JSON behind quoted words": ("""she said "yes", so PASSWORD='""", 'pa","x9!', "'"),
    "quotes of JSON behind a label": ("""x = {"label": "Name:", "b": 1} PASSWORD='""", 'pa","x9!', "'"),
    "no number behind a quote in JSON": ("""{"run": "export PASSWORD='""", r"aB3\":9xZ!", """'"}"""),
    "quote first": ('password = "', '"key', '": "x"'),
    "list": ('"passwords": ["', "hunter2", '"]'),
    "short name": ("pw: ", "hunter2", ""),
    "object": ('"password": {"value": "', "hunter2", '"}'),
    "unequal": ('if password !== "', "hunter2", '";'),
    "typed": ('var password string = "', "hunter2", '"'),
    "macro": ('#define PASSWORD "', "hunter2", '"'),
    "setter": ('x.setPassword("', "hunter2", '")'),
    "function": ("SET PASSWORD FOR 'ann' = PASSWORD('", "hunter2", "')"),
    "pair": ("user,ann\npassword,", "hunter2", "\n"),
    "quoted pair": ('"api_key";"', "abcd1234efgh", '"\n'),
    "arrow": ("API key -> ", "abcd1234efgh", ""),
    "dash": ("* Password \u2013 ", "hunter22", ""),
    "blank line": ("Password:\n\n", "hunter2", "\n"),
    "form": ('Content-Disposition: form-data; name="password"\r\n\r\n', "hunter2", "\r\n--x"),
    "plist": ("<key>password</key>\n\t<string>", "hunter2", "</string>"),
    "cells of HTML": ('<td>Password</td><td class="x y">', "hunter2", "</td>"),
    "bold in HTML": ("<b>Password:</b> ", "hunter2", "<br>"),
    "bold value in HTML": ("Password: <b>", "hunter2", "</b>"),
    "escaped HTML": ("&quot;password&quot;:&quot;", "hunter2", "&quot;"),
    "escaped in an URL": ("%22password%22%3A%22", "hunter2", "%22"),
    "quote in a field": ('"password": {"value": "', 'hunt"[er, and so on, and on]"2 x', '"}'),
    "meta": ('<meta name="csrf-token" content="', "abcd1234efgh", '">'),
    "of whom": ("the password for the DB is ", "hunter2", ""),
    "of which": ("Password for root: ", "hunter2", ""),
    "Italian": ("la password \u00e8 ", "hunter2", ""),
    "sentence": ("log in as bob with password ", "hunter22", " please"),
    "instruction": ("ENV DB_PASSWORD ", "hunter22", "\n"),
    "two words": ("secret key: ", "abcd1234efgh", ""),
}

HARMLESS = [
    '{"label": "Password:", "name": "email"}',
    """{"hint": "PASSWORD '", "id1": 78051120, "note": "it's"}""",
    """{"PASSWORD '": 1, "id1": true, "note": "it's"}""",
    """{"PASSWORD '": -1.5, "b": "it's"}, {"PASSWORD `": null, "b1": "`"}""",
    """{"a": "said \\"so1\\", PASSWORD '", "id1": [1], "note": "it's"}""",
    r"""{"a": "{\"b\": \"c1\"} PASSWORD '", "id1": {}, "note": "it's"}""",
    r"""{"a": "{\"b\": \"PASSWORD '\", \"c1\": \"it's\"}", "id1": "x"}""",
    """{"PWD": "/home/ann1/x", "OLDPWD": "~/x1"}, PWD: '/home/ann1'""",
    '{"prompt": "Enter password ", "field1": "x"}',
    '[{"a": {"b": "PASSWORD "}, "id1": 3}]',
    'print("password ", x1, "y")',
    "print('Password: ', end=''), Label(text=\"Password:\", font=('Arial1', 12))",
    """x = 'Password: ' + pwd1 + ' ok', "Password: " . $x1 . "", <input placeholder="Password:" name="pw1">""",
    't("Password:"), t("Name2")',
    'option("--password", "password1")',
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
    'x("IMAP password for %s on %s: " % (USER, host or "h"))',
    "credentials._scopes == ['scope1'], TOKEN_URIS = ['https://example.com/v3/token']",
    "credentials.with_project('project-123'), get_password('field1')",
    "Invalid subject token - https://example.com/rfc6749",
    'pass "Skipping test 12 for version 3..."; **: pass --debug-nghttp2',
    "printf(&quot;Password is correct.&quot;)",
    "with password RFC2898, a password - 8-character, use password step3",
    "NOPASSWD: /bin/systemctl restart x",
    "name, password, item1\nuser;password;\n",
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


ABROAD = [
    ("Kennwort: ", "hunter2", ""),
    ("kennwort=", "kennwort=hunter2", ""),
    ("Kennwort: 123456", "", ""),
    ("Das Kennwort lautet \u201e", "", ""),
    ("mot de passe : ", "hunter2!", " merci."),
    ("contrase\u00f1a: '", "hunter2", "'"),
    ("La senha \u00e9 ", "hunter2", "."),
    ("\u043c\u043e\u0439 \u043f\u0430\u0440\u043e\u043b\u044c ", "hunter2", ", \u0434\u0430"),
    ("\u5bc6\u7801\uff1a", "hunter2", "\u3002"),
    ("\u30d1\u30b9\u30ef\u30fc\u30c9\u306f", "hunter2", "\u3067\u3059"),
    ("\u5bc6\u7801 is '", "hunter2", "'"),
    ("\u5bc6\u7801\u662f`", "h\u00fcnter2", "`"),
    ("`\u5bc6\u7801`\u306f ", "hunter2", ""),
    ("\u5bc6\u7801\uff1a\u8bf7\u8f93\u51658\u4f4d", "", ""),
    ("\u041f\u0430\u0440\u043e\u043b\u044c: \u0432\u0432\u0435\u0434\u0438\u0442\u0435", "", ""),
    ("API\u5bc6\u94a5\uff1a", "x9k2mzA8bq2", ""),
    ('{"\u4ee4\u724c": "', "x9k2mzA8bq2", '"}'),
    ("API \ud0a4: ", "x9k2mzA8bq2", ""),
    ("API\u30ad\u30fc\u306f", "x9k2mzA8bq2", ""),
    ("\u043a\u043b\u044e\u0447 API: ", "x9k2mzA8bq2", ""),
    ("API-Schl\u00fcssel: ", "x9k2mzA8bq2", "."),
    ("cl\u00e9 d'API : ", "x9k2mzA8bq2", " merci"),
    ("Chave da API: ", "x9k2mzA8bq2", ""),
    ("klucz do api = ", "x9k2mzA8bq2", ""),
    ("Schl\u00fcssel: x9k2mzA8bq2, API-Schl\u00fcssel: siehe Seite", "", ""),
    ("clave api: string, la chave api \u00e9 obrigat\u00f3ria", "", ""),
    ("\u0442\u043e\u043a\u0435\u043d: ERC-20, \u5bc6\u94a5: \u8bf7\u8f93\u5165", "", ""),
    ("mot de passe: password, wachtwoord vergeten? ", "", ""),
]


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize(("before", "value", "behind"), ABROAD)
def test_a_secret_is_taken_behind_the_words_of_other_languages(before, value, behind, backend) -> None:
    text = before + value + behind
    result = inspect(DLP[backend], text)
    assert result.sanitized_text == (f"{before}[REDACTED:foreign_password]{behind}" if value else text)
    for place in range(len(text) + 1):
        assert streamed(DLP[backend], [text[:place], text[place:]]) == result


@pytest.mark.parametrize("backend", BACKENDS)
def test_all_of_a_list_is_taken(backend: Backend) -> None:
    text = '"passwords": [ "hunter2",\n "on", "hunter3"], "tokens": ["abcd1234efgh", "a"], x'
    expected = '"passwords": [ "[P]",\n "on", "[P]"], "tokens": ["[REDACTED:secret]", "a"], x'
    sanitized = inspect(DLP[backend], text).sanitized_text
    assert sanitized == expected.replace("[P]", "[REDACTED:password]")
    assert streamed(DLP[backend], text).sanitized_text == sanitized
    many = '"passwords": [' + '"hunter2", ' * 20
    assert inspect(DLP[backend], many).sanitized_text.count("hunter2") == 20 - 8
    assert streamed(DLP[backend], many) == inspect(DLP[backend], many)


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("text", HARMLESS)
def test_what_looks_alike_stays(text: str, backend: Backend) -> None:
    for whole in (text, f"{PROSE}\n{text}\n{PROSE}"):
        assert inspect(DLP[backend], whole).sanitized_text == whole


@pytest.mark.unmeasured
@pytest.mark.parametrize("text", [*map("".join, TAKEN.values()), *HARMLESS])
def test_every_split_in_two_gives_the_whole_result(text: str) -> None:
    for whole in (text, text + "\nx", text + PROSE):
        expected = inspect(DLP["stdlib"], whole)
        assert streamed(DLP["stdlib"], whole) == expected
        for place in range(len(text) + 1):
            assert streamed(DLP["stdlib"], [whole[:place], whole[place:]]) == expected


@pytest.mark.unmeasured
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


@pytest.mark.parametrize("backend", BACKENDS)
def test_a_string_that_begins_far_before_a_value_counts_in_a_stream_as_in_the_whole_text(
    backend: Backend,
) -> None:
    stays = set[bool]()
    for length in range(225, 260):
        text = f"""{PROSE} "a": "{"b" * length} PASSWORD '", "c1": 1, "d": "it's" """
        result = inspect(DLP[backend], text)
        assert streamed(DLP[backend], text) == result
        stays.add(result.sanitized_text == text)
    assert stays == {True, False}
