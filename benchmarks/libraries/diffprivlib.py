"""diffprivlib: floating-point samplers in Python (not exact: its discrete families decide by floats, too)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from diffprivlib import mechanisms

from benchmarks.cases import Case, Family

if TYPE_CHECKING:
    from collections.abc import Mapping

    from benchmarks.cases import Batch, Single

DISTRIBUTIONS = ("diffprivlib",)


def single(case: Case) -> Single:
    """Return `randomise` of zero, by the mechanism whose noise has the case's scale."""
    scale = case.scale
    match case.family:
        case Family.DISCRETE_LAPLACE:
            randomise = mechanisms.Geometric(epsilon=1 / scale, sensitivity=1).randomise
        case Family.DISCRETE_GAUSSIAN:
            mechanism = mechanisms.GaussianDiscrete(epsilon=1, delta=1e-5)
            # Its search for a scale takes seconds and refuses wide noise; the sampler below it is what is timed.
            mechanism._scale = float(scale)  # noqa: SLF001
            randomise = mechanism.randomise
        case Family.LAPLACE:
            randomise = mechanisms.Laplace(epsilon=1 / scale, sensitivity=1).randomise
        case Family.GAUSSIAN:
            mechanism = mechanisms.GaussianAnalytic(epsilon=1, delta=1e-5, sensitivity=1)
            mechanism._scale = float(scale)  # noqa: SLF001
            randomise = mechanism.randomise
    return lambda: randomise(0)


def batches(case: Case) -> Mapping[str, Batch]:
    """Return a loop over single draws: there is no other way."""
    draw = single(case)
    return {"loop": lambda n: [draw() for _ in range(n)]}


def references() -> Mapping[str, Batch]:
    """Nothing is timed beside the noise."""
    return {}
