"""A project on disk for tests: files, a git history and the command."""

from __future__ import annotations

import contextlib
import io
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any, NamedTuple

from safety_gate.cli import main

SWALLOW = "async def f(t):\n    try:\n        await t\n    except BaseException:\n        pass\n"
PRESERVE = SWALLOW.replace("pass", "raise")
PRINT = 'def f():\n    print("x")\n'


class Run(NamedTuple):
    """What a run of the command gave."""

    returncode: int
    stdout: str
    stderr: str


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

    def gate(self, *arguments: str) -> Run:
        """Run the command here, in the project's directory."""
        out, err = io.StringIO(), io.StringIO()
        with contextlib.chdir(self.root), contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            try:
                exit_code = main(arguments)
            except SystemExit as end:
                exit_code = end.code if isinstance(end.code, int) else 1
        return Run(exit_code, out.getvalue(), err.getvalue())

    def gate_apart(self, *arguments: str) -> Run:
        """Run the command in a process of its own."""
        command = [sys.executable, "-m", "safety_gate", *arguments]
        done = subprocess.run(command, cwd=self.root, capture_output=True, text=True, check=False)
        return Run(done.returncode, done.stdout, done.stderr)

    def report(self, *arguments: str) -> dict[str, Any]:
        """Run `check` and return its JSON."""
        done = self.gate("check", "--format", "json", *arguments)
        assert done.stderr == ""
        document: dict[str, Any] = json.loads(done.stdout)
        document["exit_code"] = done.returncode
        return document
