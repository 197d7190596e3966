"""`PresidioDlpInterceptor` on a fake analyzer always, and on Presidio's own where it is installed."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
import traceback
from dataclasses import dataclass, field

import anyio
import pytest

from tests.dlp.contexts import context_of, counts
from tramapy import AsyncTramapy, Message, Tramapy
from tramapy.dlp import RuleBasedDlpInterceptor
from tramapy.dlp.presidio import PresidioDlpInterceptor
from tramapy.errors import ConfigurationError, DlpInspectionError
from tramapy.hooks.composite_dlp import CompositeDlpInterceptor
from tramapy.hooks.dlp import DlpContentType, DlpResult
from tramapy.testing import ScriptedProvider

CONTEXT = context_of()
_TEXT = "Ann Smith"


@dataclass
class Found:
    entity_type: str
    start: int
    end: int
    score: float = 0.85


@dataclass
class FakeAnalyzer:
    """Finds each of some words, as an entity."""

    words: dict[str, str] = field(default_factory=lambda: {"Ann Smith": "PERSON", "Berlin": "LOCATION"})
    error: Exception | None = None
    calls: list[tuple[object, ...]] = field(default_factory=list)
    thread_ids: set[int] = field(default_factory=set)

    def analyze(self, text, language, entities=None, *, score_threshold=None):
        self.calls.append((language, entities, score_threshold))
        self.thread_ids.add(threading.get_ident())
        if self.error is not None:
            raise self.error
        return [
            Found(entity, place, place + len(word))
            for word, entity in self.words.items()
            if entities is None or entity in entities
            for place in range(len(text))
            if text.startswith(word, place)
        ]

    def get_supported_entities(self, language=None):
        if language == "xx":
            raise ValueError("no such language")
        return ["PERSON", "LOCATION", "US_SSN", "PHONE_NUMBER", "ODD NAME"]


class Fixed(FakeAnalyzer):
    def __init__(self, *found):
        super().__init__()
        self.found = found

    def analyze(self, text, language, entities=None, *, score_threshold=None):
        return list(self.found)


def redact(analyzer, text, **settings) -> DlpResult:
    result = PresidioDlpInterceptor(analyzer, **settings).inspect(CONTEXT, text)
    assert isinstance(result, DlpResult)
    return result


def test_entities_are_redacted_and_counted_by_their_names():
    result = redact(FakeAnalyzer(), "Ann Smith met Ann Smith in Berlin.")
    assert result.sanitized_text == "[REDACTED:person] met [REDACTED:person] in [REDACTED:location]."
    assert counts(result) == [("presidio.person", 2), ("presidio.location", 1)]


@pytest.mark.parametrize("text", ["", "nothing here"])
def test_clean_text_is_returned_as_it_is(text):
    assert redact(FakeAnalyzer(), text) == DlpResult(text)


def test_the_settings_reach_the_analyzer():
    analyzer = FakeAnalyzer()
    text = redact(
        analyzer, "Ann Smith, Berlin", entities={"LOCATION"}, language="de", score_threshold=0.4
    ).sanitized_text
    assert text == "Ann Smith, [REDACTED:location]"
    assert analyzer.calls == [("de", ["LOCATION"], 0.4)]


def test_a_replacement_of_ones_own_is_put_there():
    assert redact(FakeAnalyzer(), "Ann Smith", replacements={"PERSON": "<name>"}).sanitized_text == "<name>"


@pytest.mark.parametrize(
    ("found", "expected"),
    [
        ([Found("PERSON", 0, 4), Found("LOCATION", 2, 6)], ("[REDACTED:person]ghij", "presidio.person")),
        ([Found("PERSON", 2, 4), Found("LOCATION", 0, 6)], ("[REDACTED:location]ghij", "presidio.location")),
        (
            [Found("PERSON", 0, 6, 1.0), Found("LOCATION", 0, 6, 0.9)],
            ("[REDACTED:person]ghij", "presidio.person"),
        ),
        ([Found("ODD NAME", 0, 6)], ("[REDACTED:odd_name]ghij", "presidio.odd_name")),
    ],
    ids=["overlap", "inside", "certain", "odd name"],
)
def test_findings_that_overlap_are_one(found, expected):
    result = redact(Fixed(*found), "abcdefghij")
    assert (result.sanitized_text, counts(result)) == (expected[0], [(expected[1], 1)])


@pytest.mark.parametrize(
    ("word", "expected"),
    [("person", "[REDACTED]"), ("redacted", "*****"), ("*", "[REDACTED:person]")],
)
def test_a_replacement_never_shows_the_match(word, expected):
    assert redact(FakeAnalyzer({word: "PERSON"}), f"a {word} b").sanitized_text == f"a {expected} b"


def test_markers_that_stand_there_already_are_left_alone():
    analyzer = FakeAnalyzer({"REDACTED": "PERSON", "email": "PERSON"})
    text = "[REDACTED:email] and [REDACTED:person] <x>"
    assert redact(analyzer, text).sanitized_text == text


def test_a_marker_that_nobody_puts_there_hides_nothing():
    text = redact(FakeAnalyzer({"ann.smith": "PERSON"}), "[REDACTED:ann.smith]").sanitized_text
    assert text == "[REDACTED:[REDACTED:person]]"


@pytest.mark.parametrize("place", [(-1, 3), (3, 3), (4, 2), (0, 11)])
def test_a_finding_outside_of_the_text_fails_closed(place):
    with pytest.raises(DlpInspectionError, match="outside of the text"):
        redact(Fixed(Found("PERSON", *place)), "abcdefghij")


def test_an_error_of_the_analyzer_fails_closed_without_the_text():
    analyzer = FakeAnalyzer(error=ValueError(f"cannot read {_TEXT}"))
    with pytest.raises(DlpInspectionError, match="ValueError") as caught:
        redact(analyzer, _TEXT)
    shown = "".join(traceback.format_exception(caught.value))
    assert _TEXT not in shown
    assert (caught.value.__cause__, caught.value.__context__) == (None, None)


def test_a_long_text_is_refused():
    with pytest.raises(DlpInspectionError, match="max_text_length=5"):
        redact(FakeAnalyzer(), "Berlin", max_text_length=5)


def test_no_limit_is_no_limit():
    assert redact(FakeAnalyzer(), "x" * 200_000, max_text_length=None) == DlpResult("x" * 200_000)


def test_other_kinds_of_text_pass():
    interceptor = PresidioDlpInterceptor(FakeAnalyzer(), enabled_for=[DlpContentType.TOOL_RESULT])
    assert interceptor.inspect(CONTEXT, "Berlin") == DlpResult("Berlin")


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"entities": ["NOBODY"]}, "finds no NOBODY"),
        ({"entities": []}, "entities is empty"),
        ({"replacements": {"NOBODY": "x"}}, "finds no NOBODY"),
        ({"language": "xx"}, "no language 'xx'"),
        ({"score_threshold": 1.5}, "from 0 to 1"),
        ({"max_text_length": 0}, "at least 1"),
    ],
)
def test_settings_that_cannot_work_are_refused(settings, message):
    with pytest.raises(ConfigurationError, match=message):
        PresidioDlpInterceptor(FakeAnalyzer(), **settings)


@pytest.mark.parametrize("settings", [{"score_threshold": "1"}, {"max_text_length": True}])
def test_limits_of_the_wrong_type_are_refused(settings):
    with pytest.raises(TypeError, match=r"takes an? (?:number|int) or None, not"):
        PresidioDlpInterceptor(FakeAnalyzer(), **settings)


@pytest.mark.parametrize("entities", ["PERSON", [1]])
def test_entities_that_are_no_names_are_refused(entities):
    with pytest.raises(TypeError, match="names of entities"):
        PresidioDlpInterceptor(FakeAnalyzer(), entities=entities)


def test_what_is_no_analyzer_is_refused():
    with pytest.raises(TypeError, match="takes an AnalyzerEngine, not int"):
        PresidioDlpInterceptor(3)


@pytest.mark.parametrize(
    ("words", "document", "expected"),
    [
        ({"Ann Smith": "PERSON"}, {"who": ["Ann Smith", 3]}, {"who": ["[REDACTED:person]", 3]}),
        ({'Smith", "': "PERSON"}, {"a": "Ann Smith", "b": 1}, {"a": "Ann [REDACTED:person]", "b": 1}),
        ({"78051120": "US_SSN"}, {"n": 78051120, "m": -1.5e3}, {"n": "[REDACTED:us_ssn]", "m": -1.5e3}),
        ({"051": "US_SSN", "112": "US_SSN"}, {"n": 78051120}, {"n": "[REDACTED:us_ssn]"}),
        ({"u00e9 B": "PERSON"}, {"n": "Jos\u00e9 B."}, {"n": "Jos[REDACTED:person]."}),
        ({'\\"x\\': "PERSON"}, {"n": 'a"x"b'}, {"n": "a[REDACTED:person]b"}),
        ({"5, ": "PERSON"}, {"a": 15, "b": "c"}, {"a": "[REDACTED:person]", "b": "c"}),
        ({": ": "PERSON"}, {"a": "b"}, {"a": "b"}),
        ({"true": "PERSON"}, {"a": True}, {"a": True}),
    ],
)
def test_json_stays_json(words, document, expected):
    result = redact(FakeAnalyzer(words), json.dumps(document))
    assert json.loads(result.sanitized_text) == expected
    assert result.has_redactions == (document != expected)


@pytest.mark.parametrize("text", ["[note] Berlin", '{"a": Berlin', "[" * 100_000 + "Berlin"])
def test_what_only_begins_like_json_is_text(text):
    assert redact(FakeAnalyzer(), text, max_text_length=None).sanitized_text == text.replace(
        "Berlin", "[REDACTED:location]"
    )


def test_in_a_composite_it_follows_the_rules():
    composite = CompositeDlpInterceptor(
        [RuleBasedDlpInterceptor.with_default_rules(), PresidioDlpInterceptor(FakeAnalyzer())]
    )
    result = composite.inspect(CONTEXT, "Ann Smith, ann@example.com")
    assert isinstance(result, DlpResult)
    assert result.sanitized_text == "[REDACTED:person], [REDACTED:email]"
    assert counts(result) == [("email", 1), ("presidio.person", 1)]
    assert composite.open_stream(CONTEXT) is None


def test_under_tramapy_it_works_where_it_is_called():
    analyzer = FakeAnalyzer()
    tramapy = Tramapy({"p": ScriptedProvider(["Ann Smith"])}, dlp=PresidioDlpInterceptor(analyzer))
    assert tramapy.complete([Message.user("who?")], model="m").content == "[REDACTED:person]"
    assert analyzer.thread_ids == {threading.get_ident()}


@pytest.mark.parametrize("loop", ["asyncio", "trio"])
def test_under_async_tramapy_it_works_in_a_thread(loop):
    analyzer = FakeAnalyzer()
    facade = AsyncTramapy({"p": ScriptedProvider(["Ann Smith"])}, dlp=PresidioDlpInterceptor(analyzer))

    async def ask() -> str | None:
        return (await facade.complete([Message.user("who?")], model="m")).content

    assert anyio.run(ask, backend=loop) == "[REDACTED:person]"
    assert analyzer.thread_ids
    assert threading.get_ident() not in analyzer.thread_ids


def test_inside_of_a_loop_it_can_be_told_to_stay():
    interceptor = PresidioDlpInterceptor(FakeAnalyzer(), uses_thread=False)

    async def ask() -> object:
        return interceptor.inspect(CONTEXT, "Berlin")

    assert anyio.run(ask) == DlpResult("[REDACTED:location]", redact(FakeAnalyzer(), "Berlin").redactions)


@pytest.mark.parametrize("loop", ["asyncio", "trio"])
def test_a_cancellation_does_not_wait_for_the_thread(loop):
    started, done = threading.Event(), threading.Event()

    class Slow(FakeAnalyzer):
        def analyze(self, text, language, entities=None, *, score_threshold=None):
            started.set()
            done.wait()
            return []

    interceptor = PresidioDlpInterceptor(Slow())

    async def ask() -> bool:
        async with anyio.create_task_group() as group:

            async def inspect() -> None:
                await interceptor.inspect(CONTEXT, "Berlin")

            group.start_soon(inspect)
            await anyio.to_thread.run_sync(started.wait)
            group.cancel_scope.cancel()
        cancelled_first = not done.is_set()
        done.set()
        return cancelled_first

    assert anyio.run(ask, backend=loop)


def test_presidio_is_not_imported_for_nothing():
    code = "import sys, tramapy, tramapy.dlp.presidio; print('presidio_analyzer' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stdout == "False\n"


def test_presidio_itself_without_a_model():
    presidio = pytest.importorskip("presidio_analyzer")
    from presidio_analyzer.nlp_engine import SpacyNlpEngine

    class NoModel(SpacyNlpEngine):
        def __init__(self) -> None:
            super().__init__()
            self.nlp = {"en": __import__("spacy").blank("en")}

    analyzer = presidio.AnalyzerEngine(nlp_engine=NoModel(), supported_languages=["en"])
    interceptor = PresidioDlpInterceptor(analyzer, entities=["EMAIL_ADDRESS", "PHONE_NUMBER", "CREDIT_CARD"])
    result = interceptor.inspect(CONTEXT, "Write to ann@example.com, card 4111 1111 1111 1111.")
    assert isinstance(result, DlpResult)
    assert "ann@" not in result.sanitized_text
    assert "4111" not in result.sanitized_text
    assert {rule_id for rule_id, _ in counts(result)} == {"presidio.email_address", "presidio.credit_card"}
