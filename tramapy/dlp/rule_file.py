"""`load_rule_file`: the rules of the rule-based interceptor, from a TOML file."""

from __future__ import annotations

import enum
import os
import re
import tomllib
from collections.abc import Callable, Collection, Mapping, Sequence
from pathlib import Path
from typing import Final, TypeAlias, TypeVar, cast

from tramapy.dlp.actions import DlpAction
from tramapy.dlp.dialect import PatternError
from tramapy.dlp.matcher import compile_pattern
from tramapy.dlp.packs import ALL, encoded
from tramapy.dlp.rules import DlpRule, RuleBasedDlpConfiguration, RulePack
from tramapy.errors import ConfigurationError
from tramapy.hooks.dlp import DlpContentType

__all__ = ["load_rule_file"]

_T = TypeVar("_T")
_E = TypeVar("_E", bound=enum.Enum)
_Keys: TypeAlias = Mapping[str, object]

_LIMIT_BYTES: Final = 1024 * 1024
_PACKS: Final = {pack.name: pack for pack in (*ALL, encoded)}
_FILE_KEYS: Final = (
    "packs",
    "disabled_rules",
    "allowed_texts",
    "allowed_patterns",
    "max_text_length",
    "hash_key_env",
    "actions",
    "rules",
)
_RULE_KEYS: Final = (
    "id",
    "pattern",
    "replacement",
    "enabled_for",
    "tool_names",
    "context_words",
    "max_length",
    "action",
)
_PLAIN: Final = re.compile(r"[A-Za-z0-9._:-]{1,128}")
_PLACE: Final = re.compile(r"\(at (line \d+, column \d+|end of document)\)")


def load_rule_file(path: str | os.PathLike[str]) -> RuleBasedDlpConfiguration:
    """Read a configuration from a TOML file.

    A file that names no `packs` has all of them, `packs = []` has none. A rule without `enabled_for` is enabled for
    every type of text. Without `max_text_length` there is no limit. The key for hashes never stands in the file:
    `hash_key_env` names the environment variable that holds it.

    Args:
        path: The file, in UTF-8, at most 1 MiB.

    Raises:
        ConfigurationError: The file cannot be read, or something in it cannot work. The message names the file,
            the key and the remedy, never a pattern.
    """
    found = _load(Path(path))
    if isinstance(found, RuleBasedDlpConfiguration):
        return found
    # Raised here, where no frame and no context holds a pattern.
    raise ConfigurationError(f"{os.fspath(path)}: {found}")


class _DefectError(Exception):
    """What is wrong and what to do, without the file's name."""


def _load(path: Path) -> RuleBasedDlpConfiguration | str:
    try:
        return _configuration(_read(path))
    except _DefectError as defect:
        return str(defect)


def _read(path: Path) -> _Keys:
    try:
        with path.open("rb") as file:
            data = file.read(_LIMIT_BYTES + 1)
    except OSError as error:
        raise _DefectError(
            f"{error.strerror or type(error).__name__}; give the path of a TOML file"
        ) from None
    if len(data) > _LIMIT_BYTES:
        raise _DefectError(f"it is longer than {_LIMIT_BYTES} bytes; give a TOML file of rules")
    try:
        return tomllib.loads(data.decode("utf-8-sig"))
    except UnicodeDecodeError as error:
        raise _DefectError(f"byte {error.start} is not in UTF-8; save it as UTF-8") from None
    except tomllib.TOMLDecodeError as error:
        place = _PLACE.search(str(error))
        where = f" at {place[1]}" if place is not None else ""
        raise _DefectError(
            f"it is not valid TOML{where}; write patterns in 'single quotes', where a backslash is itself"
        ) from None
    except RecursionError:
        raise _DefectError("it is nested too deep; write tables as docs/redact.md shows them") from None


def _configuration(table: _Keys) -> RuleBasedDlpConfiguration:
    if "hash_key" in table:
        raise _DefectError(
            'hash_key: a key never stands in a file; write hash_key_env = "NAME_OF_A_VARIABLE"'
        )
    _check_keys("", table, _FILE_KEYS)
    entries = _list("rules", table.get("rules", []))
    rules = [_rule(place, _table(f"rules[{place}]", entry)) for place, entry in enumerate(entries)]
    allowed_patterns = _strings("allowed_patterns", table)
    for place, pattern in enumerate(allowed_patterns):
        _check_pattern(f"allowed_patterns[{place}]", pattern)
    return _made(
        "",
        lambda: RuleBasedDlpConfiguration(
            rules,
            _optional_number("max_text_length", table),
            packs=_packs(table),
            disabled_rules=_strings("disabled_rules", table),
            actions=_actions(table),
            allowed_texts=_strings("allowed_texts", table),
            allowed_patterns=allowed_patterns,
            hash_key=_hash_key(table),
        ),
    )


