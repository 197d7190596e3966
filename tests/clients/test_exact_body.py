"""Bodies that go out as they came, and those whose bytes may say more than the object."""

from __future__ import annotations

import pytest

from tramapy.clients.exact_body import exact_object


@pytest.mark.parametrize(
    ("data", "value"),
    [
        (
            b'{"a": [1, 0.7, null, "\\u00e9"], "b": {"a": 1e-05}}',
            {"a": [1, 0.7, None, "é"], "b": {"a": 1e-05}},
        ),
        (b"{}", {}),
        (b'{"a":{"b":1,"b":2}}', None),
        (b'{"a":0.41111111111111111}', None),
        (b'{"a":1.50}', None),
        (b'{"a":1}{"b":2}', None),
        (b' {"a":1}', None),
        (b'["a"]', None),
        (b'{"a":1', None),
        (b'{"a":"\xff"}', None),
        ('{"a":1}'.encode("utf-16"), None),
        (b'{"a":' * 100_000, None),
    ],
    ids=[
        *("plain", "empty", "twice", "digits", "written otherwise", "more behind", "blank before", "array"),
        *("cut", "no UTF-8", "UTF-16", "deep"),
    ],
)
def test_a_body_is_read_where_its_bytes_say_nothing_else(data: bytes, value: object) -> None:
    assert exact_object(data) == value
