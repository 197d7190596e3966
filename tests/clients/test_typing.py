"""A wrapped client has the bare one's type, for people who write code with it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.docs.pages import ROOT

FILE = "tests/clients/typed_use.py"


def test_pyright_sees_what_the_sdk_has(tmp_path: Path) -> None:
    """What is asserted of a wrapped client's calls is so of the bare client's: neither has more, nor less."""
    pytest.importorskip("pyright")
    text = (ROOT / FILE).read_text(encoding="utf-8")
    assert text.count("wrap(bare)") == 4
    bare = tmp_path / "bare_use.py"
    bare.write_text(text.replace("wrap(bare)", "bare"), encoding="utf-8")
    command = [sys.executable, "-m", "pyright", "--pythonpath", sys.executable, FILE, str(bare)]
    result = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, encoding="utf-8", check=False)
    assert result.returncode == 0, result.stdout + result.stderr
