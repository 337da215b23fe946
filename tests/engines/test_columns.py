"""Groups find their places however keys are written: the fast ways agree with a dictionary."""

from __future__ import annotations

from random import Random

import numpy as np
import pytest

from discreet.engines.sql.statements import by_columns, known_places, listed_rows
from discreet.plans.nodes import GroupKey

KEYS = [
    tuple(range(5)),
    tuple(range(-3, 3)),
    (7, 3, 11, -2),
    (3, None, 5),
    ("a", "b", None),
    (True, False),
    (0.5, 2.5),
    (-(2**63), 2**63 - 1),
]


@pytest.mark.parametrize("first", KEYS)
@pytest.mark.parametrize("second", KEYS[:5])
def test_places_are_those_of_the_product(first: tuple[object, ...], second: tuple[object, ...]) -> None:
    random = Random(repr((first, second)))
    strange: list[object] = [2**62, -(2**62), 99]
    rows = [(random.choice([*first, *strange]), random.choice([*second, *strange])) for _ in range(60)]
    product = {(a, b): place for place, (a, b) in enumerate((a, b) for a in first for b in second)}
    wanted = [product.get(row, -1) for row in rows]
    keys = (GroupKey("a", first), GroupKey("b", second))  # type: ignore[arg-type]
    columns = by_columns(rows, 2)
    for arrays in (False, True):
        if arrays:
            columns = [
                np.array(column, dtype=np.int64) if all(type(cell) is int for cell in column) else column
                for column in columns
            ]
        assert known_places(keys, columns, len(rows)).tolist() == wanted
        assert list(listed_rows(columns)) == rows


def test_no_rows_have_no_places() -> None:
    assert known_places((GroupKey("a", (1, 2)),), by_columns([], 1), 0).tolist() == []
    assert known_places((), [], 1).tolist() == [0]
