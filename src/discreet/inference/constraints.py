"""Anything else that is known: the nearest point that keeps linear equations and inequalities."""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from discreet.errors import ParameterError
from discreet.exact import shown

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from numpy.typing import ArrayLike

    from discreet.inference.trees import Floats

__all__ = ["Constraint", "at_least", "at_most", "constrained", "equal", "ordered", "projection_error", "zero"]

_CLOSE = 1e-9


@dataclass(frozen=True, eq=False)
class Constraint:
    """What is known of some numbers x: coefficients times x is equal to, or at most, a bound.

    >>> total = equal([1, 1, 1], 100)
    >>> total.name, total.is_equation
    ('equal([1, 1, 1], 100)', True)
    """

    coefficients: tuple[float, ...]
    bound: float
    is_equation: bool
    name: str


def _made(coefficients: ArrayLike, bound: float, *, equation: bool, sign: float, called: str) -> Constraint:
    row = np.atleast_1d(np.asarray(coefficients, dtype=np.float64))
    if row.ndim != 1 or not np.isfinite(row).all() or not np.isfinite(bound):
        msg = f"coefficients and bound of {called} must be finite numbers: one coefficient for each number."
        raise ParameterError(msg)
    name = f"{called}({np.asarray(coefficients).tolist()}, {bound})"
    if len(name) > 60:
        name = f"{called}([… {np.count_nonzero(row)} numbers], {bound})"
    return Constraint(tuple((sign * row).tolist()), sign * float(bound), equation, name)


def equal(coefficients: ArrayLike, bound: float) -> Constraint:
    """Say that a sum is known, such as a total that is public.

    >>> constrained([4, 5], [equal([1, 1], 11)]).tolist()
    [5.0, 6.0]
    """
    return _made(coefficients, bound, equation=True, sign=1.0, called="equal")


def at_most(coefficients: ArrayLike, bound: float) -> Constraint:
    """Say that a sum is at most a bound.

    >>> constrained([4, 5], [at_most([1, 1], 5)]).round(6).tolist()
    [2.0, 3.0]
    """
    return _made(coefficients, bound, equation=False, sign=1.0, called="at_most")


def at_least(coefficients: ArrayLike, bound: float) -> Constraint:
    """Say that a sum is at least a bound.

    >>> constrained([4, 5], [at_least([1, 0], 6)]).round(6).tolist()
    [6.0, 5.0]
    """
    return _made(coefficients, bound, equation=False, sign=-1.0, called="at_least")


def zero(places: Iterable[int], size: int) -> list[Constraint]:
    """Say that some numbers are zero by their nature, such as pregnant men.

    >>> constrained([4, 5, 1], zero([2], 3)).tolist()
    [4.0, 5.0, 0.0]
    """
    return [equal(np.eye(size)[place], 0) for place in places]


def ordered(places: Sequence[int], size: int) -> list[Constraint]:
    """Say that numbers at these places never fall, in this order.

    >>> constrained([4, 2], ordered([0, 1], 2)).round(6).tolist()
    [3.0, 3.0]
    """
    eye = np.eye(size)
    return [at_most(eye[low] - eye[high], 0) for low, high in itertools.pairwise(places)]


def constrained(values: ArrayLike, constraints: Sequence[Constraint], *, variances: ArrayLike | None = None) -> Floats:
    """Return the nearest point that keeps all constraints, by least squares weighted with the inverse variances.

    Equations are solved for; what remains, the point of least length that keeps some inequalities, is turned into least
    squares without negative numbers (Lawson & Hanson 1974, "Solving least squares problems", chapter 23). Constraints
    that contradict each other are refused, and the error names a smallest set of them that does.

    >>> constrained([7, 1], [equal([1, 1], 10), at_most([1, 0], 6)]).round(6).tolist()
    [6.0, 4.0]
    >>> constrained([7, 1], [equal([1, 1], 10), at_most([1, 1], 6), at_most([1, 0], 6)])
    Traceback (most recent call last):
    ...
    discreet.errors.ParameterError: no numbers keep all of equal([1, 1], 10), at_most([1, 1], 6). Leave one of them out.
    """
    noisy = np.asarray(values, dtype=np.float64)
    if not noisy.size or not np.isfinite(noisy).all():
        msg = "values must be finite numbers, at least one."
        raise ParameterError(msg)
    listed = list(constraints)
    if wrong := [item for item in listed if len(item.coefficients) != noisy.size]:
        msg = f"{wrong[0].name} has {len(wrong[0].coefficients)} coefficients, for {noisy.size} numbers."
        raise ParameterError(msg)
    spread = _spread(noisy, variances)
    rows = np.array([item.coefficients for item in listed]).reshape(len(listed), noisy.size)
    bounds = np.array([item.bound for item in listed])
    equations = np.array([item.is_equation for item in listed], dtype=bool)
    flat = noisy.ravel()
    # In units of the noise, from the noisy point: the shortest move z with rows * spread * z = or <= rest.
    scaled, rest = rows * spread, bounds - rows @ flat
    move = _shortest(scaled[equations], rest[equations], scaled[~equations], rest[~equations])
    if move is None:
        names = ", ".join(item.name for item in _contradicting(listed))
        msg = f"no numbers keep all of {names}. Leave one of them out."
        raise ParameterError(msg)
    return (flat + spread * move).reshape(noisy.shape)


