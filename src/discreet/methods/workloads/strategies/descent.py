"""Descent: minimize a smooth function of many weights within bounds."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeAlias

if TYPE_CHECKING:
    from discreet.methods.workloads.algebra.workload import Floats

__all__ = ["Sloped", "descend"]

Sloped: TypeAlias = Callable[["Floats"], "tuple[float, Floats]"]
"""A function that gives its value and its slope."""


def descend(
    error: Sloped, start: Floats, bounds: tuple[float, float | None], rounds: int = 2000
) -> tuple[Floats, float]:
    """Return the weights at which L-BFGS with bounds ends, and the error there (Byrd, Lu, Nocedal & Zhu 1995).

    >>> import numpy as np
    >>> found, error = descend(lambda x: (float(x @ x), 2 * x), np.array([3.0]), (1.0, None))
    >>> found.tolist(), error
    ([1.0], 1.0)
    """
    from scipy.optimize import minimize

    options: Any = {"maxiter": rounds, "maxfun": 2 * rounds}
    limits: Any = [bounds] * start.size
    value: Any = error
    found: Any = minimize(value, start.ravel(), jac=True, method="L-BFGS-B", bounds=limits, options=options)
    weights: Floats = found.x
    return weights, float(found.fun)
