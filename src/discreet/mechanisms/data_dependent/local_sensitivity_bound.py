"""A number with noise for a private bound on its local sensitivity that holds with high probability."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, ClassVar

from discreet.errors import ParameterError
from discreet.exact import Grid, exp_lower, float_up, log_upper, rational, shown
from discreet.mechanisms.adding.reach import rounded_laplace_reach
from discreet.mechanisms.data_dependent.propose_test_release import read_split
from discreet.mechanisms.inputs.parameters import assign, miss, read_grid, read_positive
from discreet.mechanisms.inputs.values import read_pair
from discreet.mechanisms.release import Release
from discreet.mechanisms.sensitivity.smooth_mechanism import read_private
from discreet.mechanisms.sensitivity.stability import Tested, read_delta
from discreet.mechanisms.words import movers
from discreet.noise import SYSTEM, BitSource, discrete_laplace, families, rounded
from discreet.privacy import NeighborRelation
from discreet.privacy.relations import require_relation

if TYPE_CHECKING:
    from collections.abc import Mapping

    from discreet.exact import Number
    from discreet.privacy.relations import Relation

__all__ = ["LocalSensitivityBound"]

_MOST = 1 << 40  # steps that a local sensitivity may have; beyond, it is clamped


@dataclass(frozen=True, slots=True, init=False)
class LocalSensitivityBound(Tested["tuple[Number, Number]", float]):
    r"""Release a number with Laplace noise for a bound on its local sensitivity that is itself released.

    Privacy. Let L(x) bound the local sensitivity at x and change by at most `steepness` per unit. Counted up in steps
    of the grid, it gets discrete Laplace noise of scale steepness / bound_epsilon and a lift of t steps such that
    $\Pr[Z < -t] \le \delta$; so the released bound is below L(x) with a chance of at most delta. Where it is not,
    $|q(x) - q(x')| \le L(x)$ is at most the bound, and Laplace noise of scale bound / value_epsilon on top composes:
    (bound_epsilon + value_epsilon, delta). The sum is rounded once to the grid of the value.

    Being released, the bound tells how large the noise was: the ± of a release is honest. Triangles of a graph: the
    largest number of common neighbors of two nodes is the local sensitivity for edges and has steepness 1, while the
    largest degree is only above it.

    `release` takes the pair (value, local sensitivity). Values are clamped to 2**39 steps from 0, the local sensitivity
    to 2**40 steps, which still bounds it then.

    Kifer, Smith & Thakurta 2012 use the idea; the lemma as in Wang 2018 (arXiv:1803.02596) and Vadhan 2017.

    >>> made = LocalSensitivityBound(steepness=1, epsilon=2, delta="1e-6")
    >>> made.lift, made.promise
    (13, 'ε = 2, δ = 1e-06')
    >>> answer = made.release((1000, 5))
    >>> answer.details["bound"] > 0, answer.error(0.95) > 0
    (True, True)
    """

    kind: ClassVar[str] = "local_sensitivity_bound"
    guarantee: ClassVar[str] = (
        "A private bound that is below the local sensitivity with a chance of at most delta, then the value with "
        "Laplace noise of scale bound / epsilon, are together (bound epsilon + value epsilon, delta)-differentially "
        "private."
    )
    accuracy: ClassVar[str] = "released bound / value epsilon * ln(1 / (1 - confidence))"
    source: ClassVar[str] = "Wang 2018, arXiv:1803.02596; Vadhan 2017, The Complexity of Differential Privacy"
    no_error_because: ClassVar[str] = (
        "the noise is in proportion to a bound that is private until it is released; ask the release."
    )

    steepness: Fraction
    epsilon: Fraction
    delta: Fraction
    bound_share: Fraction
    grid: Grid
    neighbors: Relation

    def __init__(  # noqa: PLR0913  each is a public fact of the release
        self,
        steepness: Number,
        *,
        epsilon: Number,
        delta: Number,
        bound_share: Number = Fraction(1, 2),
        grid: Grid | Number | None = None,
        neighbors: Relation = NeighborRelation.ADD_REMOVE,
    ) -> None:
        slope = read_positive(steepness, "steepness", zero="a constant bound is a global sensitivity: use Laplace")
        points = Grid.below(slope, bits=0 if slope.denominator == 1 else 10) if grid is None else read_grid(grid)
        if slope / points.step > _MOST:
            msg = f"grid is {shown(points.step)}; steepness may be at most 2**40 steps of it."
            raise ParameterError(msg)
        assign(
            self,
            steepness=slope,
            grid=points,
            delta=read_delta(delta),
            bound_share=read_split(bound_share, "bound_share"),
        )
        assign(self, epsilon=read_positive(epsilon, "epsilon", zero="no finite noise reaches it"))
        assign(self, neighbors=require_relation(neighbors))

    @property
    def scale(self) -> Fraction:
        """The scale of the noise on the bound, in steps: rounding up moves no two bounds apart by a step more."""
        return math.ceil(self.steepness / self.grid.step) / (self.epsilon * self.bound_share)

    @property
    def lift(self) -> int:
        """How many steps are added so that the noise does not bring the bound below, but with a chance of delta.

        Pr[Z < -t] = r**(t + 1) / (1 + r) with r = exp(-1 / scale).
        """
        needed = log_upper(1 / (self.delta * (1 + exp_lower(-1 / self.scale)))) * self.scale
        return max(0, math.ceil(needed) - 1)

    @property
    def assumed(self) -> tuple[str, ...]:
        """The local sensitivity and its steepness."""
        return (
            "the local sensitivity is at least the value's move to any neighbor.",
            f"{movers(self.neighbors)} changes the local sensitivity by at most {self.steepness}.",
        )

    def error_of(self, value: float, details: Mapping[str, object], confidence: float = 0.95) -> float | None:
        """Return the error of a release, from the bound that was released with it."""
        del value
        bound = rational(details["bound"], name="bound")  # type: ignore[arg-type]
        ratio = bound / (self.epsilon * (1 - self.bound_share)) / self.grid.step
        return float_up(
            (rounded_laplace_reach(ratio, miss(confidence)) + 1) * self.grid.step
        )  # half a step more: the value lies off the grid

    def release(self, value: tuple[Number, Number], *, bits: BitSource = SYSTEM) -> Release[float]:
        """Return the value with noise, and the bound among the details; `value` is (value, local sensitivity)."""
        number, local = read_pair(value, "value, local sensitivity")
        most = _MOST * self.grid.step
        steps = math.ceil(read_private(local, Fraction(0), most, missing=most) / self.grid.step)
        bound = max(1, steps + discrete_laplace(self.scale, bits=bits) + self.lift)
        exact = read_private(number, -most / 2, most / 2, missing=Fraction(0))
        spread = bound * self.grid.step / (self.epsilon * (1 - self.bound_share))
        noisy = rounded(families.Laplace(), exact, spread, self.grid, bits)
        return Release(self.grid.value(noisy), self, {"bound": self.grid.value(bound)})
