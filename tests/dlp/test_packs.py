"""What each rule of the packs takes and leaves."""

from __future__ import annotations

import base64
import ipaddress
import json
import re
from collections.abc import Sequence

import pytest

from tests.dlp.contexts import BACKENDS, counts, default_rules, inspect, streamed
from tramapy.dlp import RuleBasedDlpInterceptor
from tramapy.dlp.dialect import parse
from tramapy.dlp.folding import fold
from tramapy.dlp.interceptor import Backend
from tramapy.dlp.pack_rule import PackRule
from tramapy.dlp.packs import ALL, encoded, pii
from tramapy.dlp.view import View
from tramapy.hooks.dlp import DlpRedaction

DLP = {backend: default_rules(backend) for backend in BACKENDS}
RULES = [rule for pack in (*ALL, encoded) for rule in pack.rules]


def fake(prefix: Sequence[str], length: int) -> str:
    """Make a token that is plainly none; its prefix comes in pieces."""
    return "".join(prefix) + ("EXAMPLE0" * 40)[:length]


TAKEN = {
    "credit_card": [
        "4111-1111-1111-1111",
        "3782 822463 10005",
        "3056 930902 5904",
        "4111.1111.1111.1111",
        "6759649826438453",
        "6200000000000005",
        "2200000000000004",
        "5105 1051 0510 5100",
        "4111 1111\r\n1111 1111",
        "5066 9911 1111 1118",
        "6362970000457013",
        "5019 5555 4444 5555",
        "9792 0303 9444 0796",
        "5061020000000000094",
        "4111 - 1111 - 1111 - 1111",
        "4111/1111/1111/1111",
        "4111\t1111\t1111\t1111",
        "4111  1111  1111  1111",
        "3782  822463  10005",
    ],
    "iban": [
        "DE89 3704 0044 0532 0130 00",
        "de89370400440532013000",
        "De89370400440532013000",
        "FR14 2004 1010 0505 0001 3M02 606",
        "NL91-ABNA-0417-1643-00",
        "NO93 8601 1117 947",
        "de89 3704 0044 0532 0130 00",
        "gb82 west 1234 5698 7654 32",
        "FR14 2004 1010 0505 0001 3m02 606",
    ],
    "email": [
        "bob@xn--bcher-kva.example",
        "a.b-c_d@sub.example.org",
        "\u00fcmit@\u00f6rnek.example",
        "\u7528\u6237@\u4f8b\u5b50.\u5e7f\u544a",
        '"john smith"@example.com',
        '"a@b"@example.com',
    ],
    "us_ssn": ["078-05-1120", "123 45 6789"],
    "us_itin": ["912-70-1234"],
    "phone": [
        "+1 (415) 555-0132",
        "1-415-555-0132",
        "(415)555-0132",
        "415.555.0132",
        "+49 30 901820",
        "+442079460958",
        "0044 20 7946 0958",
        "0044 (0)20 7946 0958",
        "0049-30-901820",
        "415-555-0132 ext. 12",
        "415-555-0132x123",
        "+1 415 555 0132 x99",
        "+44 20 7946 0958, ext 7",
        "+1-415-555-0132;ext=123",
    ],
    "ipv4": ["192.168.0.1", "255.255.255.255"],
    "ipv6": ["2001:db8::1", "::ffff:203.0.113.7", "fe80::1ff:fe23:4567:890a"],
    "mac": ["00-00-5E-00-53-01", "00:00:5e:00:53:01", "0000.5e00.5301"],
    "aws_access_key": ["AKI" + "AIOSFODNN7EXAMPLE", "ASI" + "AIOSFODNN7EXAMPLE"],
    "github_token": [fake(("gho", "_"), 36), fake(("github", "_pat_"), 60)],
    "gitlab_token": [fake(("glpat", "-"), 20), fake(("glrt", "-"), 20)],
    "slack_token": [fake(("xox", "p-12345-"), 24), fake(("xox", "b-"), 10), fake(("xapp", "-1-A0-"), 30)],
    "stripe_key": [fake(("rk", "_live_"), 24), fake(("wh", "sec_"), 32)],
    "anthropic_key": [fake(("sk", "-ant-api03-"), 40)],
    "openai_key": [fake(("sk", "-svcacct-"), 40), fake(("sk", "-or-v1-"), 40), fake(("sk", "-"), 48)],
    "google_key": [fake(("GOC", "SPX-"), 28), fake(("ya", "29."), 40)],
    "google_refresh_token": [fake(("1/", "/0g"), 60)],
    "huggingface_token": [fake(("h", "f_"), 34)],
    "package_registry_token": [fake(("np", "m_"), 36), fake(("py", "pi-"), 60)],
    "sendgrid_key": [fake(("S", "G."), 22) + "." + fake((), 43)],
}


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize(
    ("rule_id", "value"), [(rule_id, value) for rule_id, values in TAKEN.items() for value in values]
)
def test_a_value_is_taken_whole(rule_id: str, value: str, backend: Backend) -> None:
    for text, expected in (
        (f"see {value}, please", f"see [REDACTED:{rule_id}], please"),
        (f"({value})", f"([REDACTED:{rule_id}])"),
        (value, f"[REDACTED:{rule_id}]"),
        (json.dumps({"a": [value]}), json.dumps({"a": [f"[REDACTED:{rule_id}]"]})),
    ):
        result = inspect(DLP[backend], text)
        assert (result.sanitized_text, counts(result)) == (expected, [(rule_id, 1)])
        assert streamed(DLP[backend], text) == result


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("curl -H 'Authorization: Bearer abc.def.ghi-1234567890'", "bearer_token"),
        ("Authorization: Basic QWxhZGRpbjpvcGVuIHNlc2FtZQ==", "basic_auth"),
        ("https://user:p4ss@example.com/x", "url_password"),
        ("mongodb+srv://u:p%40ss@cluster0.example.net/db", "url_password"),
        ("amqp://guest:secret@broker.example.net", "url_password"),
        ("see ?sig=abc%2Fdef123456789&x=1", "url_key"),
        ("GET /v1?token=abc123def456", "url_key"),
        ("Password: hunter2", "password"),
        ("password is hunter2.", "password"),
        ("pwd=secret123;", "password"),
        ("'passwd': 'S3cr3t!x'", "password"),
        ("PGPASSWORD=foo123 psql", "password"),
        ('password: "correct horse battery staple"', "password"),
        (r"{\"password\": \"hunter2!\"}", "password"),
        ("client_secret: 9f8e7d6c5b4a3f2e1d0c", "secret"),
        ("export GITHUB_TOKEN=abcd1234efgh5678", "secret"),
        ("AccountKey=abcd1234+/EFGH5678ijkl==;EndpointSuffix=core", "secret"),
        ("session_token: 'FwoGZXIvYXdzEBYaDEXAMPLE'", "secret"),
        ("\u0130 db_password: hunter2!", "password"),
        ("My API key is tpuf_EXAMPLE0EXAMPL", "secret"),
        ("ssn:123456789", "us_ssn"),
        ("SSN 123.45.6789", "us_ssn"),
        ("my ITIN 912.70.1234", "us_itin"),
        ("mac address 0011.2233.4455", "mac"),
        ("00:1b:44:11:3a:b7: no route", "mac"),
        ("mac:00:1b:44:11:3a:b7", "mac"),
        ("device:00:1b:44:11:3a:b7 up", "mac"),
        ("x:00-1b-44-11-3a-b7", "mac"),
        ("addr:0011.22aa.3344", "mac"),
        ("wlan0:00:1b:44:11:3a:b7", "mac"),
        ("facade:00:1b:44:11:3a:b7", "mac"),
        ("\u5730\u5740:00:1b:44:11:3a:b7", "mac"),
        ("(0011.22aa.3344:)", "mac"),
        ("GB82 WEST 1234 5698 7654 32\u8c22\u8c22", "iban"),
        ("GB82-WEST-1234-5698-7654-32\u304c", "iban"),
        ("Tel: 030 901820 ext 12", "phone"),
        ("list\n+14155550132\n", "phone"),
        ("my ITIN 900123456 wait: itin 912701234", "us_itin"),
        ("aws_secret_key = " + "wJalrXUtnFEMI/K7MDENG/" + "bPxRfiCYEXAMPLEKEY", "aws_secret_key"),
        ("Tel: 030 901820", "phone"),
        ('{"phone": "4155550132"}', "phone"),
        ("phone_number='07911123456'", "phone"),
        ("call me at 4155550132", "phone"),
        ("DB_PASS=hunter22", "password"),
        ('{"pass": "hunter22"}', "password"),
        (r'{"password": "hun\"ter2xy"}', "password"),
        ("call me at 0151 23456789", "phone"),
    ],
)
def test_a_value_is_taken_for_what_stands_before_it(text: str, expected: str, backend: Backend) -> None:
    result = inspect(DLP[backend], text)
    assert counts(result) == [(expected, 1)]
    assert streamed(DLP[backend], text) == result


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize(
    "text",
    [
        "Basic information about the bearer of bad news",
        "postgresql://app:${DB_PASSWORD}@db/x and https://example.com:8080/path@x",
        "password=None, password: <your password>, Your password must be 8 characters",
        "Authorization: Basic dXNlcjr//v38LTEyMzQ1 is user: and bytes that are no text",
        "@example.com is a domain",
        "token = get_token(); api_key=os.environ['KEY']; secret: settings.SECRET",
        "max_tokens=4096 token_count: 12345678 token_type=Bearer",
        "password_hash_rounds = 12 and password reset at noon",
        "sha256:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
        "uuid 550e8400-e29b-41d4-a716-446655440000",
        "order 20240728123456 total 1234567890123456",
        "port 8080, v1.2.3.4, version 1.2.3.4, 1.2.3.4.5, build 2024.07.28.1",
        "id 666-12-3456, 123-45-6789-0, 900-12-3456",
        "0.4111111111111111 and lat 41.11111111111111",
        "at 10:30:45 and 12:00:00, std::vector, a::b, 1:2:3",
        "phone ext 12345, Invoice 415-555, 1-2-3-4",
        "-----BEGIN PUBLIC KEY-----\nMIIBIjANBgkqhkiG9w0BAQEFAAOCAQ8AMIIBCgKCAQEA\n-----END PUBLIC KEY-----",
        "git@github.com:example/repo.git",
        "<task-notification-for-the-current-agent-run> and risk-learning-over-the-years",
        "token: getUserTokenFromRequestHeader",
        "aaaa@ @bbbb foo@localhost",
        "GB82 WEST 1234 5698 7654 33 and XX82 WEST 1234 5698 7654 32",
        "00:00:00:00:00:00 and ff-ff-ff-ff-ff-ff",
        "00:1b:44:11:3a:b7:0a and 00:1b:44:11:3a:b7:-x",
        "x:00:1b:44:11:3a:b7:0a, ac:00:1b:44:11:3a:b7 and x:ac:00:1b:44:11:3a:b7",
        "1111111111111111 4444444444444444",
        "see [1] and {2}",
        "SECRET_FOO_NAME = 'abc123def456'",
        "tel: 01, Tel: 0",
        "pass: 12 tests, first_pass=95%, bypass=hunter22, the compass: north1",
        "created_at 4155550132, call 1755302400",
        "http://x.example/1//0abcdefghijklmnopqrstuvwxyz0123456789 and 1//0, 11//0abcdefghijklmnopqrstuvwxyz0123456789",
        "Private-Lines: many",
        "1000  4111  1111  1111  1111 and 4111/1111/1111/1111/2222 and 4111 - 1111  1111 - 1111",
        "4111\t1111\t1111\t1111\t1234",
        "gb82 west 1234 5698 7654 33 and so on",
        'say "hello"@ you, "a"@b',
        "version 123.45.6789",
        "1234.5678.9012 and dead.beef.cafe and 1a2b.3c4d.5e6f.7a8b",
        "0012345678, 0020 3030 3030 3030 3030 3030 3030 3030 3030, 0010 4865 6c6c, id 00123-45 67 89",
        "0046 0066 0069; x",
        "+12345678 and +1415555013",
        "diff\n@@ -1 +1 @@\n-20260731\n+20260732\n",
        "a\n-foo\n+bar\n+49123456789\n",
        '{"version": "1.2.3.4"} AssemblyVersion("1.0.0.0") oldVersion="0.0.0.0-4.5.0.0"',
        "foo==1.2.3.4, see #section-4.2.1.3, subclause 7.3.5.1 and \u00a7 15.10.4.1",
        "icon@2x.png and sprite@3x.jpg",
        "2434\n2436\n2437\n2445\n4111\n1111\n1111\n1111\n",
        "in clause 252.227-7013 of it",
        "PWD=/home/bob/src1 OLDPWD=/home/bob1 password_mgr=auth1 passwd = s:netrw_passwd",
    ],
)
def test_harmless_text_stays(text: str, backend: Backend) -> None:
    assert inspect(DLP[backend], text).sanitized_text == text


