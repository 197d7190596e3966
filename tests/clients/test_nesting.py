"""Nesting that no walk can follow."""

import pytest

from tramapy import DlpInspectionError, ProviderError
from tramapy.clients.nesting import read_answer, read_request


def endless() -> int:
    return endless() + 1


def test_nesting_is_refused_in_fixed_words() -> None:
    with pytest.raises(DlpInspectionError, match="nested too deeply") as request:
        read_request(endless)
    with pytest.raises(ProviderError, match="nested too deeply") as answer:
        read_answer(endless)
    assert request.value.__context__ is answer.value.__context__ is None


def test_what_can_be_read_is_returned() -> None:
    assert read_request(lambda: 1) == 1
    assert read_answer(lambda: 2) == 2
