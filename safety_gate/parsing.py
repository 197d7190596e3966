"""Two parsers of one text: CPython's for the screen, libcst's for the verdict.

CPython's limits protect libcst, whose native parser overflows the stack at about 3,000 brackets and takes
quadratic
time on long chains of operators: only what CPython has read, and not too deep, is handed on.
"""

from __future__ import annotations

import ast
import re
import warnings

MAX_DEPTH = 1_500
"""Deepest tree that is handed to libcst: a sum of 1,500 terms takes 0.9 s, one of 20,000 over two minutes."""

_BASE_MB = 30
"""What a process holds before it judges a file: the interpreter, the rules and libcst."""

_STATEMENT_KB, _NODE_KB = 6.5, 5.0
_EXTRA_KB: dict[type[ast.AST], float] = {ast.arguments: 1.0, ast.Tuple: 3.0, ast.Subscript: 1.0}
_ARGUMENT_KB = 1.2
"""What a statement and any other node take in both trees together, and what some take beside that: libcst keeps
brackets, commas and blanks as nodes of their own. The most of 30 shapes of 25,000 tokens; see the tests."""

_TOKENS_PER_MB = 500
"""CPython's tree and the index of it take up to 1.2 KB a token."""

_MAX_UNSCREENED_CHARACTERS = 300_000
_MAX_UNSCREENED_CHAIN = 500
_MAX_UNSCREENED_BRACKETS = 100
_MARKS = re.compile(r"[()\[\]{}\n]|[-+*/%&|^@.~,:]|\bnot\b|\bif\b|\blambda\b|\bawait\b")
_MAX_PATTERN_COST = 2 * 4**9
_CASE = re.compile(r"(?:\A|(?<=[\r\n]))[ \t\f]*case\b")
_PATTERN_MARKS = re.compile(
    r"#[^\r\n]*|(\"{3}|'{3}).*?\1|\"(?:\\.|[^\"\\\r\n])*\"|'(?:\\.|[^'\\\r\n])*'|[()\[\]{}\r\n]", re.DOTALL
)
_TOKEN = re.compile(
    r"""\#[^\n]*+
    | \"{3}(?:[^"\\]++|\\.?|"(?!""))*+(?:"{3}|\Z) | \'{3}(?:[^'\\]++|\\.?|'(?!''))*+(?:'{3}|\Z)
    | "(?:[^"\\\n]++|\\.?)*+"? | '(?:[^'\\\n]++|\\.?)*+'?
    | \w++ | [^\w ]""",
    re.DOTALL | re.VERBOSE,
)
_MAX_BRACKETS = 200  # MAXLEVEL of CPython's tokenizer
_OPENING, _CLOSING = frozenset("([{"), frozenset(")]}")
_TOO_DEEP = "The code is nested too deeply to be judged. Split the expression."


class ParseError(Exception):
    """A text that is no Python, or too deep to be judged."""

    def __init__(self, message: str, line: int | None) -> None:
        super().__init__(message)
        self.message = message
        self.line = line


def is_giant(text: str, max_memory_mb: int) -> bool:
    """Tell whether even CPython's tree of a text would take too much memory: 1 MB can grow to 0.6 GB."""
    limit = max_memory_mb * _TOKENS_PER_MB
    if len(text) < limit:
        return False
    count = 2 * text.count("{")  # what stands in an f-string is one token here
    return count > limit or any(number > limit for number, _ in enumerate(_TOKEN.finditer(text), count))


def refuse_nesting(text: str) -> None:
    """Refuse more open brackets than CPython reads, in a text that is too large to ask CPython.

    Raises:
        ParseError: With the line.
    """
    depth = 0
    for token in _TOKEN.finditer(text):
        sign = token.group()
        depth += (sign in _OPENING) - (sign in _CLOSING)
        if depth > _MAX_BRACKETS:
            line = text.count("\n", 0, token.start()) + 1
            raise ParseError("Syntax error: too many nested parentheses. The file was not judged.", line)


def too_large(max_memory_mb: int) -> str:
    """Return the message on a text that would take more memory than it may."""
    return (
        f"The file would take more than {max_memory_mb} MB to judge. "
        "Split it, give it the role generated, or raise max-memory-mb."
    )


def parse_screen(text: str) -> ast.Module | None:
    """Parse with CPython.

    Returns:
        The tree, its columns in UTF-8 bytes; None where only libcst can tell whether this is newer syntax.

    Raises:
        ParseError: The text is too deep for the interpreter, or is no Python for libcst either.
    """
    if "\0" in text:
        line = text.count("\n", 0, text.index("\0")) + 1
        raise ParseError("The text holds a NUL character, so it is no Python source.", line)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return ast.parse(text)
    except (RecursionError, MemoryError):
        raise ParseError(_TOO_DEEP, None) from None
    except ValueError as error:
        raise ParseError(f"Not readable as Python: {error}.", 1) from None
    except SyntaxError as error:
        failure = ParseError(_syntax_message(error), error.lineno or 1)
    if "too many nested" in failure.message or "too many levels" in failure.message or not _is_shallow(text):
        raise failure
    return None