def _packs(table: _Keys) -> Sequence[RulePack]:
    if "packs" not in table:
        return ALL
    for place, name in enumerate(_strings("packs", table)):
        if name not in _PACKS:
            raise _DefectError(f"packs[{place}] names a pack that there is not; known are {_listed(_PACKS)}")
    return [_PACKS[name] for name in _strings("packs", table)]


def _actions(table: _Keys) -> Mapping[str, DlpAction]:
    written = _table("actions", table.get("actions", {}))
    return {
        rule_id: _member(f"actions[{_shown(rule_id)}]", action, DlpAction)
        for rule_id, action in written.items()
    }


def _hash_key(table: _Keys) -> bytes | None:
    name = _optional_text("hash_key_env", table)
    if name is None:
        return None
    key = os.environ.get(name)
    if key is None:
        raise _DefectError(
            f"hash_key_env names the environment variable {_shown(name)}, which is not set; set it to a secret"
        )
    return os.fsencode(key)


def _rule(place: int, table: _Keys) -> DlpRule:
    where = f"rules[{place}]"
    if "id" in table:
        written = _text(f"{where}.id", table["id"])
        where = f"{where} ({_shown(written)})"
    _check_keys(where, table, _RULE_KEYS)
    for key in ("id", "pattern"):
        if key not in table:
            raise _DefectError(f"{where} has no {key}; every rule takes an id and a pattern")
    pattern = _text(f"{where}.pattern", table["pattern"])
    rule = _made(
        f"{where}: ",
        lambda: DlpRule(
            id=str(table["id"]),
            pattern=pattern,
            replacement=_text(f"{where}.replacement", table.get("replacement", "[REDACTED]")),
            enabled_for=_content_types(where, table),
            tool_names=_strings("tool_names", table, where),
            context_words=_strings("context_words", table, where),
            max_length=_optional_number("max_length", table, where),
            action=_member(f"{where}.action", table.get("action", DlpAction.REDACT.value), DlpAction),
        ),
    )
    _check_pattern(where, pattern)
    return rule


def _content_types(where: str, table: _Keys) -> Collection[DlpContentType]:
    if "enabled_for" not in table:
        return frozenset(DlpContentType)
    return [
        _member(f"{where}.enabled_for[{place}]", name, DlpContentType)
        for place, name in enumerate(_strings("enabled_for", table, where))
    ]


def _check_pattern(where: str, pattern: str) -> None:
    try:
        compile_pattern(pattern, None)
    except PatternError as refused:
        reason = refused.reason
    else:
        return
    raise _DefectError(f"{where}: its pattern {reason}. See docs/dlp.md for what is supported.")


def _made(where: str, make: Callable[[], _T]) -> _T:
    """Make a value; its own complaint, which holds no pattern, becomes ours."""
    try:
        return make()
    except (ConfigurationError, TypeError, ValueError) as error:
        raise _DefectError(f"{where}{error}") from None


def _check_keys(where: str, table: _Keys, known: Sequence[str]) -> None:
    for key in table:
        if key not in known:
            place = f" in {where}" if where else ""
            raise _DefectError(f"there is no key {_shown(key)}{place}; known are {', '.join(known)}")


def _strings(key: str, table: _Keys, where: str = "") -> list[str]:
    name = f"{where}.{key}" if where else key
    return [_text(f"{name}[{place}]", value) for place, value in enumerate(_list(name, table.get(key, [])))]


def _optional_text(key: str, table: _Keys, where: str = "") -> str | None:
    return _text(f"{where}.{key}" if where else key, table[key]) if key in table else None


def _optional_number(key: str, table: _Keys, where: str = "") -> int | None:
    if key not in table:
        return None
    value = table[key]
    if isinstance(value, bool) or not isinstance(value, int):
        raise _wrong(f"{where}.{key}" if where else key, "a whole number", value)
    return value


def _text(name: str, value: object) -> str:
    if not isinstance(value, str):
        raise _wrong(name, "a string", value)
    return value


def _list(name: str, value: object) -> list[object]:
    if not isinstance(value, list):
        raise _wrong(name, "a list", value)
    return cast("list[object]", value)


def _table(name: str, value: object) -> _Keys:
    if not isinstance(value, dict):
        raise _wrong(name, "a table", value)
    return cast("_Keys", value)


def _wrong(name: str, wanted: str, value: object) -> _DefectError:
    return _DefectError(f"{name} takes {wanted}, not {type(value).__name__}")


def _member(name: str, value: object, kind: type[_E]) -> _E:
    by_value = {str(member.value): member for member in kind}
    written = _text(name, value)
    if written not in by_value:
        raise _DefectError(f"{name} takes one of {_listed(by_value)}")
    return by_value[written]


def _listed(names: Collection[str]) -> str:
    return ", ".join(f'"{name}"' for name in names)


def _shown(key: str) -> str:
    """Write a key or an id of the file; what is no plain word may be anything."""
    return repr(key) if _PLAIN.fullmatch(key) else "that is no plain word"
