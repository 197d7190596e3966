"""A wrapped client has the bare one's type, for people who write code with it."""

from __future__ import annotations

import subprocess
import sys

import pytest

from tests.docs.pages import ROOT

FILE = "tests/clients/typed_use.py"


def test_pyright_sees_what_the_sdk_has() -> None:
    pytest.importorskip("pyright")
    command = [sys.executable, "-m", "pyright", "--pythonpath", sys.executable, FILE]
    result = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, encoding="utf-8", check=False)
    assert result.returncode == 0, result.stdout + result.stderr