@pytest.mark.parametrize(
    "block",
    [
        "-----BEGIN RSA PRIVATE"
        + " KEY-----\n"
        + ("EXAMPLE0" * 8 + "\n") * 3
        + "abcd=\n-----END RSA PRIVATE KEY-----",
        "-----BEGIN PRIVATE" + " KEY-----\r\n" + ("EXAMPLE0" * 8 + "\r\n") * 3 + "-----END PRIVATE KEY-----",
        "-----BEGIN PGP PRIVATE KEY"
        + " BLOCK-----\nVersion: GnuPG v2\n\n"
        + "EXAMPLE0" * 8
        + "\n=abcd\n-----END PGP PRIVATE KEY BLOCK-----",
        "-----BEGIN RSA PRIVATE"
        + " KEY-----\nProc-Type: 4,ENCRYPTED\nDEK-Info: AES-128-CBC,0123\n\n"
        + "EXAMPLE0" * 8
        + "\n-----END RSA PRIVATE KEY-----",
        '---- BEGIN SSH2 ENCRYPTED PRIVATE KEY ----\nSubject: ann\nComment: "2048-bit rsa"\n'
        + ("EXAMPLE0" * 8 + "\n") * 3
        + "abcd=\n---- END SSH2 ENCRYPTED PRIVATE KEY ----",
    ],
    ids=["rsa", "crlf", "pgp", "encrypted", "ssh2"],
)
def test_a_key_block_is_taken_whole(block: str) -> None:
    result = inspect(DLP["stdlib"], f"key:\n{block}\nafter")
    assert result.sanitized_text == "key:\n[REDACTED:private_key]\nafter"
    assert streamed(DLP["stdlib"], f"key:\n{block}\nafter") == result


