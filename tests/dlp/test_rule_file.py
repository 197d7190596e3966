import os
import traceback
from pathlib import Path

import pytest

from tests.dlp.contexts import context_of
from tramapy.dlp import DlpAction, RuleBasedDlpConfiguration, RuleBasedDlpInterceptor, load_rule_file
from tramapy.dlp.packs import ALL, pii, secrets
from tramapy.errors import ConfigurationError
from tramapy.hooks.dlp import DlpContentType

WHOLE = r"""
packs = ["secrets", "pii"]
disabled_rules = ["phone"]
allowed_texts = ["info@example.com"]
allowed_patterns = ['[a-z]+@example\.org']
max_text_length = 5000
hash_key_env = "TRAMAPY_TEST_KEY"

[actions]
email = "hash"
badge = "mask"

[[rules]]
id = "badge"
pattern = 'B-\d{12}'
replacement = "[BADGE]"
enabled_for = ["model_input", "tool_result"]
tool_names = ["search"]
context_words = ["badge"]
max_length = 20
action = "redact"

[[rules]]
id = "ticket"
pattern = 'T-\d{4}'
"""


def written(directory: Path, text: str | bytes) -> Path:
    path = directory / "rules.toml"
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    return path


def refused(directory: Path, text: str | bytes) -> str:
    with pytest.raises(ConfigurationError) as caught:
        load_rule_file(written(directory, text))
    error = caught.value
    assert error.__context__ is None
    assert error.__cause__ is None
    report = traceback.TracebackException.from_exception(error, capture_locals=True)
    frames = [frame for frame in report.stack if frame.filename.endswith("/rule_file.py")]
    assert "marzipan" not in str(error) + "".join(str(frame.locals) for frame in frames)
    prefix = f"{directory / 'rules.toml'}: "
    assert str(error).startswith(prefix)
    return str(error).removeprefix(prefix)


def test_every_key_has_its_place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TRAMAPY_TEST_KEY", "k" * 16)
    configuration = load_rule_file(written(tmp_path, WHOLE))
    badge, ticket = configuration.rules
    assert (badge.id, badge.pattern, badge.replacement) == ("badge", r"B-\d{12}", "[BADGE]")
    assert badge.enabled_for == {DlpContentType.MODEL_INPUT, DlpContentType.TOOL_RESULT}
    assert badge.tool_names == {"search"}
    assert tuple(badge.context_words) == ("badge",)
    assert (badge.max_length, badge.action) == (20, DlpAction.REDACT)
    assert (ticket.replacement, ticket.max_length) == ("[REDACTED]", None)
    assert tuple(configuration.packs) == (secrets, pii)
    assert configuration.disabled_rules == {"phone"}
    assert configuration.actions == {"email": DlpAction.HASH, "badge": DlpAction.MASK}
    assert configuration.allowed_texts == {"info@example.com"}
    assert tuple(configuration.allowed_patterns) == (r"[a-z]+@example\.org",)
    assert configuration.max_text_length == 5000
    assert configuration.hash_key == b"k" * 16


def test_an_empty_file_has_all_packs_and_no_limit(tmp_path: Path) -> None:
    configuration = load_rule_file(os.fspath(written(tmp_path, "\ufeff")))
    assert configuration == RuleBasedDlpConfiguration((), None, packs=ALL)


def test_no_packs_can_be_said(tmp_path: Path) -> None:
    assert tuple(load_rule_file(written(tmp_path, "packs = []")).packs) == ()


def test_a_rule_is_enabled_for_every_type_unless_the_file_says_otherwise(tmp_path: Path) -> None:
    [rule] = load_rule_file(written(tmp_path, "[[rules]]\nid = 'a'\npattern = 'b'")).rules
    assert rule.enabled_for == frozenset(DlpContentType)


