"""Bodies that go out as they came, and those whose bytes may say more than the object."""

from __future__ import annotations

import pytest

from tramapy.clients.exact_body import exact_object, is_exact


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
        (b'{"a":1.50}', {"a": 1.5}),
        (b'{"a":1E5}', None),
        (b'{"a":1}{"b":2}', None),
        (b' {"a":1}', None),
        (b'["a"]', None),
        (b'{"a":1', None),
        (b'{"a":"\xff"}', None),
        ('{"a":1}'.encode("utf-16"), None),
        (b'{"a":' * 100_000, None),
    ],
    ids=[
        *(
            "plain",
            "empty",
            "twice",
            "digits",
            "zeros",
            "written otherwise",
            "more behind",
            "blank before",
            "array",
        ),
        *("cut", "no UTF-8", "UTF-16", "deep"),
    ],
)
def test_a_body_is_read_where_its_bytes_say_nothing_else(data: bytes, value: object) -> None:
    assert exact_object(data) == value


@pytest.mark.parametrize(
    ("data", "exact"),
    [
        (b' {\n "a": [1.50]\n}\n', True),
        (b'{"a": 1}\r\n\n["b"]\n', True),
        (b'{"a": 1}\n{"b": 1, "b": 2}', False),
        (b'{"a": 1}\r{"b": 1}', False),
        (b'{"a": 1}\ntext', False),
        (b"\xff", False),
    ],
)
def test_a_file_is_exact_with_blanks_and_by_its_lines(data: bytes, *, exact: bool) -> None:
    assert is_exact(data) is exact