@pytest.mark.parametrize("backend", BACKENDS)
def test_the_private_lines_of_a_putty_file_are_taken(backend: Backend) -> None:
    head = "PuTTY-User-Key-File-2: ssh-rsa\nEncryption: none\nComment: ann\nPublic-Lines: 1\nAAAAB3Nza\n"
    lines = "Private-Lines: 3\n" + ("EXAMPLE0" * 8 + "\n") * 2 + "abcd"
    result = inspect(DLP[backend], f"{head}{lines}\nPrivate-MAC: 00")
    assert result.sanitized_text == f"{head}[REDACTED:private_key]\nPrivate-MAC: 00"
    assert streamed(DLP[backend], f"{head}{lines}\nPrivate-MAC: 00") == result


@pytest.mark.parametrize("behind", ["\nand then", " Then it ends", "\nEND", "\n12 more", "\n\nI see", ""])
def test_a_key_block_that_was_cut_off_leaves_the_next_word(behind: str) -> None:
    text = "-----BEGIN PRIVATE KEY-----\n" + ("EXAMPLE0" * 8 + "\n") * 2 + "EXAMPLE0" * 4 + behind
    result = inspect(DLP["stdlib"], text)
    assert result.sanitized_text == f"[REDACTED:private_key]{behind}"
    for place in range(len(text)):
        assert streamed(DLP["stdlib"], [text[:place], text[place:]]) == result


