"""SG303: what a compressed input grows to is limited."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import ClassVar

from safety_gate.index import inside
from safety_gate.names import Paths
from safety_gate.reads import READ_METHODS, is_unbounded
from safety_gate.rule import Rule
from safety_gate.stdio import argument
from safety_gate.unit import Unit, lasts
from safety_gate.violation import Violation

_WHOLE = frozenset(
    {
        f"{module}.decompress"
        for module in ("gzip", "zlib", "bz2", "lzma", "brotli", "snappy", "lz4.frame", "lz4.block")
    }
    | {"lz4.frame.decompress", "brotlicffi.decompress", "zstd.decompress"}
)
# Method -> the keyword and position of its limit.
_LIMITED: dict[str, tuple[str, int]] = {
    "zlib.Decompress().decompress": ("max_length", 1), "bz2.BZ2Decompressor().decompress": ("max_length", 1),
    "lzma.LZMADecompressor().decompress": ("max_length", 1),
    "zstandard.ZstdDecompressor().decompress": ("max_output_size", 1),
}  # fmt: skip
_READERS = frozenset(
    {"gzip.GzipFile()", "bz2.BZ2File()", "lzma.LZMAFile()", "zipfile.ZipExtFile()", "tarfile.ExFileObject()"}
)
_ARCHIVES = frozenset(
    {f"zipfile.ZipFile().{method}" for method in ("read", "extract", "extractall")}
    | {f"tarfile.TarFile().{method}" for method in ("extract", "extractall")}
    | {"shutil.unpack_archive"}
)
_LASTS = READ_METHODS | lasts(_WHOLE, _LIMITED, _ARCHIVES)
_SIZES = frozenset({"file_size", "size"})


class UnboundedDecompression(Rule):
    """Finds decompression and extraction whose output has no limit."""

    code = "SG303"
    name = "unbounded-decompression"
    summary = "Compressed input is unpacked, whatever it grows to."
    triggers: ClassVar[tuple[str, ...]] = (
        "gzip", "zlib", "bz2", "lzma", "brotli", "brotlicffi", "snappy", "lz4", "zstd", "zstandard",
        "zipfile", "tarfile",
        "unpack_archive", "ZipFile",
    )  # fmt: skip

    def check(self, unit: Unit) -> Iterator[Violation]:
        """Yield every unlimited decompression."""
        for call, paths in unit.calls_to(_LASTS):
            path = _unlimited(unit, call, paths)
            if path:
                message = (
                    f"`{path}` unpacks everything, and a small input can grow without bound. "
                    f"Limit the output."
                )
                yield self.violation(unit, call, message, symbol=path)


def _unlimited(unit: Unit, call: ast.Call, paths: Paths) -> str:
    for path in sorted(paths):
        if path in _WHOLE:
            return path
        if path in _LIMITED:
            limit = argument(call, *_LIMITED[path])
            if limit is None or (isinstance(limit, ast.Constant) and limit.value in (0, -1, None)):
                return path
        receiver, _, method = path.rpartition(".")
        if (
            receiver in _READERS
            and method in READ_METHODS
            and is_unbounded(unit, call)
            and not _checks_sizes(unit, call)
        ):
            return path
        if path in _ARCHIVES and not _checks_sizes(unit, call):
            return path
    return ""


def _checks_sizes(unit: Unit, call: ast.Call) -> bool:
    """Tell whether the function compares the declared size of a member with something."""
    function = unit.index.function(call) or unit.tree
    for node in inside(function):
        if isinstance(node, ast.Compare):
            leaves = [leaf for part in (node.left, *node.comparators) for leaf in ast.walk(part)]
            if any(isinstance(leaf, ast.Attribute) and leaf.attr in _SIZES for leaf in leaves):
                return True
    return False
