"""`assert_no_canary`: finds a secret wherever it hides, says where, and never repeats it."""

from __future__ import annotations

import base64
import collections
import enum
import html
import io
import json
import logging
import pickle
import types
from dataclasses import dataclass, field
from urllib.parse import quote, quote_plus

import pytest

from tramapy.testing import assert_no_canary
from tramapy.testing.canary_forms import CanaryForms

CANARY = 'plainly fake "canary" <ä/1>'


def finding(*sources: object) -> str:
    with pytest.raises(AssertionError) as caught:
        assert_no_canary(CANARY, *sources)
    message = str(caught.value)
    assert CANARY not in message
    assert CanaryForms((CANARY,)).found_in_text(message) is None
    return message


@dataclass(frozen=True, slots=True)
class Value:
    shown: str = ""
    hidden: str = field(default="", repr=False)


class Slotted:
    __slots__ = ("__private", "never_set", "open")

    def __init__(self) -> None:
        self.__private = CANARY
        self.open = 1

    def __repr__(self) -> str:
        return "Slotted()"


class Loud:
    def __init__(self, *, in_str: bool) -> None:
        self._in_str = in_str

    def __str__(self) -> str:
        return CANARY if self._in_str else ""

    def __repr__(self) -> str:
        return "" if self._in_str else CANARY


class Secretive:
    def __init__(self) -> None:
        self.self = self

    def __reduce__(self) -> tuple[object, ...]:
        return (str, (CANARY,))


class Colour(enum.Enum):
    RED = "red"


def _record(message: str, *arguments: object) -> logging.LogRecord:
    return logging.LogRecord("tramapy", logging.INFO, __file__, 1, message, arguments, None)


@pytest.mark.parametrize(
    ("source", "place"),
    [
        pytest.param(f"a {CANARY} b", "source 0 (canary 0, as it is)", id="text"),
        pytest.param(CANARY.encode(), "source 0 (", id="bytes"),
        pytest.param(bytearray(CANARY.encode()), "source 0 (", id="bytearray"),
        pytest.param(memoryview(CANARY.encode()), "source 0 (", id="memoryview"),
        pytest.param(CANARY.encode("utf-16-le"), "utf-16-le", id="utf-16"),
        pytest.param({"a": [0, {"b": CANARY}]}, "source 0['a'][1]['b'] (", id="mapping-in-list"),
        pytest.param({CANARY: 1}, "source 0<key 0> (", id="key"),
        pytest.param({CANARY: CANARY + "!"}, "source 0[<key 0>] (", id="value-under-a-leaking-key"),
        pytest.param({"k" * 99: CANARY}, "source 0[<key 0>] (", id="value-under-a-long-key"),
        pytest.param({(1,): CANARY}, "source 0[<key 0>] (", id="value-under-a-tuple"),
        pytest.param(types.MappingProxyType({"a": CANARY}), "source 0['a'] (", id="mapping-proxy"),
        pytest.param((1, (CANARY,)), "source 0[1][0] (", id="tuple"),
        pytest.param({CANARY}, "source 0[0] (", id="set"),
        pytest.param(collections.deque([CANARY]), "source 0[0] (", id="deque"),
        pytest.param(Value(shown=CANARY), "source 0 repr() (", id="dataclass-repr"),
        pytest.param(Value(hidden=CANARY), "source 0.hidden (", id="dataclass-hidden"),
        pytest.param(
            types.SimpleNamespace(a=types.SimpleNamespace(b=CANARY)), "source 0.a.b (", id="attribute"
        ),
        pytest.param(Slotted(), "source 0._Slotted__private (", id="private-slot"),
        pytest.param(Loud(in_str=True), "source 0 str() (", id="str"),
        pytest.param(Loud(in_str=False), "source 0 repr() (", id="repr"),
        pytest.param(Secretive(), "source 0 pickled (", id="pickle"),
        pytest.param(io.StringIO(CANARY), "source 0.getvalue() (", id="text-buffer"),
        pytest.param(io.BytesIO(CANARY.encode()), "source 0.getvalue() (", id="bytes-buffer"),
        pytest.param(_record("%s!", CANARY), "source 0.getMessage() (", id="log-message"),
        pytest.param(_record("x", {"a": CANARY}), "source 0.args['a'] (", id="log-arguments"),
    ],
)
def test_secret_is_found_and_its_place_is_named(source: object, place: str) -> None:
    assert place in finding(source)


def test_number_is_found() -> None:
    with pytest.raises(AssertionError, match=r"source 0\['card'\]"):
        assert_no_canary("4111111111111111", {"card": 4111111111111111})


def test_integer_too_long_for_digits_is_no_error() -> None:
    assert_no_canary(CANARY, 10**5000, 1.5, None, True)


def test_log_record_that_cannot_be_formatted_is_searched_still() -> None:
    assert "source 0.args[1] (" in finding(_record("%d", "x", CANARY))


def _caught(error: BaseException) -> BaseException:
    try:
        raise error
    except BaseException as caught:
        return caught


def _with_note() -> BaseException:
    error = ValueError("x")
    error.add_note(CANARY)
    return error


def _with_cause() -> BaseException:
    error = ValueError("x")
    error.__cause__ = KeyError(CANARY)
    return error


def _with_context() -> BaseException:
    try:
        raise KeyError(CANARY)
    except KeyError:
        try:
            raise ValueError("x") from None
        except ValueError as error:
            return error.with_traceback(None)