def test_a_key_block_that_was_cut_off_in_a_line_takes_its_rest() -> None:
    text = "-----BEGIN PRIVATE KEY-----\n" + ("EXAMPLE0" * 8 + "\n") * 2 + "MIIEv8x and on"
    assert inspect(DLP["stdlib"], text).sanitized_text == "[REDACTED:private_key] and on"


def test_a_cjk_sentence_around_an_address_stays() -> None:
    text = "\u8054\u7cfbalice@example.com\u8c22\u8c22"
    assert inspect(DLP["stdlib"], text).sanitized_text == "\u8054\u7cfb[REDACTED:email]\u8c22\u8c22"


def test_an_overlap_is_cut_as_one_and_named_by_what_is_certain() -> None:
    token = fake(("sk", "-ant-api03-"), 40)
    result = inspect(DLP["stdlib"], f'api_key = "{token}"')
    assert (result.sanitized_text, counts(result)) == (
        'api_key = "[REDACTED:anthropic_key]"',
        [("anthropic_key", 1)],
    )


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.id)
def test_every_rule_says_what_it_is(rule) -> None:
    assert rule.title
    assert rule.source
    assert rule.replacement == f"[REDACTED:{rule.id}]"
    assert repr(rule) == f"PackRule(id={rule.id!r})"
    parse(rule.held)
    rule.hint.encode("ascii")


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.id)
def test_a_rule_finds_the_same_in_parts_where_its_hints_stand(rule) -> None:
    for text in TAKEN.get(rule.id, []):
        folded = fold(text).text
        view = View(folded, 0, len(folded))
        found = set(rule.search(view))
        assert not found or rule.gate(view)
        in_bytes = folded.encode("latin-1", "replace").decode("latin-1")
        looks = [look for look in rule.looks if re.search(look.hint, in_bytes)]
        assert not rule.looks or {cut for look in looks for cut in look.search(view)} == found


