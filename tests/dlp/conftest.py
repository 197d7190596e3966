"""What the tests of the rule-based interceptor share."""

from __future__ import annotations

import pytest


@pytest.fixture(autouse=True)
def _needs_its_backend(request):
    """Skip a test on google-re2 where that is not installed."""
    if "backend" in request.fixturenames and request.getfixturevalue("backend") == "re2":
        pytest.importorskip("re2")
