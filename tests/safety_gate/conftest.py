"""Fixtures of the gate's tests."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.safety_gate.projects import Project


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Project:
    """Give an empty project, and make its directory the working directory."""
    root = tmp_path / "project"
    root.mkdir()
    monkeypatch.chdir(root)
    return Project(root)
