import json

import pytest

from tramapy.cli.redact.reading import InputError
from tramapy.cli.redact.records import RecordRedactor, find_members, parse_field
from tramapy.dlp import DlpRule, RuleBasedDlpConfiguration, RuleBasedDlpInterceptor
from tramapy.hooks.dlp import DlpContentType

DLP = RuleBasedDlpInterceptor.with_default_rules()


def redact(*lines: bytes, fields: tuple[str, ...] = ()) -> tuple[str, dict[str, int]]:
    redactor = RecordRedactor(DLP, map(parse_field, fields))
    text = "".join([redactor.redact(line) for line in lines])
    return text, {redaction.rule_id: redaction.replacement_count for redaction in redactor.redactions}


@pytest.mark.parametrize(
    ("field", "path"),
    [("text", ("text",)), ("a.b", ("a", "b")), (r"a\.b.c", ("a.b", "c")), (r"a\\.b", ("a\\", "b"))],
)
def test_a_field_is_a_path(field: str, path: tuple[str, ...]) -> None:
    assert parse_field(field) == path


@pytest.mark.parametrize("field", ["", ".", "a.", ".a", "a..b", "a\\"])
def test_a_path_without_a_name_is_refused(field: str) -> None:
    with pytest.raises(InputError, match="--field takes names"):
        parse_field(field)


@pytest.mark.parametrize(
    ("record", "fields", "values"),
    [
        ('{"a": 1, "b": "x"}', ["b"], ['"x"']),
        ('{"a" : [ "x", {"a": "y"} ] , "b": 2}', ["a"], ['[ "x", {"a": "y"} ]']),
        ('{"m": [{"c": "x"}, {"c": "y", "d": 1}]}', ["m.c"], ['"x"', '"y"']),
        ('[[{"c": "x"}], {"d": {"c": "y"}}]', ["c", "d.c"], ['"x"', '"y"']),
        ('{"a": {"b": "x"}, "b": "y"}', ["a", "a.b"], ['{"b": "x"}']),
        ('{"a.b": "x", "a": {"b": "y"}}', [r"a\.b"], ['"x"']),
        ('{"\\u0061": "x", "c": "a\\"b, }"}', ["a", "c"], ['"x"', '"a\\"b, }"']),
        ('{"a": null, "a": true}', ["a"], ["null", "true"]),
        ('{"b": "a"}', ["a"], []),
        ('"a"', ["a"], []),
        ("{}", ["a"], []),
    ],
)
def test_members_are_found_where_they_stand(record: str, fields: list[str], values: list[str]) -> None:
    json.loads(record)
    assert [record[member.value] for member in find_members(record, map(parse_field, fields))] == values


def test_only_named_fields_are_redacted_and_the_rest_stays_byte_for_byte() -> None:
    line = b'{"text" :  "mail ann\\u0040example.com",\t"other": "bob@example.com", "n": 1.50, "\\u00e4\xc3\xa4": 0}\r\n'
    text, counts = redact(line, fields=("text",))
    assert text.encode() == line.replace(b"ann\\u0040example.com", b"[REDACTED:email]")
    assert counts == {"email": 1}


def test_without_fields_everything_is_redacted() -> None:
    text, counts = redact(b'{"ann@example.com": 1, "card": 4111111111111111, "t": ["bob@example.com"]}\n')
    assert json.loads(text) == {
        "[REDACTED:email]": 1,
        "card": "[REDACTED:credit_card]",
        "t": ["[REDACTED:email]"],
    }
    assert counts == {"email": 2, "credit_card": 1}


def test_a_fields_name_tells_what_its_value_is() -> None:
    text, _ = redact(b'{"password": "hunter2horse", "x": "hunter2horse"}', fields=("password", "x"))
    assert json.loads(text) == {"password": "[REDACTED:password]", "x": "hunter2horse"}


def test_a_number_of_a_field_that_is_replaced_becomes_a_string() -> None:
    assert redact(b'{"card":4111111111111111}', fields=("card",))[0] == '{"card":"[REDACTED:credit_card]"}'


def test_a_name_that_would_be_replaced_stays_and_is_not_counted() -> None:
    text, counts = redact(b'{"ann@example.com": "bob@example.com"}', fields=(r"ann@example\.com",))
    assert text == '{"ann@example.com": "[REDACTED:email]"}'
    assert counts == {"email": 1}


def test_blank_lines_and_a_byte_order_mark_stay() -> None:
    lines = (b'\xef\xbb\xbf{"a": "ann@example.com"}\n', b"\n", b"  \r\n", b'{"a": 1}')
    assert redact(*lines)[0] == '\ufeff{"a": "[REDACTED:email]"}\n\n  \r\n{"a": 1}'
    assert redact(b"\xef\xbb\xbf\n")[0] == "\ufeff\n"


def test_records_and_fields_are_counted() -> None:
    redactor = RecordRedactor(DLP, [("a",), ("b",)])
    for line in (b'{"a": 1}\n', b"\n", b"{}\n"):
        redactor.redact(line)
    assert redactor.record_count == 2
    assert redactor.found_fields == {("a",)}


@pytest.mark.parametrize("fields", [(), (("a",),)], ids=["whole", "field"])
def test_a_rule_that_would_break_the_json_is_refused(fields: tuple[tuple[str, ...], ...]) -> None:
    rule = DlpRule(id="r", pattern='"x": "', replacement='"', enabled_for=set(DlpContentType))
    more = DlpRule(id="s", pattern='x"}|x"]', replacement="", enabled_for=set(DlpContentType))
    redactor = RecordRedactor(RuleBasedDlpInterceptor(RuleBasedDlpConfiguration([rule, more])), fields)
    with pytest.raises(InputError, match="line 1 would not stay JSON"):
        redactor.redact(b'{"a": {"x": "x"}, "b": "x"}')
