"""The tables of the audit page say what the code says."""

from __future__ import annotations

import re

import pytest

from tests.docs.pages import DOCS, table_rows
from tests.telemetry.audit_material import events_of
from tramapy import DlpContentType
from tramapy.telemetry import (
    AuditProblemCode,
    AuditStore,
    FileAuditStore,
    MemoryAuditStore,
    audit,
    audit_event,
)
from tramapy.telemetry.audit_event import FIELDS
from tramapy.telemetry.audit_file import FsyncPolicy

PAGE = DOCS / "audit.md"


def _code(cell: str) -> str:
    return cell.strip("`")


def test_every_field_is_listed_in_order_with_its_type() -> None:
    rows = [[_code(cell) for cell in row[:3]] for row in table_rows(PAGE, "Field")]
    assert rows == [
        [field.name, field.kind.__name__, "no" if field.is_required else "yes"] for field in FIELDS
    ]


def test_constant_fields_have_the_values_of_the_page() -> None:
    event = events_of([("ssn", 1)])[0]
    attributes = {field.name: field.attribute for field in FIELDS}
    for name in ("schemaVersion", "hashAlgorithm", "decision", "reasonCode"):
        row = next(row for row in table_rows(PAGE, "Field") if _code(row[0]) == name)
        assert _code(row[3]) == str(getattr(event, attributes[name]))
    points = next(row for row in table_rows(PAGE, "Field") if _code(row[0]) == "enforcementPoint")[3]
    assert set(re.findall(r"`(\w+)`", points)) == {f"DLP_{kind.name}" for kind in DlpContentType}


def test_every_key_of_metadata_is_listed() -> None:
    assert [_code(row[0]) for row in table_rows(PAGE, "Key")] == list(audit.METADATA_KEYS)


@pytest.mark.parametrize("row", table_rows(PAGE, "Limit"), ids=lambda row: _code(row[0]))
def test_every_limit_has_its_value(row: list[str]) -> None:
    name = _code(row[0])
    value = getattr(audit_event, name, None) or getattr(audit, name)
    assert row[1].startswith(f"{value} ")


def test_every_limit_is_listed() -> None:
    names = {name for module in (audit, audit_event) for name in module.__all__ if name.startswith("LIMIT_")}
    assert {_code(row[0]) for row in table_rows(PAGE, "Limit")} == names


def test_every_problem_is_listed() -> None:
    assert [_code(row[0]) for row in table_rows(PAGE, "Problem")] == [code.value for code in AuditProblemCode]


def test_every_policy_and_store_is_listed() -> None:
    assert tuple(_code(row[0]) for row in table_rows(PAGE, "`fsync`")) == FsyncPolicy.__args__  # type: ignore[attr-defined]
    assert {_code(row[0]) for row in table_rows(PAGE, "Store")} == {
        store.__name__ for store in (MemoryAuditStore, FileAuditStore) if issubclass(store, AuditStore)
    }
