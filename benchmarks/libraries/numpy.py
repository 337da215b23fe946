"""NumPy's float generators: the speed of noise that is not safe to release."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from benchmarks.cases import Case, Family

if TYPE_CHECKING:
    from collections.abc import Mapping

    from benchmarks.cases import Batch, Single

DISTRIBUTIONS = ("numpy",)
GENERATOR = np.random.default_rng()
LAPLACES = (Family.DISCRETE_LAPLACE, Family.LAPLACE)


def batches(case: Case) -> Mapping[str, Batch]:
    """Return an array of floats; the floor of the discrete families too."""
    if case.family in LAPLACES:
        return {"Generator.laplace": lambda n: GENERATOR.laplace(0, case.scale, n)}
    return {"Generator.normal": lambda n: GENERATOR.normal(0, case.scale, n)}


def single(case: Case) -> Single:
    """Return one float a call."""
    if case.family in LAPLACES:
        return lambda: GENERATOR.laplace(0, case.scale)
    return lambda: GENERATOR.normal(0, case.scale)


def references() -> Mapping[str, Batch]:
    """Nothing is timed beside the noise."""
    return {}
