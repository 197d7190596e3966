"""A project on disk for tests: files, a git history and the command."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

SWALLOW = "async def f(t):\n    try:\n        await t\n    except BaseException:\n        pass\n"
PRESERVE = SWALLOW.replace("pass", "raise")
PRINT = 'def f():\n    print("x")\n'


class Project:
    """A directory with files; `git` and `gate` run in it."""

    def __init__(self, root: Path) -> None:
        self.root = root

    def write(self, **files: str) -> Project:
        """Write `name.py` files; `__` in a name is a directory."""
        for name, text in files.items():
            self.put(f"{name.replace('__', '/')}.py", text)
        return self

    def put(self, path: str, text: str | bytes) -> Path:
        """Write any file."""
        file = self.root / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(text if isinstance(text, bytes) else text.encode("utf-8"))
        return file

    def configure(self, text: str) -> Project:
        """Write `safety-gate.toml`."""
        self.put("safety-gate.toml", text)
        return self

    def git(self, *arguments: str) -> str:
        """Run git without the user's configuration."""
        env = {**os.environ, "GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_SYSTEM": os.devnull}
        for who in ("AUTHOR", "COMMITTER"):
            env |= {f"GIT_{who}_NAME": "t", f"GIT_{who}_EMAIL": "t@example.org"}
        done = subprocess.run(
            ["git", *arguments], cwd=self.root, env=env, capture_output=True, check=True, text=True
        )
        return done.stdout

    def commit(self) -> Project:
        """Commit everything."""
        if not (self.root / ".git").exists():
            self.git("init", "-q", "-b", "main")
        self.git("add", "-A")
        self.git("commit", "-q", "-m", "x")
        return self

    def gate(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        """Run the command in a process of its own."""
        command = [sys.executable, "-m", "safety_gate", *arguments]
        return subprocess.run(command, cwd=self.root, capture_output=True, text=True, check=False)

    def report(self, *arguments: str) -> dict[str, Any]:
        """Run `check` and return its JSON."""
        done = self.gate("check", "--format", "json", *arguments)
        assert done.stderr == ""
        document: dict[str, Any] = json.loads(done.stdout)
        document["exit_code"] = done.returncode
        return document