def test_a_rule_of_a_file_takes_the_place_of_a_packs(tmp_path: Path) -> None:
    path = written(tmp_path, "[[rules]]\nid = 'email'\npattern = 'nobody'\nreplacement = '-'")
    dlp = RuleBasedDlpInterceptor(load_rule_file(path))
    assert dlp.inspect(context_of(), "nobody, ann@example.com").sanitized_text == "-, ann@example.com"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("max_text = 5", "there is no key 'max_text'; known are packs, disabled_rules,"),
        ("'mar zipan' = 5", "there is no key that is no plain word; known are packs"),
        (
            "[[rules]]\nid = 'a'\npatern = 'marzipan'",
            "there is no key 'patern' in rules[0] ('a'); known are id,",
        ),
        ("[[rules]]\nid = 'a'", "rules[0] ('a') has no pattern; every rule takes"),
        ("[[rules]]\npattern = 'marzipan'", "rules[0] has no id; every rule takes"),
        ("[[rules]]\nid = 'Mar!zipan'\npattern = 'x'", "rules[0] (that is no plain word): "),
        ("[[rules]]\nid = 'a'\npattern = 5", "rules[0] ('a').pattern takes a string, not int"),
        ("[[rules]]\nid = 5\npattern = 'marzipan'", "rules[0].id takes a string, not int"),
        ("[[rules]]\nid = 'a'\npattern = ' '", "rules[0] ('a'): DLP rule 'a': its pattern is blank"),
        ("[[rules]]\nid = 'a'\npattern = '(?=marzipan)'", "rules[0] ('a'): its pattern "),
        (
            "[[rules]]\nid = 'a'\npattern = 'marzipan'\nreplacement = 5",
            "rules[0] ('a').replacement takes a string",
        ),
        (
            "[[rules]]\nid = 'a'\npattern = 'marzipan'\nmax_length = 'x'",
            "rules[0] ('a').max_length takes a whole",
        ),
        (
            "[[rules]]\nid = 'a'\npattern = 'marzipan'\nmax_length = 0",
            "rules[0] ('a'): DLP rule 'a': max_length is 0",
        ),
        (
            "[[rules]]\nid = 'a'\npattern = 'marzipan'\naction = 'burn'",
            "rules[0] ('a').action takes one of \"redact\"",
        ),
        (
            "[[rules]]\nid = 'a'\npattern = 'marzipan'\nenabled_for = ['all']",
            "rules[0] ('a').enabled_for[0] takes one of \"model_output\"",
        ),
        (
            "[[rules]]\nid = 'a'\npattern = 'marzipan'\nenabled_for = []",
            "rules[0] ('a'): DLP rule 'a' is enabled for",
        ),
        (
            "[[rules]]\nid = 'a'\npattern = 'marzipan'\ntool_names = 'x'",
            "rules[0] ('a').tool_names takes a list",
        ),
        (
            "[[rules]]\nid = 'a'\npattern = 'marzipan'\n" * 2,
            "Two DLP rules have the id 'a'; give each its own",
        ),
        ("rules = 5", "rules takes a list, not int"),
        ("rules = ['marzipan']", "rules[0] takes a table, not str"),
        (
            "packs = ['marzipan']",
            'packs[0] names a pack that there is not; known are "secrets", "pii", "financial"',
        ),
        ("packs = 'secrets'", "packs takes a list, not str"),
        ("disabled_rules = ['marzipan!']", "disabled_rules names a rule that there is not"),
        ("actions = 5", "actions takes a table, not int"),
        ("[actions]\nemail = 'burn'", "actions['email'] takes one of"),
        ("[actions]\n'marzipan!' = 'mask'", "actions names a rule that there is not"),
        (
            "[actions]\nemail = 'hash'",
            "A rule's action is HASH; give a secret hash_key, from secrets.token_bytes(32); in a file of rules "
            "hash_key_env names",
        ),
        ("allowed_texts = [5]", "allowed_texts[0] takes a string, not int"),
        ("allowed_patterns = ['ok', '(?=marzipan)']", "allowed_patterns[1]: its pattern "),
        ("max_text_length = true", "max_text_length takes a whole number, not bool"),
        ("max_text_length = 0", "max_text_length is 0"),
        ("hash_key = 'marzipan'", "hash_key: a key never stands in a file; write hash_key_env"),
        (
            "hash_key_env = 'TRAMAPY_NO_KEY'",
            "hash_key_env names the environment variable 'TRAMAPY_NO_KEY', which is",
        ),
        ("a = marzipan", "it is not valid TOML at line 1, column 5; write patterns in 'single quotes'"),
        ("a = [1,\n'marzipan',", "it is not valid TOML at end of document"),
        ("a = '\ud800'".encode("utf-8", "surrogatepass"), "byte 5 is not in UTF-8; save it as UTF-8"),
        ("a = " + "[" * 5000, "it is nested too deep; write tables as"),
        (b"#" * (1024 * 1024 + 1), "it is longer than 1048576 bytes; give a TOML file of rules"),
    ],
)
def test_a_defect_names_file_key_and_remedy(tmp_path: Path, text: str | bytes, message: str) -> None:
    assert refused(tmp_path, text).startswith(message)


def test_a_file_that_is_not_there_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "none.toml"
    with pytest.raises(
        ConfigurationError, match=r"none\.toml: No such file or directory; give the path of a TOML file"
    ):
        load_rule_file(path)


def test_a_key_that_is_too_short_is_refused_without_showing_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TRAMAPY_TEST_KEY", "marzipan")
    assert refused(tmp_path, "hash_key_env = 'TRAMAPY_TEST_KEY'").startswith(
        "hash_key has 8 bytes; take at least"
    )


def test_it_is_imported_at_its_first_use() -> None:
    import tramapy.dlp

    assert dir(tramapy.dlp) == sorted(tramapy.dlp.__all__)
    with pytest.raises(AttributeError, match="has no attribute 'nothing'"):
        _ = tramapy.dlp.nothing  # type: ignore[attr-defined]
