"""JSON of which any part is something else: a planted secret, or a value of another type."""

from __future__ import annotations

import copy
import random
from collections.abc import Iterable, Iterator
from typing import Any, cast

from tramapy import DlpContentType, DlpRule, RuleBasedDlpConfiguration, RuleBasedDlpInterceptor

CANARY = "canary 5b1e77"
RULES = RuleBasedDlpInterceptor(
    RuleBasedDlpConfiguration(
        rules=[DlpRule(id="canary", pattern=r"canary.[0-9a-f]+", enabled_for=list(DlpContentType))]
    )
)
Path = tuple[str | int, ...]

_ODD: tuple[Any, ...] = (
    *(None, True, -1, 10**400, float("nan"), "", [], {}, [[]], [{}], {"type": None}, "\ud800", "\0"),
    *(
        CANARY,
        f"say {CANARY}",
        [CANARY],
        {CANARY: CANARY},
        {"type": CANARY, "text": CANARY},
        {"x": {"y": CANARY}},
    ),
)


def _paths(value: Any, path: Path = ()) -> Iterator[Path]:
    items: Iterable[tuple[str | int, Any]]
    if isinstance(value, dict):
        items = cast("dict[str | int, Any]", value).items()
    else:
        items = enumerate(cast("list[Any]", value))
    for key, item in items:
        yield (*path, key)
        if isinstance(item, (dict, list)):
            yield from _paths(item, (*path, key))


def mutated(value: Any, seed: random.Random) -> Any:
    """Put something odd in one place or two, or take something out."""
    value = copy.deepcopy(value)
    for _ in range(seed.choice((1, 1, 2))):
        paths = [*_paths(value)]
        if not paths:
            break
        *steps, last = seed.choice(paths)
        owner = value
        for step in steps:
            owner = owner[step]
        odd = copy.deepcopy(seed.choice(_ODD))
        if isinstance(owner, dict) and seed.random() < 0.3:
            owner[seed.choice(("text", "more", "delta", "name", CANARY))] = odd
        elif isinstance(owner, dict) and seed.random() < 0.1:
            del owner[last]
        else:
            owner[last] = odd
    return value