def parse_verdict(
    text: str, screen: ast.Module | None, max_memory_mb: int
) -> tuple[ast.Module, frozenset[tuple[int, int]]]:
    """Parse with libcst and return the tree that the rules judge, positions in code points.

    Args:
        text: The source.
        screen: CPython's tree of it, as the donor of positions; None makes libcst count them.
        max_memory_mb: What both trees may take.

    Returns:
        The tree, and the positions in it that are in doubt; without a screen there are none.

    Raises:
        ParseError: libcst cannot read the text, or it is too deep for it.
    """
    import libcst

    from safety_gate.lowering import lower
    from safety_gate.positions import place

    if screen is not None:
        _refuse_giants(screen, max_memory_mb)
    _refuse_nested_patterns(text)
    try:
        module = libcst.parse_module(text)
    except libcst.ParserSyntaxError as error:
        raise ParseError(_reason(text, error.raw_line), _line(text, error.raw_line)) from None
    except RecursionError:
        raise ParseError(_TOO_DEEP, None) from None
    try:
        lowered = lower(module)
    except (SyntaxError, ValueError):  # a literal that libcst keeps as text and Python cannot read
        raise ParseError("A literal is no valid Python. The file was not judged.", _line(text, 1)) from None
    doubtful = place(lowered, screen, module)
    return lowered.tree, doubtful


def code_point_columns(tree: ast.Module, lines: list[str]) -> None:
    """Turn the UTF-8 byte columns of CPython's tree into code-point columns, in place."""
    ascii_lines = [line.isascii() for line in lines]
    if all(ascii_lines):
        return
    encoded = {
        number: line.encode("utf-8", "surrogatepass")
        for number, line in enumerate(lines, 1)
        if not line.isascii()
    }
    for node in ast.walk(tree):
        if isinstance(
            node, ast.expr | ast.stmt | ast.ExceptHandler | ast.arg | ast.keyword | ast.alias | ast.pattern
        ):
            start, end = encoded.get(node.lineno), encoded.get(node.end_lineno or 0)
            if start is not None:
                node.col_offset = len(start[: node.col_offset].decode("utf-8", "ignore"))
            if end is not None and node.end_col_offset is not None:
                node.end_col_offset = len(end[: node.end_col_offset].decode("utf-8", "ignore"))


def _refuse_giants(tree: ast.AST, max_memory_mb: int) -> None:
    level: list[ast.AST] = [tree]
    limit_kb = (max_memory_mb - _BASE_MB) * 1024
    depth, size_kb = 0, 0.0
    while level:
        depth += 1
        size_kb += sum(_size_kb(node) for node in level)
        if depth > MAX_DEPTH:
            raise ParseError(_TOO_DEEP, None)
        if size_kb > limit_kb:
            raise ParseError(too_large(max_memory_mb), None)
        level = [child for node in level for child in ast.iter_child_nodes(node)]


def _size_kb(node: ast.AST) -> float:
    if isinstance(node, ast.Global | ast.Nonlocal):
        return _STATEMENT_KB + _ARGUMENT_KB * len(node.names)
    if isinstance(node, ast.stmt):
        return _STATEMENT_KB
    if isinstance(node, ast.Call):
        return _NODE_KB + _ARGUMENT_KB * len(node.args)
    if node._attributes or isinstance(
        node, ast.arguments
    ):  # the others are shared, or a part of their holder
        return _NODE_KB + _EXTRA_KB.get(type(node), 0.0)
    return 0.0


def _refuse_nested_patterns(text: str) -> None:
    """Refuse what libcst would take hours for: each bracket in a `case` makes it about four times slower."""
    cost = 0
    for case in _CASE.finditer(text):
        depth = 0
        for mark in _PATTERN_MARKS.finditer(text, case.end()):
            sign = mark.group()
            if sign in "([{":
                depth += 1
                cost += 4 ** min(depth, 10)
            elif sign in ")]}":
                depth -= 1
            elif sign in "\r\n" and depth <= 0:
                break
            if cost > _MAX_PATTERN_COST:
                raise ParseError(_TOO_DEEP, text.count("\n", 0, case.end()) + 1)


def _line(text: str, libcst_line: int) -> int:
    try:
        ast.parse(text)
    except SyntaxError as error:
        return error.lineno or libcst_line
    return libcst_line


def _reason(text: str, libcst_line: int) -> str:
    try:
        ast.parse(text)
    except SyntaxError as error:
        return _syntax_message(error)
    return f"libcst cannot parse line {libcst_line}. A newer libcst may know this syntax."


def _syntax_message(error: SyntaxError) -> str:
    reason = error.msg
    if "<" in reason or "'" in reason:  # CPython quotes source text in some messages
        reason = reason.split("'")[0].split("<")[0].strip(" (,") or "invalid syntax"
    return f"Syntax error: {reason}. The file was not judged."


def _is_shallow(text: str) -> bool:
    """Tell whether libcst can be trusted with a text that CPython refused."""
    if len(text) > _MAX_UNSCREENED_CHARACTERS:
        return False
    brackets = chain = 0
    for mark in _MARKS.finditer(text):
        sign = mark.group()
        if sign in "([{":
            brackets += 1
        elif sign in ")]}":
            brackets -= 1
        elif sign == "\n":
            chain = chain if brackets > 0 else 0
            continue
        elif sign in ",:":
            chain = 0
            continue
        chain += 1
        if brackets > _MAX_UNSCREENED_BRACKETS or chain > _MAX_UNSCREENED_CHAIN:
            return False
    return True
