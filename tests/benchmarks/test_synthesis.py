"""What the benchmark of synthetic tables measures, on a small table."""

from __future__ import annotations

import numpy as np

from benchmarks.synthesis import distance, domain_of, measured


def test_distances_are_total_variation_distances() -> None:
    rows = np.zeros((10, 3), dtype=np.int64)
    assert distance([2, 2, 2], rows, rows, 2) == 0
    assert distance([2, 2, 2], rows, rows + 1, 3) == 1
    assert domain_of([2, 5]).sizes == (2, 5)


def test_a_method_is_measured() -> None:
    rows = np.random.default_rng(0).integers(0, 2, (300, 3))
    two, three, _, _, fit, draw = measured(rows, [2, 2, 2], "independent", 9.0, learn=False)
    assert 0 < two < three < 0.5
    assert fit > 0
    assert draw > 0