def _spread(noisy: Floats, variances: ArrayLike | None) -> Floats:
    if variances is None:
        return np.ones(noisy.size)
    spread = np.sqrt(np.broadcast_to(np.asarray(variances, dtype=np.float64), noisy.shape)).ravel()
    if not (np.isfinite(spread) & (spread > 0)).all():
        msg = f"variances is {shown(variances)}; each must be above 0 and finite. What is known exactly is an equation."
        raise ParameterError(msg)
    return spread


def _shortest(equations: Floats, values: Floats, rows: Floats, bounds: Floats) -> Floats | None:
    """Return the shortest z with equations z = values and rows z <= bounds; None if there is none."""
    from scipy import linalg
    from scipy.optimize import nnls

    size = equations.shape[1]
    start: Floats = np.zeros(size)
    free: Floats = np.eye(size)
    if len(equations):
        start = np.asarray(np.linalg.lstsq(equations, values, rcond=None)[0], dtype=np.float64)
        if not np.allclose(equations @ start, values, rtol=_CLOSE, atol=_CLOSE * (1 + np.abs(values).max())):
            return None
        free = linalg.null_space(equations)
    left = bounds - rows @ start
    if (left >= 0).all():
        return start
    if not free.size:
        return start if (left >= -_CLOSE * (1 + np.abs(bounds).max())).all() else None
    # Least length with G u >= h, G = -rows free, h = -left; scaled rows say the same.
    inside = rows @ free
    length = np.maximum(np.linalg.norm(inside, axis=1), np.abs(left))
    length[length == 0] = 1.0
    stacked = -np.vstack([(inside / length[:, None]).T, left / length])
    target = np.zeros(len(stacked))
    target[-1] = 1.0
    dual, residual = nnls(stacked, target)
    if residual < _CLOSE:
        return None
    gap = stacked @ dual - target
    move: Floats = start + free @ (-gap[:-1] / gap[-1])
    return move


def _contradicting(constraints: list[Constraint]) -> list[Constraint]:
    """Drop one constraint after another that is not needed for the contradiction."""
    kept = list(constraints)
    for item in constraints:
        fewer = [other for other in kept if other is not item]
        if not _possible(fewer):
            kept = fewer
    return kept


def _possible(constraints: list[Constraint]) -> bool:
    from scipy.optimize import linprog

    if not constraints:
        return True
    size = len(constraints[0].coefficients)
    equations = [item for item in constraints if item.is_equation]
    others = [item for item in constraints if not item.is_equation]
    solution = linprog(
        np.zeros(size),
        A_eq=np.array([item.coefficients for item in equations]) if equations else None,
        b_eq=[item.bound for item in equations] or None,
        A_ub=np.array([item.coefficients for item in others]) if others else None,
        b_ub=[item.bound for item in others] or None,
        bounds=(None, None),
    )
    return bool(solution.status != 2)


def projection_error(
    deviations: ArrayLike, equations: Sequence[Constraint] = (), *, inequalities: bool = False
) -> tuple[Floats | None, str]:
    """Return the deviation of each number after equations were imposed, or None and why it cannot be stated.

    For equations alone the projection is linear: the covariance V becomes V - V A' (A V A')^-1 A V, never more than
    before. With inequalities the error depends on where the truth lies among them, which is not known: it is no larger
    in all, but no smaller number can be stated for a single one.

    >>> projection_error([1.0, 1.0], [equal([1, 1], 10)])[0].round(4).tolist()
    [0.7071, 0.7071]
    >>> projection_error([1.0, 1.0], inequalities=True)[0] is None
    True
    """
    spread = np.atleast_1d(np.asarray(deviations, dtype=np.float64))
    if inequalities or any(not item.is_equation for item in equations):
        return None, (
            "inequalities bind or not depending on the truth, so the error of one number cannot be stated; in all, "
            "the squared error is at most what it was before"
        )
    if not equations:
        return spread, ""
    rows = np.array([item.coefficients for item in equations]) * spread
    basis = np.linalg.svd(rows, full_matrices=False)
    used = basis.Vh[_CLOSE * basis.S.max(initial=0.0) < basis.S]
    return spread * np.sqrt(np.maximum(1 - (used**2).sum(axis=0), 0.0)), ""
