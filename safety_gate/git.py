"""What the gate asks git: the files of a revision and their contents."""

from __future__ import annotations

import hashlib
import os
import subprocess
from collections.abc import Sequence
from pathlib import Path

_TIMEOUT_S = 120.0


# A hook runs with these set, and then git would not look for the repository that the root lies in.
_HOOK_VARIABLES = frozenset(
    {"GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_PREFIX", "GIT_COMMON_DIR", "GIT_LITERAL_PATHSPECS"}
)


class RevisionError(Exception):
    """A revision that cannot be read."""


class Revision:
    """One commit of the repository that a directory lies in.

    Args:
        root: The project's root; paths are relative to it.
        name: Anything that git resolves to a commit.

    Raises:
        RevisionError: There is no git, no repository or no such commit.
    """

    def __init__(self, root: Path, name: str) -> None:
        self._root = root
        if name.startswith("-"):
            raise RevisionError(f"{name!r} is no revision.")
        commit = self._run(
            ["rev-parse", "--verify", "--quiet", "--end-of-options", f"{name}^{{commit}}"], name
        )
        self.commit: str = commit.decode().strip()
        self.blobs: dict[str, str] = self._blobs()

    def contents(self, paths: Sequence[str]) -> dict[str, bytes]:
        """Return the contents of some files of the revision."""
        wanted = [path for path in paths if path in self.blobs]
        if not wanted:
            return {}
        request = "".join(f"{self.blobs[path]}\n" for path in wanted).encode()
        answer = self._run(["cat-file", "--batch"], "the base", request)
        found: dict[str, bytes] = {}
        position = 0
        for path in wanted:
            end = answer.index(b"\n", position)
            head = answer[position:end].split(b" ")
            if len(head) != 3:  # "<id> missing": a partial clone that cannot fetch
                raise RevisionError(f"git does not have the contents of {path!r} in this revision. Fetch it.")
            size = int(head[2])
            found[path] = answer[end + 1 : end + 1 + size]
            position = end + 1 + size + 1
        return found

    def is_unchanged(self, path: str, data: bytes) -> bool:
        """Tell whether a file of the working tree has the content that it has in the revision."""
        blob = self.blobs.get(path)
        if blob is None:
            return False
        header = b"blob %d\0" % len(data)
        digest = hashlib.sha256 if len(blob) > 40 else hashlib.sha1
        return digest(header + data, usedforsecurity=False).hexdigest() == blob

    def _blobs(self) -> dict[str, str]:
        listing = self._run(
            ["ls-tree", "-r", "-z", self.commit], "the base"
        )  # relative to the root, as it is its directory
        blobs: dict[str, str] = {}
        for row in listing.split(b"\0"):
            if row.startswith(b"100"):  # neither links nor submodules
                meta, _, name = row.partition(b"\t")
                blobs[name.decode("utf-8", "surrogateescape")] = meta.split(b" ")[2].decode()
        return blobs

    def _run(self, arguments: list[str], name: str, request: bytes | None = None) -> bytes:
        try:
            done = subprocess.run(  # noqa: S603 - an argument list, no shell; a revision cannot be an option
                ["git", "-C", str(self._root), *arguments],  # noqa: S607 - the git that the user runs
                input=request,
                capture_output=True,
                check=True,
                timeout=_TIMEOUT_S,
                env=_environment(),
            )
        except FileNotFoundError:
            raise RevisionError("git is not installed, so no revision can be compared with.") from None
        except subprocess.TimeoutExpired:
            raise RevisionError(f"git did not answer within {_TIMEOUT_S:.0f} s.") from None
        except subprocess.CalledProcessError:
            raise RevisionError(
                f"git cannot resolve {name!r} here. Fetch it, or name another revision."
            ) from None
        return done.stdout


def _environment() -> dict[str, str]:
    return {name: value for name, value in os.environ.items() if name not in _HOOK_VARIABLES}
