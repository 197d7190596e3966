"""Texts with what must go and what must stay; the known prefixes of keys are written as escapes."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["CASES", "Case"]


@dataclass(frozen=True, slots=True)
class Case:
    """One text.

    Args:
        id: The number of the case.
        entity: What it holds; `none` for nothing.
        text: The text.
        redacted: None of them survives.
        kept: All of them stay.
    """

    id: str
    entity: str
    text: str
    redacted: tuple[str, ...]
    kept: tuple[str, ...]


_PNG = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="

CASES = (
    Case(
        "dlp-001",
        "credit_card",
        "Charge 4111 1111 1111 1111 for the order.",
        ("4111 1111 1111 1111",),
        ("Charge ", " for the order."),
    ),
    Case("dlp-003", "credit_card", "pan 4111111111111111 end", ("4111111111111111",), ("pan ", " end")),
    Case(
        "dlp-004", "credit_card", "Amex on file: 378282246310005", ("378282246310005",), ("Amex on file: ",)
    ),
    Case("dlp-007", "credit_card", "old visa 4222222222222 ok", ("4222222222222",), ("old visa ", " ok")),
    Case("dlp-008", "credit_card", "MC 2-series 2223003122003222", ("2223003122003222",), ("MC 2-series ",)),
    Case(
        "dlp-010",
        "credit_card",
        "JCB 3530111333300000 / Discover 6011111111111117",
        ("3530111333300000", "6011111111111117"),
        ("JCB ", " / Discover "),
    ),
    Case("dlp-012", "none", "ref 4111 1111 1111 1112", (), ("4111 1111 1111 1112",)),
    Case("dlp-015", "none", "at_millis=1700000000004 done", (), ("1700000000004",)),
    Case(
        "dlp-017",
        "none",
        "file 20260823000001_reap_stale.sql was applied",
        (),
        ("20260823000001_reap_stale.sql",),
    ),
    Case("dlp-018", "none", "access 1548138160707 GET /index", (), ("1548138160707",)),
    Case(
        "dlp-020",
        "none",
        "id 47223179-9330-4259-b66c-f2db26efb20c",
        (),
        ("47223179-9330-4259-b66c-f2db26efb20c",),
    ),
    Case("dlp-022", "none", "sha 4111111111111111deadbeef", (), ("4111111111111111deadbeef",)),
    Case("dlp-023", "credit_card", "2026 4111 1111 1111 1111", ("4111 1111 1111 1111",), ("2026 ",)),
    Case(
        "dlp-024",
        "credit_card",
        "4111 1111 1111 1111 1234 trailing",
        ("4111 1111 1111 1111",),
        (" trailing",),
    ),
    Case("dlp-025", "credit_card", "pay 4111111111111111 now", ("4111111111111111",), ("pay ", " now")),
    Case("dlp-026", "none", "odd 41 11 11 11 11 11 11 11 groups", (), ("41 11 11 11 11 11 11 11",)),
    Case(
        "dlp-027",
        "credit_card",
        '{"card":"5555555555554444","order_id":5555555555554440}',
        ("5555555555554444",),
        ('{"card":"', '","order_id":5555555555554440}'),
    ),
    Case("dlp-028", "credit_card", '{"card": 5105105105105100}', ("5105105105105100",), ('{"card": ',)),
    Case("dlp-029", "credit_card", "4111 1111\n1111 1111", ("4111 1111\n1111 1111",), ()),
    Case(
        "dlp-030",
        "credit_card",
        "| card | 4242424242424242 |\n|---|---|",
        ("4242424242424242",),
        ("| card | ", "|---|---|"),
    ),
    Case("dlp-031", "credit_card", "`4242 4242 4242 4242`", ("4242 4242 4242 4242",), ("`",)),
    Case(
        "dlp-032",
        "credit_card",
        "\uff14\uff11\uff11\uff11 \uff11\uff11\uff11\uff11 \uff11\uff11\uff11\uff11 \uff11\uff11\uff11\uff11",
        (
            "\uff14\uff11\uff11\uff11 \uff11\uff11\uff11\uff11 \uff11\uff11\uff11\uff11 \uff11\uff11\uff11\uff11",
        ),
        (),
    ),
    Case(
        "dlp-033",
        "credit_card",
        "4111\u200b1111\u200b1111\u200b1111 ok",
        ("4111\u200b1111\u200b1111\u200b1111",),
        (" ok",),
    ),
    Case("dlp-039", "us_ssn", "ssn 123 45 6789", ("123 45 6789",), ("ssn ",)),
    Case(
        "dlp-040", "us_ssn", "social security number 123456789", ("123456789",), ("social security number ",)
    ),
    Case("dlp-041", "none", "batch 123456789 shipped", (), ("123456789",)),
    Case("dlp-042", "none", "078-05112 and 07805-112", (), ("078-05112", "07805-112")),
    Case("dlp-043", "none", "id 000-12-3456", (), ("000-12-3456",)),
    Case("dlp-045", "none", "id 900-12-3456", (), ("900-12-3456",)),
    Case("dlp-047", "none", "id 123-00-4567", (), ("123-00-4567",)),
    Case("dlp-048", "none", "id 123-45-0000", (), ("123-45-0000",)),
    Case("dlp-049", "us_itin", "my SSN is 987-65-4321", ("987-65-4321",), ("my SSN is ",)),
    Case("dlp-050", "us_ssn", "SSN 123\u201345\u20136789", ("123\u201345\u20136789",), ("SSN ",)),
    Case("dlp-053", "none", "part 1123-45-67890", (), ("1123-45-67890",)),
    Case("dlp-054", "us_ssn", "SSN 123-45-\n6789", ("123-45-\n6789",), ("SSN ",)),
    Case(
        "dlp-055",
        "us_ssn",
        "\U0001f600\U0001f600 SSN 123-45-6789!",
        ("123-45-6789",),
        ("\U0001f600\U0001f600 SSN ", "!"),
    ),
    Case("dlp-056", "email", "Write to alice@example.com.", ("alice@example.com",), ("Write to ", ".")),
    Case(
        "dlp-057",
        "email",
        "(alice+news@mail.eu.example.co.uk)",
        ("alice+news@mail.eu.example.co.uk",),
        ("(", ")"),
    ),
    Case(
        "dlp-060", "email", "j\xfcrgen@b\xfccher.example today", ("j\xfcrgen@b\xfccher.example",), (" today",)
    ),
    Case(
        "dlp-062",
        "email",
        "https://example.com/?user=joe@example.com&x=1",
        ("joe@example.com",),
        ("https://example.com/?user=", "&x=1"),
    ),
    Case(
        "dlp-064", "email", "vic\u200btim@example.com replied", ("vic\u200btim@example.com",), (" replied",)
    ),
    Case(
        "dlp-065",
        "email",
        '{"to":"carol@example.com","n":1}',
        ("carol@example.com",),
        ('{"to":"', '","n":1}'),
    ),
    Case("dlp-066", "email", '{"to":"carol\\u0040example.com"}', ("carol\\u0040example.com",), ('{"to":"',)),
    Case("dlp-068", "none", "git@ and foo@localhost", (), ("git@", "foo@localhost")),
    Case("dlp-069", "email", "name: dave@example.com\u3001\u6b21", ("dave@example.com",), ("\u3001\u6b21",)),
    Case("dlp-071", "phone", "Call +14155550132 now", ("+14155550132",), ("Call ", " now")),
    Case("dlp-073", "phone", "Tel. (415) 555-0132", ("(415) 555-0132",), ("Tel. ",)),
    Case("dlp-075", "phone", "UK +44 20 7946 0958", ("+44 20 7946 0958",), ("UK ",)),
    Case(
        "dlp-076",
        "none",
        "guid 110bcd25-a55d-453a-8046-1297901ea002",
        (),
        ("110bcd25-a55d-453a-8046-1297901ea002",),
    ),
    Case("dlp-078", "none", "created_at 1755302400", (), ("1755302400",)),
    Case(
        "dlp-080", "none", "released 2024-07-28, port 8080, price $4500", (), ("2024-07-28", "8080", "$4500")
    ),
    Case(
        "dlp-082",
        "iban",
        "IBAN GB82 WEST 1234 5698 7654 32 please",
        ("GB82 WEST 1234 5698 7654 32",),
        ("IBAN ", " please"),
    ),
    Case("dlp-086", "iban", "IBAN DE89370400440532013000 FAILED", ("DE89370400440532013000",), (" FAILED",)),
    Case("dlp-087", "iban", "GB82 WEST 1234 5698 7654 32 fail", ("GB82 WEST 1234 5698 7654 32",), (" fail",)),
    Case("dlp-088", "iban", "IBAN: AT611904300234573201", ("AT611904300234573201",), ("IBAN: ",)),
    Case("dlp-089", "none", "GB82 WEST 1234 5698 7654 33", (), ("GB82 WEST 1234 5698 7654 33",)),
    Case("dlp-090", "none", "part AB12 CDEF 3456 GHIJ", (), ("AB12 CDEF 3456 GHIJ",)),
    Case("dlp-091", "ipv4", "from 203.0.113.7 at noon", ("203.0.113.7",), ("from ", " at noon")),
    Case("dlp-092", "ipv4", "203.0.113.7:8443", ("203.0.113.7",), (":8443",)),
    Case("dlp-094", "none", "v10.4.22.1 released", (), ("v10.4.22.1",)),
    Case("dlp-096", "none", "bind 0.0.0.0 or 127.0.0.1", (), ("0.0.0.0", "127.0.0.1")),
    Case(
        "dlp-097",
        "ipv6",
        "host 2001:db8:85a3::8a2e:370:7334 up",
        ("2001:db8:85a3::8a2e:370:7334",),
        ("host ", " up"),
    ),
    Case(
        "dlp-098",
        "ipv6",
        "2001:0db8:0000:0000:0000:0567:5673:23b5",
        ("2001:0db8:0000:0000:0000:0567:5673:23b5",),
        (),
    ),
    Case("dlp-099", "none", "std::vector<int> v; a::b", (), ("std::vector<int> v; a::b",)),
    Case("dlp-100", "none", "bed:: dead:: ad::", (), ("bed:: dead:: ad::",)),
    Case("dlp-102", "mac", "eth0 00:00:5e:00:53:01 up", ("00:00:5e:00:53:01",), ("eth0 ", " up")),
    Case(
        "dlp-103",
        "jwt",
        "token \x65yJhbGciOiJub25lIn0.\x65yJzdWIiOiJleGFtcGxlIn0.EXAMPLE0EXAMPLE0EXAMPLE0EXAMPLE0EXAMPLE0EXA end",
        ("\x65yJhbGciOiJub25lIn0.\x65yJzdWIiOiJleGFtcGxlIn0.EXAMPLE0EXAMPLE0EXAMPLE0EXAMPLE0EXAMPLE0EXA",),
        ("token ", " end"),
    ),
    Case(
        "dlp-105", "aws_access_key", "id \x41KIAIOSFODNN7EXAMPLE.", ("\x41KIAIOSFODNN7EXAMPLE",), ("id ", ".")
    ),
    Case(
        "dlp-107",
        "aws_secret_key",
        "AWS_SECRET_ACCESS_KEY=\x77JalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY",
        ("\x77JalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY",),
        ("AWS_SECRET_ACCESS_KEY=",),
    ),
    Case(
        "dlp-108",
        "aws_secret_key",
        '{"SecretAccessKey": "\x77JalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY"}',
        ("\x77JalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY",),
        ('{"SecretAccessKey": "', '"}'),
    ),
    Case(
        "dlp-109",
        "none",
        "git revert a94a8fe5cca94a8fe5cca94a8fe5cca94a8fe5cc",
        (),
        ("a94a8fe5cca94a8fe5cca94a8fe5cca94a8fe5cc",),
    ),
    Case(
        "dlp-110",
        "github_token",
        "use \x67hp_EXAMPLE0EXAMPLE0EXAMPLE0EXAMPLE0EXAM here",
        ("\x67hp_EXAMPLE0EXAMPLE0EXAMPLE0EXAMPLE0EXAM",),
        ("use ", " here"),
    ),
    Case(
        "dlp-111",
        "github_token",
        "pat \x67ithub_pat_EXAMPLE0EXAMPLE0EXAMPL_EXAMPLE0EXAMPLE0EXAMPLE0EXAMPLE0EXAMPLE0EXAMPLE0EXAMPLE0EXA",
        ("\x67ithub_pat_EXAMPLE0EXAMPLE0EXAMPL_EXAMPLE0EXAMPLE0EXAMPLE0EXAMPLE0EXAMPLE0EXAMPLE0EXAMPLE0EXA",),
        ("pat ",),
    ),
    Case(
        "dlp-113",
        "aws_access_key",
        "\x41KIAIOSFODNN7EXAMPLE then again \x41KIAIOSFODNN7EXAMPLE",
        ("\x41KIAIOSFODNN7EXAMPLE",),
        (" then again ",),
    ),
    Case(
        "dlp-114",
        "slack_token",
        "SLACK_API_KEY: \x78oxb-000000000000-000000000000-EXAMPLE0EXAMPLE0EXAMPLE0",
        ("\x78oxb-000000000000-000000000000-EXAMPLE0EXAMPLE0EXAMPLE0",),
        ("SLACK_API_KEY: ",),
    ),
    Case(
        "dlp-115",
        "slack_webhook",
        "SLACK_WEBHOOK: https://\x68ooks.slack.com/services/T00000000/B00000000/EXAMPLE0EXAMPLE0EXAMPLE0",
        ("https://\x68ooks.slack.com/services/T00000000/B00000000/EXAMPLE0EXAMPLE0EXAMPLE0",),
        ("SLACK_WEBHOOK: ",),
    ),
    Case(
        "dlp-116",
        "stripe_key",
        "live \x73k_live_EXAMPLE0EXAMPLE0EXAMPLE0 test \x73k_test_EXAMPLE0EXAMPLE0EXAMPLE0",
        ("\x73k_live_EXAMPLE0EXAMPLE0EXAMPLE0", "\x73k_test_EXAMPLE0EXAMPLE0EXAMPLE0"),
        ("live ", " test "),
    ),
    Case(
        "dlp-117",
        "openai_key",
        "OPENAI_API_KEY=\x73k-proj-EXAMPLE0EXAMPLE0EXAMPLE0EXAMPLE0EXAMPLE0EXAMPLE0",
        ("\x73k-proj-EXAMPLE0EXAMPLE0EXAMPLE0EXAMPLE0EXAMPLE0EXAMPLE0",),
        ("OPENAI_API_KEY=",),
    ),
    Case(
        "dlp-118",
        "openai_key",
        "old \x73k-EXAMPLE0EXAMPLE0EXAMPLE0EXAMPLE0EXAMPLE0EXAMPLE0",
        ("\x73k-EXAMPLE0EXAMPLE0EXAMPLE0EXAMPLE0EXAMPLE0EXAMPLE0",),
        ("old ",),
    ),
    Case(
        "dlp-119",
        "anthropic_key",
        "key \x73k-ant-api03-EXAMPLE0EXAMPLE0EXAMPLE0EXAMPLE0EXAMPLE0 done",
        ("\x73k-ant-api03-EXAMPLE0EXAMPLE0EXAMPLE0EXAMPLE0EXAMPLE0",),
        ("key ", " done"),
    ),
    Case(
        "dlp-120",
        "google_key",
        "maps?key=\x41IzaEXAMPLE0EXAMPLE0EXAMPLE0EXAMPLE0EXA&v=3",
        ("\x41IzaEXAMPLE0EXAMPLE0EXAMPLE0EXAMPLE0EXA",),
        ("maps?key=", "&v=3"),
    ),
    Case(
        "dlp-121",
        "none",
        "<ta\x73k-notification-for-the-current-agent-run>",
        (),
        ("<ta\x73k-notification-for-the-current-agent-run>",),
    ),
    Case(
        "dlp-123",
        "generic_secret",
        "My API key is tpuf_EXAMPLE0EXAMPL",
        ("tpuf_EXAMPLE0EXAMPL",),
        ("My API key is ",),
    ),
    Case(
        "dlp-125",
        "pem_private_key",
        '{"private_key":"-----\x42EGIN PRIVATE KEY-----\\nEXAMPLE0EXAMPLE0EXAMPLE0EXAMPLE0EXAMPLE0EXAMPLE0EXAMPLE0EXAMPLE0\\n-----END PRIVATE KEY-----\\n"}',
        ("EXAMPLE0EXAMPLE0EXAMPLE0EXAMPLE0EXAMPLE0EXAMPLE0EXAMPLE0EXAMPLE0",),
        ('{"private_key":"', '"}'),
    ),
    Case(
        "dlp-126",
        "pem_private_key",
        "-----\x42EGIN PRIVATE KEY-----\nEXAMPLE0EXAMPLE0EXAMPLE0EXAMPLE0EXAMPLE0EXAMPLE0EXAMPLE0EXAMPLE0\n(cut)",
        ("EXAMPLE0EXAMPLE0EXAMPLE0EXAMPLE0EXAMPLE0EXAMPLE0EXAMPLE0EXAMPLE0",),
        ("(cut)",),
    ),
    Case(
        "dlp-128",
        "bearer",
        "Authorization: Bearer EXAMPLE0EXAMPLE0EXAMPLE0EXAMPLE0",
        ("EXAMPLE0EXAMPLE0EXAMPLE0EXAMPLE0",),
        ("Authorization: ",),
    ),
    Case(
        "dlp-129",
        "basic_auth",
        "Authorization: Basic dXNlcjpleGFtcGxlLXBhc3M=",
        ("dXNlcjpleGFtcGxlLXBhc3M=",),
        ("Authorization: ",),
    ),
    Case(
        "dlp-130", "none", "the bearer of this letter may enter", (), ("the bearer of this letter may enter",)
    ),
    Case(
        "dlp-131",
        "url_password",
        "postgres://app:example-pass@db.example.com:5432/x",
        ("example-pass",),
        ("postgres://", "@db.example.com:5432/x"),
    ),
    Case(
        "dlp-133",
        "url_password",
        "redis://:example-pass@cache.example.com:6379/0",
        ("example-pass",),
        ("@cache.example.com:6379/0",),
    ),
    Case("dlp-134", "none", "postgres://app@db.example.com/x", (), ("postgres://app@db.example.com/x",)),
    Case(
        "dlp-136",
        "connection_string",
        "Server=tcp:db.example.com,1433;User ID=app;Password=example-pass;Encrypt=True;",
        ("example-pass",),
        ("Server=tcp:db.example.com,1433", "Encrypt=True"),
    ),
    Case(
        "dlp-137",
        "connection_string",
        "Data Source=db.example.com;Uid=app;Pwd=ex@mple!pass;Encrypt=True",
        ("ex@mple!pass",),
        ("Data Source=db.example.com", "Encrypt=True"),
    ),
    Case("dlp-138", "password", "password: 'Ex@mple-1234'", ("Ex@mple-1234",), ("password: '",)),
    Case("dlp-139", "password", "DB_PASSWORD=example-pass-0001", ("example-pass-0001",), ("DB_PASSWORD=",)),
    Case(
        "dlp-140",
        "api_key_in_url",
        "https://api.example.com/v1?apiKey=EXAMPLE0EXAMPLE0&lang=en",
        ("EXAMPLE0EXAMPLE0",),
        ("https://api.example.com/v1?apiKey=", "&lang=en"),
    ),
    Case("dlp-141", "none", 'password = os.getenv("DB_PASSWORD")', (), ('os.getenv("DB_PASSWORD")',)),
    Case("dlp-143", "none", "token: \x67lpat-XXXXXXXXXXX-XXXXXXXX", (), ("\x67lpat-XXXXXXXXXXX-XXXXXXXX",)),
    Case(
        "dlp-144",
        "none",
        'monkey = "banana-tree-house-01"; keyword = "Example_P2"',
        (),
        ("banana-tree-house-01", "Example_P2"),
    ),
    Case("dlp-145", "none", 'LLM_SECRET_NAME = "EXAMPLE-GPT-API-KEY"', (), ("EXAMPLE-GPT-API-KEY",)),
    Case("dlp-147", "none", "max_tokens: 4096, token_count=1234567", (), ("4096", "1234567")),
    Case(
        "dlp-148",
        "encoded_email",
        "payload YWxpY2VAZXhhbXBsZS5jb20=",
        ("YWxpY2VAZXhhbXBsZS5jb20=",),
        ("payload ",),
    ),
    Case("dlp-149", "encoded_email", "q=alice%40example.com&p=1", ("alice%40example.com",), ("q=", "&p=1")),
    Case(
        "dlp-150",
        "none",
        f"image data:image/png;base64,{_PNG}",
        (),
        (_PNG,),
    ),
    Case(
        "dlp-151",
        "overlap",
        "password: alice@example.com-203.0.113.7-tail",
        ("alice@example.com-203.0.113.7-tail",),
        ("password: ",),
    ),
    Case(
        "dlp-153",
        "overlap",
        "Order for 415-555-0132, please check the order.",
        ("415-555-0132",),
        (", please check the order.",),
    ),
    Case(
        "dlp-154",
        "offset",
        "Alex, alex@example.com, phone 415-555-0132.",
        ("alex@example.com", "415-555-0132"),
        ("Alex, ", ", phone ", "."),
    ),
    Case(
        "dlp-155",
        "offset",
        "Cafe\u0301 owner: alice@example.com, tel 415-555-0132",
        ("alice@example.com", "415-555-0132"),
        ("Cafe\u0301 owner: ",),
    ),
    Case(
        "dlp-157",
        "multi",
        "a@example.com, b@example.com; 203.0.113.7 & 123-45-6789",
        ("a@example.com", "b@example.com", "203.0.113.7", "123-45-6789"),
        (", ", "; ", " & "),
    ),
    Case(
        "dlp-158",
        "none",
        "Already [REDACTED:email] and <EMAIL_ADDRESS>",
        (),
        ("[REDACTED:email]", "<EMAIL_ADDRESS>"),
    ),
    Case("dlp-159", "none", "", (), ()),
    Case("dlp-160", "none", "bad \ufffd byte, lone text", (), (" byte, lone text",)),
    Case(
        "dlp-161",
        "structured",
        '{"args":{"note":"ssn 123-45-6789","list":["a@example.com",7]}}',
        ("123-45-6789", "a@example.com"),
        ('"args"', '"note"', "7]}}"),
    ),
    Case("dlp-162", "structured", '{"4111111111111111": "value"}', ("4111111111111111",), ('"value"',)),
    Case(
        "dlp-163",
        "code",
        '```python\nAPI_KEY = "\x73k_test_EXAMPLE0EXAMPLE0EXAMPLE0"\nprint(1)\n```',
        ("\x73k_test_EXAMPLE0EXAMPLE0EXAMPLE0",),
        ("```python", "print(1)\n```"),
    ),
    Case(
        "dlp-164",
        "quoted",
        "> On Monday bob@example.org wrote:\n> hi",
        ("bob@example.org",),
        ("> On Monday ", " wrote:\n> hi"),
    ),
)
