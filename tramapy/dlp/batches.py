"""`map_batches`: redact columns of text in batches, here or on the workers of Ray Data."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Protocol, runtime_checkable

from tramapy.dlp.interceptor import RuleBasedDlpInterceptor
from tramapy.dlp.portable import BULK_CONTEXT, PortableRules
from tramapy.dlp.rules import RuleBasedDlpConfiguration
from tramapy.errors import ConfigurationError

__all__ = ["PortableRules", "map_batches"]


@runtime_checkable
class _Array(Protocol):
    """A numpy array, as far as it is used here."""

    def astype(self, dtype: Any, /) -> Any: ...
    def tolist(self) -> list[Any]: ...


def map_batches(
    batch: Mapping[str, Any],
    *,
    fields: Sequence[str],
    rules: PortableRules | RuleBasedDlpConfiguration | None = None,
    count_field: str | None = None,
) -> dict[str, Any]:
    """Return a batch with some columns redacted; the others are handed on as they are.

    Each process makes one interceptor for equal rules and keeps it. On Ray Data:
    `dataset.map_batches(map_batches, fn_kwargs={"fields": ["text"]})`.

    Args:
        batch: Columns by name: lists, other sequences, or numpy arrays of one dimension.
        fields: The columns to redact, of str and None. An array comes back with `dtype=object`, another
            sequence as a list.
        rules: By default all packs. For Ray give `PortableRules.of(configuration)`, which can be pickled.
        count_field: A column to add, with the number of replacements in each row.

    Raises:
        ConfigurationError: A field is no column, or a column holds something else than str and None.
        DlpInspectionError: A rule blocks a text, or cannot redact it.
    """
    interceptor = _portable(rules).interceptor()
    checked = _checked(batch, fields, count_field)
    redacted = dict(batch)
    counts: list[int] | None = None
    for field in checked:
        texts, replaced = _column(interceptor, field, batch[field])
        redacted[field] = texts
        if counts is not None and len(counts) != len(replaced):
            raise ConfigurationError(f"Column {field!r} is not as long as the one before; give whole batches")
        counts = replaced if counts is None else [*map(sum, zip(counts, replaced, strict=True))]
    if count_field is not None:
        redacted[count_field] = _like(batch[fields[0]], counts or [])
    return redacted


def _portable(rules: PortableRules | RuleBasedDlpConfiguration | None) -> PortableRules:
    if isinstance(rules, PortableRules):
        return rules
    if rules is None or isinstance(rules, RuleBasedDlpConfiguration):
        return PortableRules.of(rules)
    raise TypeError(f"rules takes PortableRules or a RuleBasedDlpConfiguration, not {type(rules).__name__}")


def _checked(batch: Mapping[str, Any], fields: Sequence[str], count_field: str | None) -> Iterable[str]:
    if not isinstance(batch, Mapping):
        raise TypeError(f"batch takes columns by name, such as a dict of lists; not {type(batch).__name__}")
    if isinstance(fields, str):
        raise TypeError("fields takes several names of columns, such as a list; not str")
    if not fields:
        raise ConfigurationError("fields is empty; name the columns to redact")
    known = ", ".join(map(repr, batch)) or "none"
    for field in fields:
        if field not in batch:
            raise ConfigurationError(f"There is no column {field!r} to redact; the batch has {known}")
    if count_field is not None and count_field in batch:
        raise ConfigurationError(f"count_field: there is a column {count_field!r} already; give another name")
    return dict.fromkeys(fields)


def _column(interceptor: RuleBasedDlpInterceptor, field: str, column: Any) -> tuple[Any, list[int]]:
    if isinstance(column, (str, bytes)) or not isinstance(column, (Sequence, _Array)):
        raise ConfigurationError(
            f"Column {field!r} is a {type(column).__name__}; it takes a list or a numpy array of texts"
        )
    values = _values(column)
    counts = [0] * len(values)
    for row, value in enumerate(values):
        if value is None:
            continue
        if not isinstance(value, str):
            raise ConfigurationError(
                f"Column {field!r} holds a {type(value).__name__} in row {row}; it takes str and None only"
            )
        result = interceptor.inspect(BULK_CONTEXT, value)
        values[row] = result.sanitized_text
        counts[row] = sum(redaction.replacement_count for redaction in result.redactions)
    return _filled(column, values), counts


def _values(column: Any) -> list[Any]:
    return column.tolist() if isinstance(column, _Array) else list(column)


def _filled(column: Any, values: list[Any]) -> Any:
    """Return values as a list, or as an array of objects where the column is an array."""
    if not isinstance(column, _Array):
        return values
    filled = column.astype(object)
    filled[:] = values
    return filled


def _like(column: Any, counts: list[int]) -> Any:
    if not isinstance(column, _Array):
        return counts
    return _filled(column, counts).astype("int64")