def test_ids_are_unique() -> None:
    ids = [rule.id for rule in RULES]
    assert len(ids) == len(set(ids))


@pytest.mark.parametrize("backend", BACKENDS)
def test_base64_that_hides_personal_data_goes_where_one_asks_for_it(backend: Backend) -> None:
    dlp = RuleBasedDlpInterceptor.with_default_rules(backend=backend, packs=[encoded])
    hidden = base64.urlsafe_b64encode("write to \u00e9va@example.com".encode()).decode()
    harmless = base64.b64encode(b"nothing to see here, move along").decode()
    no_text = base64.b64encode(bytes(range(128, 256))).decode()
    text = (
        f"{harmless} {no_text} "
        + "prose " * 60
        + f"{hidden}, {'A' * 17} {'EXAMPLE0' * 2} and "
        + "so on " * 60
    )
    result = inspect(dlp, text)
    assert result.sanitized_text == text.replace(hidden, "[REDACTED:encoded_pii]")
    assert streamed(dlp, text) == result


def test_a_pair_of_escapes_that_stands_for_nothing_is_dropped() -> None:
    text = r"4111\udb40\udc411111 1111 1111"
    assert inspect(DLP["stdlib"], text).sanitized_text == text
    text = r"4111\udb40\udc41 1111 1111 1111"
    assert inspect(DLP["stdlib"], text).sanitized_text == "[REDACTED:credit_card]"


def test_a_window_ends_where_it_ends() -> None:
    email = next(rule for rule in pii.rules if rule.id == "email")
    assert isinstance(email, PackRule)
    text = "see ann@example.com and bob@example.com"
    assert [text[start:end] for start, end in email.search(View(text, 0, 12))] == ["ann@example.com"]


def test_a_search_of_encoded_text_stops_behind_its_window() -> None:
    (rule,) = encoded.rules
    value = base64.b64encode(b"ann@example.com, and more").decode()
    text = f"{value} {value}"
    assert [cut.start for cut in rule.search(View(text, 0, 4))] == [0]


@pytest.mark.parametrize("backend", BACKENDS)
def test_a_query_name_that_only_ends_like_a_key_is_none(backend: Backend) -> None:
    text = "https://x.example/?no_auth=aB3dE5fG7hJ9kL"
    dlp = default_rules(backend)
    assert inspect(dlp, text).sanitized_text == text


@pytest.mark.parametrize(
    "address",
    [
        *("2001:db8::8a2e:370:7334", "fe80::1ff:fe23:4567:890a", "1:2:3:4:5:6:7:8", "2001:db8:1:2:3:4:5::"),
        *("::2001:db8:1:2:3:4:5", "::ffff:192.0.2.33", "64:ff9b::192.0.2.33", "1:2:3:4:5:6:192.0.2.33"),
        *(
            "1:2:3:4:5:6:7",
            "1:2:3:4:5:6:7:8:9",
            "1:2:3:4::5:6:7:8",
            "2001:db8::1::2",
            "12345::abcde",
            "2001:::db8",
        ),
        *(
            "0000:0000::0000",
            "0:0:0:0:0:0:0:1",
            "::0000:0001",
            "00001::2",
            "::ffff:192.0.2.256",
            "::192.0.2.033",
        ),
        *("12:30:45", "2001:db8:1:2:3:4:5:192.0.2.33", "abcde::", "0001::0000", "1:12345:3:4:5:6:7:8"),
    ],
)
def test_an_address_is_what_the_standard_library_takes_for_one(address: str) -> None:
    try:
        parsed = ipaddress.IPv6Address(address)
    except ValueError:
        is_one = False
    else:
        is_one = int(parsed) > 1
    taken = inspect(DLP["stdlib"], address).redactions
    assert (DlpRedaction("ipv6", 1) in taken) == is_one


def test_a_long_token_in_json_is_dropped_as_it_comes() -> None:
    text = json.dumps({"note": fake(("sk", "-ant-"), 320) * 20, "count": 1})
    whole = inspect(DLP["stdlib"], text)
    assert json.loads(whole.sanitized_text) == {"note": "[REDACTED:anthropic_key]", "count": 1}
    assert streamed(DLP["stdlib"], [text[place : place + 100] for place in range(0, len(text), 100)]) == whole
