"""How messages show a wrong value: its type, or a number, and never words that came with it."""

from __future__ import annotations

import math
from collections import OrderedDict
from types import SimpleNamespace

import pytest

from tramapy import (
    ConfigurationError,
    EngineEventObserver,
    Message,
    OperationCallContext,
    OperationInterceptor,
    Tramapy,
)
from tramapy.testing import ScriptedProvider
from tramapy.values import (
    class_label,
    described,
    misspelled,
    optional_texts,
    quoted,
    remembering,
    shown,
    texts,
    uncallable,
)


class Unit:
    def __repr__(self) -> str:
        return "canary"


class Label(str):
    pass


class Talkative(int):
    def __repr__(self) -> str:
        return "canary"

    __str__ = __repr__


class Chatty(float):
    def __repr__(self) -> str:
        return "canary"

    __str__ = __repr__


@pytest.mark.parametrize(
    ("value", "words"),
    [
        ("canary", "of type str"),
        (5, "of type int"),
        (OrderedDict(), "of type OrderedDict"),
        (Unit(), "of type Unit"),
        (Unit, "the class Unit, and no instance"),
        (print, "a bare function"),
        ([].append, "a bare function"),
        (None, "of type NoneType"),
        (math, "the module math"),
    ],
)
def test_a_value_is_described_without_an_article_to_choose(value: object, words: str) -> None:
    assert described(value) == words


@pytest.mark.parametrize(
    ("number", "words"),
    [
        (0, "0"),
        (-3, "-3"),
        (2**128 - 1, "340282366920938463463374607431768211455"),
        (2**128, "an int of 129 bits"),
        (-(10**5000), "an int of 16610 bits"),
        (0.5, "0.5"),
        (math.inf, "inf"),
        (math.nan, "nan"),
        (True, "1"),
        (Talkative(7), "7"),
        (Chatty(7.5), "7.5"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_a_number_is_shown_in_figures_of_bounded_length(number: float, words: str) -> None:
    assert shown(number) == words


class Slip(OperationInterceptor):
    limit = 5

    def intercept_requests(self, context: OperationCallContext, messages: list[Message]) -> list[Message]:
        return messages


class Helped(Slip):
    def intercept_response(self, context: OperationCallContext, response: object) -> object:  # type: ignore[override]
        return response


class Quiet(OperationInterceptor):
    def helper(self) -> None:
        """Do nothing that is like a hook."""


class Deaf(EngineEventObserver):
    def on_engine_evnt(self, name: str, attributes: object) -> None:
        raise AssertionError("never called")


class Shortened(OperationInterceptor):
    def intercept(self, context: OperationCallContext, messages: list[Message]) -> list[Message]:
        raise AssertionError("never called")


class Abridged(EngineEventObserver):
    def on_event(self, name: str, attributes: object) -> None:
        raise AssertionError("never called")


NAMES = ("intercept_request", "intercept_response")


@pytest.mark.parametrize("hook", [OperationInterceptor(), Quiet(), Helped()])
def test_a_hook_that_is_one_or_is_nothing_like_one_passes(hook: OperationInterceptor) -> None:
    assert misspelled(hook, OperationInterceptor, *NAMES) is None


@pytest.mark.parametrize(
    ("hook", "base", "name"),
    [
        (Shortened(), OperationInterceptor, "intercept_request"),
        (Abridged(), EngineEventObserver, "on_engine_event"),
    ],
    ids=["interceptor", "observer"],
)
def test_a_shortened_name_is_told_whole(hook: object, base: type[object], name: str) -> None:
    wrong = misspelled(hook, base, *NAMES, "on_engine_event", "on_runtime_event")
    assert str(wrong).endswith(f"is never called; did you mean {name}?")


def test_a_hook_that_nobody_would_call_is_refused() -> None:
    provider = ScriptedProvider([])
    with pytest.raises(
        ConfigurationError, match=r"interceptors\[0\].*Slip.intercept_requests.*intercept_request\?"
    ):
        Tramapy({"p": provider}, interceptors=[Slip()])
    with pytest.raises(ConfigurationError, match=r"event_observers\[0\].*on_engine_evnt.*on_engine_event\?"):
        Tramapy({"p": provider}, event_observers=[Deaf()])


def test_a_method_of_which_python_knows_no_arguments_passes() -> None:
    class Unknown:
        inspect = staticmethod(min)

    assert uncallable(Unknown(), "inspect", "context", "text") is None


class Lying(type):
    @property
    def __name__(cls) -> str:
        raise RuntimeError("canary")


@pytest.mark.parametrize(
    ("kind", "label"),
    [
        (KeyError, "KeyError"),
        (type("Größe", (Exception,), {}), "Größe"),
        (Lying("Liar", (Exception,), {}), "Liar"),
        (type("card 4111 refused", (Exception,), {}), "unlabelled"),
        (type("a" * 129, (Exception,), {}), "unlabelled"),
    ],
    ids=["usual", "accented", "metaclass", "text", "long"],
)
def test_an_error_is_called_by_its_class_where_that_is_a_name(kind: type[Exception], label: str) -> None:
    assert class_label(kind()) == label


def test_a_long_name_is_quoted_in_part() -> None:
    assert quoted("m" * 128) == f"'{'m' * 128}'"
    assert quoted("m" * 1_000_000) == f"'{'m' * 128}' and more"


def test_long_texts_are_not_remembered() -> None:
    asked: list[int] = []

    @remembering(10)
    def judge(text: str) -> int:
        asked.append(len(text))
        return len(text)

    assert [judge("m" * length) for length in (256, 256, 257, 257)] == [256, 256, 257, 257]
    assert asked == [256, 257, 257]


def test_a_text_of_a_class_made_of_str_is_made_plain() -> None:
    owner = SimpleNamespace(name=Label("a"), title=Label("b"), note=None)
    texts(owner, "Owner", "name")
    optional_texts(owner, "Owner", "title", "note")
    assert [(type(text), text) for text in vars(owner).values()] == [
        (str, "a"),
        (str, "b"),
        (type(None), None),
    ]
