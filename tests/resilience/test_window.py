"""The settings of the windowed profile."""

from __future__ import annotations

import dataclasses
import math

import pytest

from tramapy.resilience.window import CircuitBreakerWindow


@pytest.mark.parametrize(
    ("fields", "kind", "size"),
    [({}, "count", 100), ({"size_calls": 20}, "count", 20), ({"size_s": 30}, "time", 30.0)],
    ids=["default", "count", "time"],
)
def test_one_size_makes_the_kind(fields, kind, size):
    window = CircuitBreakerWindow(**fields)
    assert (window.kind, window.size) == (kind, size)


def test_whole_numbers_of_seconds_become_floats():
    window = CircuitBreakerWindow(size_s=30, slow_call_duration_s=2, max_probe_s=60, failure_rate=1)
    values = (window.size_s, window.slow_call_duration_s, window.max_probe_s, window.failure_rate)
    assert all(isinstance(value, float) for value in values)


def test_a_time_window_may_want_any_number_of_calls():
    assert CircuitBreakerWindow(size_s=60.0, minimum_calls=1_000_000).minimum_calls == 1_000_000


def test_a_copy_with_another_field_is_valid():
    assert dataclasses.replace(CircuitBreakerWindow(), size_s=10.0).kind == "time"


@pytest.mark.parametrize(
    ("fields", "kind", "message"),
    [
        (
            {"size_calls": 10, "size_s": 10.0},
            ValueError,
            " takes size_calls or size_s, not both; leave one out",
        ),
        ({"size_calls": 0}, ValueError, r"\.size_calls is 0; give at least 1"),
        ({"size_calls": 100_001}, ValueError, r"\.size_calls is 100001; give at most 100000"),
        ({"size_calls": True}, TypeError, r"\.size_calls takes an int, not bool"),
        ({"size_s": 0.99}, ValueError, r"\.size_s is 0.99; give at least 1"),
        ({"size_s": math.inf}, ValueError, r"\.size_s is inf; give at most"),
        ({"minimum_calls": 0}, ValueError, r"\.minimum_calls is 0; give at least 1"),
        ({"size_calls": 5}, ValueError, r"\.minimum_calls is 10, more than size_calls \(5\).*lower it"),
        ({"minimum_calls": 101}, ValueError, r"\.minimum_calls is 101, more than size_calls \(100\)"),
        (
            {"failure_rate": 0.0},
            ValueError,
            r"\.failure_rate is 0\.0; give a fraction above 0 and up to 1, 0\.5",
        ),
        ({"failure_rate": 50}, ValueError, r"\.failure_rate is 50\.0; give a fraction"),
        ({"failure_rate": math.nan}, ValueError, r"\.failure_rate is nan; give a fraction"),
        ({"slow_call_rate": 1.1}, ValueError, r"\.slow_call_rate is 1\.1; give a fraction"),
        ({"slow_call_rate": True}, TypeError, r"\.slow_call_rate takes a number, not bool"),
        ({"slow_call_duration_s": 0.0}, ValueError, r"\.slow_call_duration_s is 0.0; give more than 0"),
        ({"half_open_permits": 0}, ValueError, r"\.half_open_permits is 0; give at least 1"),
        ({"half_open_permits": 101}, ValueError, r"\.half_open_permits is 101; give at most 100"),
        ({"max_probe_s": 0.0}, ValueError, r"\.max_probe_s is 0.0; give more than 0"),
    ],
)
def test_settings_that_cannot_work_are_refused_by_name(fields, kind, message):
    with pytest.raises(kind, match=f"CircuitBreakerWindow{message}"):
        CircuitBreakerWindow(**fields)
