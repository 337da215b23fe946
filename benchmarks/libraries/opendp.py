"""OpenDP: exact samplers in Rust; a measurement on a vector is its fastest way (one call for n draws)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import opendp.prelude as dp

from benchmarks.cases import GRID_EXPONENT, Case, Family

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from benchmarks.cases import Batch, Single

DISTRIBUTIONS = ("opendp",)
DISCRETE = (Family.DISCRETE_LAPLACE, Family.DISCRETE_GAUSSIAN)

dp.enable_features("contrib", "honest-but-curious")


def _domain(case: Case) -> object:
    return dp.atom_domain(T="i64") if case.family in DISCRETE else dp.atom_domain(T="f64", nan=False)


def _type(case: Case) -> str:
    return "i64" if case.family in DISCRETE else "f64"


def _constructor(case: Case) -> tuple[Callable[..., Callable[[object], object]], Callable[..., object]]:
    if case.family in {Family.DISCRETE_LAPLACE, Family.LAPLACE}:
        return dp.m.make_laplace, dp.l1_distance
    return dp.m.make_gaussian, dp.l2_distance


def _vector(case: Case, k: int | None) -> Batch:
    make, distance = _constructor(case)
    zero = 0 if case.family in DISCRETE else 0.0

    def draw(count: int) -> object:
        # The domain's size is part of a float measurement on a coarser grid, so it is made anew: 0.1 ms a call.
        space = dp.vector_domain(_domain(case), size=count)
        return make(space, distance(T=_type(case)), scale=float(case.scale), k=k)([zero] * count)

    return draw


def batches(case: Case) -> Mapping[str, Batch]:
    """Return the vector measurements, for floats on the finest grid (the default) and on ours."""
    if case.family in DISCRETE:
        return {"vector of i64": _vector(case, None)}
    return {
        "vector of f64, default grid": _vector(case, None),
        f"vector of f64, grid 2^{GRID_EXPONENT}": _vector(case, GRID_EXPONENT),
    }


def _crossing(count: int) -> object:
    space = dp.vector_domain(dp.atom_domain(T="i64"), size=count)
    return dp.t.make_identity(space, dp.l1_distance(T="i64"))([0] * count)


def single(case: Case) -> Single:
    """Return a scalar measurement, made once."""
    make, _ = _constructor(case)
    k = None if case.family in DISCRETE else GRID_EXPONENT
    measurement = make(_domain(case), dp.absolute_distance(T=_type(case)), scale=float(case.scale), k=k)
    zero = 0 if case.family in DISCRETE else 0.0
    return lambda: measurement(zero)  # type: ignore[return-value]


def references() -> Mapping[str, Batch]:
    """Pass a list of zeros through OpenDP: what the way from Python to Rust and back costs."""
    return {"list to Rust and back, no noise": _crossing}