def _with_attribute() -> BaseException:
    error = ValueError("x")
    error.body = CANARY  # type: ignore[attr-defined]
    return error


def _with_hidden_object() -> BaseException:
    return AttributeError("x", name="y", obj=CANARY)


def _with_locals() -> BaseException:
    payload = CANARY

    def fail(text: str) -> None:
        raise ValueError("x")

    try:
        fail(payload)
    except ValueError as error:
        return error
    raise AssertionError


@pytest.mark.parametrize(
    ("error", "place"),
    [
        pytest.param(ValueError(CANARY), ".args[0] (", id="argument"),
        pytest.param(_with_note(), ".__notes__[0] (", id="note"),
        pytest.param(_with_cause(), ".__cause__.args[0] (", id="cause"),
        pytest.param(_with_context(), ".__context__.args[0] (", id="context"),
        pytest.param(_with_attribute(), ".body (", id="attribute"),
        pytest.param(_with_hidden_object(), "source 0.obj (", id="interpreter-attribute"),
        pytest.param(
            ExceptionGroup("g", [ValueError("x"), KeyError(CANARY)]), ".exceptions[1].args[0] (", id="group"
        ),
        pytest.param(_with_locals(), ".__traceback__ formatted with locals (", id="locals"),
    ],
)
def test_secret_is_found_in_an_error(error: BaseException, place: str) -> None:
    assert place in finding(error)


def test_secret_of_a_pickled_error_is_found() -> None:
    class Pickled(ValueError):
        def __reduce__(self) -> tuple[object, ...]:
            return (ValueError, (CANARY,))

    assert "[0] pickled (" in finding([Pickled("x")])


def test_frame_of_the_running_test_is_left_out() -> None:
    payload = CANARY
    with pytest.raises(ValueError, match="clean") as caught:
        raise ValueError("clean" if payload else "")

    assert_no_canary(payload, caught.value)


def test_clean_sources_pass() -> None:
    assert_no_canary(
        CANARY,
        "nothing here",
        b"nothing",
        {"a": [1, 2.5, None, (True,)]},
        Value("a", "b"),
        Colour.RED,
        _caught(ValueError("x")),
        _record("a %s", "b"),
        types,
        finding,
        Value,
        "".join,
    )


def test_object_that_holds_itself_ends_the_search() -> None:
    ring: list[object] = []
    ring.append(ring)

    assert_no_canary(CANARY, ring)


def test_object_that_fails_to_show_itself_is_judged_by_the_rest() -> None:
    class Broken:
        def __init__(self) -> None:
            self.text = CANARY

        def __repr__(self) -> str:
            raise RuntimeError

    assert "source 0.text (" in finding(Broken())


FORMS = {
    "json": json.dumps(CANARY)[1:-1],
    "json-unicode": json.dumps(CANARY, ensure_ascii=False)[1:-1],
    "json-in-json": json.dumps(json.dumps({"a": CANARY})),
    "repr": repr([CANARY]),
    "ascii": ascii(CANARY),
    "url": quote(CANARY, safe=""),
    "url-path": quote(CANARY),
    "url-form": quote_plus(CANARY),
    "html": html.escape(CANARY),
    "hex": CANARY.encode().hex(),
    "hex-upper": CANARY.encode().hex().upper(),
}


@pytest.mark.parametrize("form", FORMS.values(), ids=FORMS.keys())
def test_encoded_secret_is_found(form: str) -> None:
    assert "source 0 (" in finding(f"before {form} after")
    assert "source 0 (" in finding(f"before {form} after".encode())


@pytest.mark.parametrize("before", range(6))
@pytest.mark.parametrize("after", range(3))
@pytest.mark.parametrize("encode", [base64.b64encode, base64.urlsafe_b64encode], ids=["standard", "url"])
def test_base64_is_found_at_any_alignment(before: int, after: int, encode: types.FunctionType) -> None:
    encoded = encode(b"?" * before + CANARY.encode() + b"?" * after).decode()

    assert "base64" in finding({"blob": encoded})


def test_every_canary_is_searched_and_named_by_number() -> None:
    with pytest.raises(AssertionError, match="canary 1"):
        assert_no_canary(["fake-canary-one", "fake-canary-two"], ["x", "fake-canary-two"])


def test_every_source_is_searched_and_every_place_is_told() -> None:
    message = finding("clean", CANARY, {"a": CANARY + "!"})

    assert ("source 1 (" in message, "source 2['a'] (" in message) == (True, True)


@pytest.mark.parametrize(
    ("canaries", "problem"),
    [([], "at least one canary"), ("short", "canary 0 is too short")],
    ids=["none", "short"],
)
def test_unusable_canary_is_refused(canaries: list[str] | str, problem: str) -> None:
    with pytest.raises(ValueError, match=problem):
        assert_no_canary(canaries, "x")


def test_search_without_end_is_refused() -> None:
    with pytest.raises(ValueError, match="more than 100_000 objects"):
        assert_no_canary(CANARY, [str(number) for number in range(100_001)])


def test_unpicklable_source_is_searched_still() -> None:
    with pytest.raises(Exception):  # noqa: B017, PT011  # any: it only has to fail
        pickle.dumps(lambda: 1)

    assert "source 0[1] (" in finding([lambda: 1, CANARY])
