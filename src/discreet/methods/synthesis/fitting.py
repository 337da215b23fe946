"""The distribution of most entropy that fits noisy marginals as closely as their noise lets one say."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from discreet.errors import ParameterError
from discreet.methods.synthesis.graphical import GraphicalModel, calibrated, potentials_of, project
from discreet.methods.synthesis.trees import JunctionTree, junction_tree

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from discreet.methods.synthesis.trees import Clique

    Floats = NDArray[np.float64]

__all__ = ["Fitted", "Measured", "bend", "combined", "fit", "rows_of"]

STRENGTH = 1 / 500
_STEPS = 100
_PASSES, _LARGEST = 50, 50.0


@dataclass(frozen=True, eq=False)
class Measured:
    """Counts of the combinations of some columns, with noise of this standard deviation on each.

    >>> Measured((0,), np.array([3.0, 1.0]), 2.0).columns
    (0,)
    """

    columns: Clique
    counts: Floats
    sigma: float


@dataclass(frozen=True, eq=False)
class Fitted:
    """A model, the number of rows, and the functions of columns that it multiplies: where the next fit begins.

    >>> Fitted.__annotations__["rows"]
    'float'
    """

    model: GraphicalModel
    rows: float
    factors: Mapping[Clique, Floats]
    misfit: float
    """The squared distance to the measured counts, in standard deviations, for each of them."""


def combined(measured: Sequence[Measured]) -> list[Measured]:
    """Join measurements of the same columns, by inverse variances.

    >>> twice = [Measured((0,), np.array([2.0]), 1.0), Measured((0,), np.array([4.0]), 1.0)]
    >>> combined(twice)[0].counts.tolist()
    [3.0]
    """
    joined: dict[Clique, tuple[Floats, float]] = {}
    for one in measured:
        weight = one.sigma**-2
        before, total = joined.get(one.columns, (np.zeros_like(one.counts), 0.0))
        joined[one.columns] = before + weight * one.counts, total + weight
    return [Measured(columns, part / weight, weight**-0.5) for columns, (part, weight) in joined.items()]


def rows_of(measured: Sequence[Measured]) -> float:
    """Estimate the number of rows: every marginal adds up to it, with noise; the mean by inverse variances, 1 at least.

    >>> rows_of([Measured((0,), np.array([60.0, 40.0]), 1.0)])
    100.0
    """
    weights = np.array([1 / (one.sigma**2 * one.counts.size) for one in measured])
    totals = np.array([one.counts.sum() for one in measured])
    return max(float(weights @ totals / weights.sum()), 1.0)


def fit(
    sizes: Sequence[int],
    measured: Sequence[Measured],
    *,
    memory: int,
    start: Fitted | None = None,
    zeros: Mapping[Clique, Floats] | None = None,
) -> Fitted:
    r"""Fit noisy marginals by the distribution of most entropy.

    With y_r the counts that were measured of the marginal r, sigma_r their noise and N rows, the distribution p
    minimizes $s N KL(p || uniform) + \sum_r |N p_r - y_r|^2 / (2 \sigma_r^2)$. Its dual has no constraints: p is
    proportional to $\exp(\sum_r \theta_r)$, and theta minimizes
    $N \log Z(\theta) - \sum_r <\theta_r, y_r> + \frac{s}{2} \sum_r \sigma_r^2 |\theta_r|^2$, whose gradient needs
    marginals alone. (McKenna, Sheldon & Miklau 2019, arXiv:1901.09136, fit the same family by mirror descent.)

    How far? The entropy is a prior that counts like s N rows, whatever the noise is: as the noise falls, the second
    term grows by itself, and no constant has to be told the noise level. `benchmarks.synthesis` tries others than
    s = 1/500.

    >>> half = Measured((0,), np.array([50.0, 50.0]), 1.0)
    >>> fitted = fit([2, 2], [half, Measured((1,), np.array([90.0, 10.0]), 1.0)], memory=1 << 20)
    >>> fitted.model.marginal((0, 1)).round(2).tolist()
    [[0.45, 0.05], [0.45, 0.05]]
    """
    if not measured:
        msg = "nothing was measured; a model is fitted to at least one marginal."
        raise ParameterError(msg)
    once = combined(measured)
    tree = junction_tree(sizes, [*(one.columns for one in once), *(zeros or {})])
    tree.require(memory)
    dual = _Dual(tree, once, rows_of(once), dict(zeros or {}))
    return dual.fitted(dual.solved(dual.first(start.factors if start else {})))


def bend(sizes: Sequence[int], measured: Sequence[Measured], *, memory: int, start: Fitted | None = None) -> Fitted:
    """Bend a model towards noisy marginals by multiplicative weights: each cell of it times e^(half its error's share).

    The step of MWEM, a marginal at a time, over all of them and several times (Hardt, Ligett & McSherry 2012,
    arXiv:1012.4763). Products of cells' factors are the same family of models as that of `fit`; this takes small steps
    in it, and stops early.

    >>> bend([2], [Measured((0,), np.array([90.0, 10.0]), 1.0)], memory=1 << 20).model.marginal((0,)).round(1).tolist()
    [0.9, 0.1]
    """
    once = combined(measured)
    tree = junction_tree(sizes, [one.columns for one in once])
    tree.require(memory)
    dual = _Dual(tree, once, rows_of(once), {})
    phi = dual.first(start.factors if start else {})
    for _ in range(_PASSES):
        for low, high in zip(dual.ends, dual.ends[1:], strict=False):
            expected = dual.expected(dual.tables(phi)[0])[low:high]
            share = (dual.counts[low:high] - expected) / (2 * dual.rows)
            phi[low:high] += np.clip(share, -_LARGEST, _LARGEST) * dual.scale[low:high]
    return dual.fitted(phi)


class _Dual:
    """The dual problem, in multiples of each noise: theta_r = phi_r / sigma_r."""

    def __init__(self, tree: JunctionTree, measured: list[Measured], rows: float, zeros: dict[Clique, Floats]) -> None:
        self.tree, self.measured, self.rows, self.zeros = tree, measured, rows, zeros
        self.ends = np.cumsum([0, *(one.counts.size for one in measured)])
        self.scale = np.repeat([one.sigma for one in measured], np.diff(self.ends))
        self.counts = np.concatenate([one.counts.ravel() for one in measured])

    def first(self, factors: Mapping[Clique, Floats]) -> Floats:
        """Begin where another fit ended."""
        parts = [factors.get(one.columns, np.zeros_like(one.counts)).ravel() for one in self.measured]
        begun: Floats = np.concatenate(parts) * self.scale
        return begun

    def factors(self, phi: Floats) -> dict[Clique, Floats]:
        """The functions of columns that the model multiplies, as logarithms."""
        theta = phi / self.scale
        return {
            one.columns: theta[low:high].reshape(one.counts.shape)
            for one, low, high in zip(self.measured, self.ends, self.ends[1:], strict=False)
        }

    def tables(self, phi: Floats) -> tuple[list[Floats], float]:
        """The marginals of the cliques, and the logarithm of what all weights sum to."""
        potentials = potentials_of(self.tree, self.factors(phi))
        for place, extra in enumerate(potentials_of(self.tree, self.zeros)):
            potentials[place] += extra
        logs, total = calibrated(self.tree, potentials)
        return [np.exp(one) for one in logs], total

    def expected(self, tables: list[Floats]) -> Floats:
        """What the model says that the measured counts are."""
        parts = []
        for one in self.measured:
            home = self.tree.home(one.columns)
            assert home is not None  # noqa: S101 - the tree was made for these sets
            parts.append(project(tables[home], self.tree.cliques[home], one.columns).ravel())
        return self.rows * np.concatenate(parts)

    def value(self, phi: Floats) -> tuple[float, Floats]:
        """The dual and its gradient, for each row."""
        tables, total = self.tables(phi)
        value = self.rows * total - float(self.counts @ (phi / self.scale)) + STRENGTH / 2 * float(phi @ phi)
        slope = (self.expected(tables) - self.counts) / self.scale + STRENGTH * phi
        return value / self.rows, slope / self.rows

    def solved(self, phi: Floats) -> Floats:
        """Minimize it by L-BFGS, each coordinate in units of its curvature: N p / sigma^2 + s, p as it was measured."""
        from scipy.optimize import minimize

        unit = 1 / np.sqrt(np.maximum(self.counts, self.scale) / self.scale**2 + STRENGTH)

        def scaled(psi: Floats) -> tuple[float, Floats]:
            value, slope = self.value(psi * unit)
            return value, slope * unit

        options = {"maxiter": _STEPS, "maxcor": 10, "ftol": 1e-8, "gtol": 1e-7}
        found: Any = minimize(scaled, phi / unit, jac=True, method="L-BFGS-B", options=options)  # type: ignore[call-overload]  # a value with its slope
        solution: Floats = found.x * unit
        return solution

    def fitted(self, phi: Floats) -> Fitted:
        """The model, and how far it is from what was measured."""
        tables, _ = self.tables(phi)
        off = (self.expected(tables) - self.counts) / self.scale
        misfit = float(off @ off) / off.size
        return Fitted(GraphicalModel(self.tree, tables), self.rows, self.factors(phi), misfit)
