"""Credentials where commands, statements and headers put them, and what only looks alike."""

from __future__ import annotations

import base64

import pytest

from tests.dlp.contexts import BACKENDS, counts, default_rules, inspect, streamed
from tramapy.dlp.interceptor import Backend

DLP = {backend: default_rules(backend) for backend in BACKENDS}
PROSE = "so the story goes on and on. " * 9
PAIR = base64.b64encode(b"ann:hunter2").decode()
HASHED = "*" + "0123456789ABCDEF0123" * 2

TAKEN = [
    ("command_password", "curl -u ann:", "hunter2", " https://x.example"),
    ("command_password", "curl -uann:", "hunter2", ". Then"),
    ("command_password", "curl -u a;n&n:", "hunter2", " https://x.example"),
    ("command_password", 'curl -sS -X POST \\\n  -u "ann:', "hun ter2", '" https://x.example'),
    ("command_password", "curl -H 'A: b' --user 'ann:", "hunter", "' https://x.example"),
    ("command_password", "mysql -u root -p", "hunter2", " db"),
    ("command_password", "sshpass -p '", "hun ter2", "' ssh x"),
    ("command_password", "sshpass -p", "hunter2", " ssh x"),
    ("command_password", "docker login -u ann -p ", "hunter2", " r.example"),
    ("command_password", "redis-cli -h x -a ", "s3cretpw", " ping"),
    ("command_password", "CREATE USER 'a'@'%' IDENTIFIED BY '", "hunterx", "';"),
    ("command_password", "alter user a identified by ", "hunter2", ";"),
    ("command_password", "CREATE USER a IDENTIFIED WITH mysql_native_password BY '", "tigerx", "'"),
    ("command_password", "GRANT ALL TO x IDENTIFIED BY PASSWORD '", HASHED, "'"),
    ("command_password", "requirepass ", "hunter", ""),
    ("command_password", '# masterauth "', "hunter2", '"'),
    ("command_password", "sentinel auth-pass main ", "hunter2", " # old"),
    ("command_password", "redis-server --requirepass=", "hunter2", " --port 1"),
    ("command_password", "db.example.com:5432:shop:ann:", r"s3\:cret", ""),
    ("command_password", "[::1]:5432:*:*:", "hunter2", ""),
    ("command_password", '{"command": ["redis-server", "--requirepass", "', "hunter2", '"]}'),
    ("command_password", '{"file": "h:5432:shop:ann:', "hunter2", '\\n"}'),
    ("cookie", "Set-Cookie: session=", "a3fWa1b2c3", "; Path=/; HttpOnly"),
    ("cookie", "Cookie: theme=dark; sid=", "a1b2c3d4e5", "; n=1"),
    ("cookie", "Cookie: theme=dark; _x=", "abcdefghij0123456789", ""),
    ("cookie", 'document.cookie = "session=', "a3fWa1b2c3", '"'),
    ("cookie", "curl --cookie 'session=", "a3fWa1b2c3", "' x"),
    ("cookie", '{"Cookie": "csrftoken=', "x1.a1b2c3", '; lang=en"}'),
    ("cookie", "Cookie: session=", "aB3" * 1_500, "; z=1"),
    ("basic_auth", '{"auths": {"r.example": {"auth": "', PAIR, '"}}}'),
    ("basic_auth", "requests.get(u, auth=('ann', '", "hunter2", "'))"),
    ("basic_auth", 'new NetworkCredential("ann", "', "hunter2", '", "x")'),
    ("cookie", '{"name":"Cookie","value":"sid=', "a3fWa1b2c3", '"}'),
    ("basic_auth", "//r.example/:_auth=", PAIR, ""),
]

HARMLESS = [
    "curl --user ann:$PASS https://x; curl -u user:password https://x",
    "curl x\n -u ann:hunter2 -u ann:hunter3",
    "git push -u origin:main1",
    "mysql -u root -p db; mysql -h h -P 3306; mkdir -p a1b2/c && mysql",
    "docker run -p 8080:80 x; docker login -u ann --password-stdin; ls -a foo12345",
    "each is identified by name, identified by 'tiger' and by the id",
    "Cookie: this is text about a=b, the cookie: id=12, cookies = {'session': 'a1b2c3d4'}",
    "Set-Cookie: theme=darkmode1; session=a3fWa1b2c3",
    "Cookie: session=[REDACTED:cookie]; lang=en-US1",
    "HTTPBasicAuth('user', 'pass'), auth('ann', 'role'), auth=('a1', key1)",
    "requirepass is a directive. Set requirepass in redis.conf, requirepass ${REDIS_PASSWORD}, --requirepass $PASS",
    "db:5432:app:ann:password",
    "postgres://h:5432/db, x = h:5432:a:b:hunter2, at 10:5432:a:b:word",
    "auth: enabled1, author = Hunter12345, auth=QUJDREVGR0hJSktM",
]


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("case", TAKEN, ids=lambda case: (case[1] + case[2])[:60])
def test_a_credential_is_taken_where_it_is_put(case: tuple[str, str, str, str], backend: Backend) -> None:
    rule_id, before, value, behind = case
    sides = [("", ""), (f"{PROSE}\n", f"\n{PROSE}")]
    for left, right in sides[: 1 if before.startswith("{") else 2]:
        result = inspect(DLP[backend], left + before + value + behind + right)
        assert result.sanitized_text == f"{left}{before}[REDACTED:{rule_id}]{behind}{right}"
        assert counts(result) == [(rule_id, 1)]


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("text", HARMLESS)
def test_what_looks_alike_stays(text: str, backend: Backend) -> None:
    for whole in (text, f"{PROSE}\n{text}\n{PROSE}"):
        assert inspect(DLP[backend], whole).sanitized_text == whole


@pytest.mark.unmeasured
@pytest.mark.parametrize("text", [*("".join(case[1:]) for case in TAKEN), *HARMLESS])
def test_every_split_in_two_gives_the_whole_result(text: str) -> None:
    for whole in (text, text + PROSE):
        expected = inspect(DLP["stdlib"], whole)
        assert streamed(DLP["stdlib"], whole) == expected
        for place in range(min(len(text), 300) + 1):
            assert streamed(DLP["stdlib"], [whole[:place], whole[place:]]) == expected


def test_only_so_many_cookies_are_read():
    many = "Cookie: " + "; ".join(f"n{number}.sid=a1b2c3d4{number}" for number in range(200))
    whole = inspect(DLP["stdlib"], many)
    assert inspect(DLP["re2"], many) == whole
    for step in (1, 64, 700):
        assert streamed(DLP["stdlib"], [many[at : at + step] for at in range(0, len(many), step)]) == whole
    assert 40 < whole.redactions[0].replacement_count < 80
