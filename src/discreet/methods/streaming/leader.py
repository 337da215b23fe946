"""Decisions that follow a stream: the approximate leader, and DP-FTRL, its modern form."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from discreet.errors import ParameterError
from discreet.exact import shown
from discreet.mechanisms.adding.grids import Norm
from discreet.mechanisms.inputs.parameters import assign, miss, read_positive
from discreet.mechanisms.promise import register
from discreet.mechanisms.release import Release
from discreet.methods.streaming.continual_sum import ContinualSum
from discreet.methods.streaming.prefix_sum import PrefixSum
from discreet.noise import SYSTEM

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from typing import Self, SupportsIndex

    from numpy.typing import ArrayLike, NDArray

    from discreet.exact import Number
    from discreet.noise import BitSource
    from discreet.privacy import ZCDP, Curve, Pure
    from discreet.privacy.relations import Relation

    Vector = NDArray[np.float64]

__all__ = ["FollowTheLeader", "Leader", "ball", "regret"]


def ball(point: Vector, radius: float) -> Vector:
    """Project on the L2 ball around 0.

    >>> ball(np.array([3.0, 4.0]), 2.5).tolist()
    [1.5, 2.0]
    """
    length = float(np.linalg.norm(point))
    return point if length <= radius else point * (radius / length)


@register
@dataclass(frozen=True, slots=True, init=False)
class Leader:
    r"""Decisions from noisy sums of gradients: every decision is computed from sums that were released.

    With `convexity` H, private follow-the-approximate-leader (Guha Thakurta & Smith 2013): the next decision minimizes
    $\langle \hat v_t, w \rangle + \frac H2 \sum_{s \le t} \|w - w_s\|^2$ over the set, which is the projection of
    $\bar w_t - \hat v_t / (Ht)$, $\bar w_t$ the mean of the decisions so far. Without it DP-FTRL (Kairouz, McMahan,
    Song, Thakkar, Thakurta & Xu 2021, arXiv:2103.00039): the projection of $w_1 - \hat v_t / \lambda$, $\lambda$ =
    `rate`, by default the one with the least bound on regret.

    Gradients are clipped to `lipschitz` in L2: who zeroes one moves the sums by that, who changes one by twice as much.

    >>> Leader(ContinualSum(100, 1, rho=1, dimension=2), radius=1).promise
    'ρ = 1'
    """

    kind: ClassVar[str] = "approximate_leader"
    accuracy: ClassVar[str] = "on average over the noise: regret_bound()"
    no_error_because: ClassVar[str] = "a decision has no right value; regret_bound() says what all of them lose."

    sums: ContinualSum
    radius: Fraction
    convexity: Fraction | None
    rate: Fraction | None

    def __init__(
        self,
        sums: ContinualSum,
        *,
        radius: Number = 1,
        convexity: Number | None = None,
        rate: Number | None = None,
    ) -> None:
        if sums.horizon is None:
            msg = "horizon is None; a leader needs to know how many decisions there are."
            raise ParameterError(msg)
        if convexity is not None and rate is not None:
            msg = "give convexity (follow the approximate leader) or rate (DP-FTRL), not both."
            raise ParameterError(msg)
        assign(self, sums=sums, radius=read_positive(radius, "radius", zero="there would be one decision"))
        for name, given in (("convexity", convexity), ("rate", rate)):
            assign(
                self, **{name: None if given is None else read_positive(given, name, zero="nothing would be learned")}
            )
        if self.convexity is None and self.rate is None:
            assign(self, rate=Fraction(_best_rate(self)))

    @property
    def neighbors(self) -> Relation:
        """Whom it protects."""
        return self.sums.neighbors

    @property
    def claim(self) -> Pure | ZCDP:
        """That of the sums."""
        return self.sums.claim

    @property
    def privacy(self) -> Curve:
        """That of the sums."""
        return self.sums.privacy

    @property
    def promise(self) -> str:
        """The claim in words."""
        return self.sums.promise

    @property
    def argument(self) -> tuple[str, ...]:
        """That of the sums; decisions are computed from them."""
        form = "arXiv:2103.00039" if self.convexity is None else "Guha Thakurta & Smith 2013, NeurIPS"
        return (*self.sums.argument, f"Decisions are computed from noisy sums of clipped gradients. ({form})")

    @property
    def assumed(self) -> tuple[str, ...]:
        """That of the sums."""
        return self.sums.assumed

    def error_of(self, value: Vector, details: Mapping[str, object], confidence: float = 0.95) -> None:
        """No ± exists."""
        del value, details
        miss(confidence)

    def regret_bound(self) -> float:
        r"""Bound the expected regret against the best fixed decision in the ball, for convex (H-convex) costs.

        DP-FTRL: $\frac\lambda2 R^2 + \frac{T L^2}{2\lambda} + \frac L\lambda \sum_t E\|b_t\|$: that of the leader on
        exact sums (McMahan 2017, arXiv:1403.3465, Theorem 1), and how far noise b moves a decision, times L.
        Approximate leader: $2RL + \sum_{t \ge 2} L \left(\frac{E\|b_{t-1}\|}{H(t-1)} + \frac{L + 2HR}{Ht}\right)$:
        being the leader costs nothing, and one step moves it by the second term.

        >>> Leader(ContinualSum(1000, 1, rho=1, dimension=2), radius=1).regret_bound() < 200
        True
        """
        length, radius, noise = float(self.sums.sensitivity), float(self.radius), _lengths(self.sums)
        steps = len(noise)
        if self.convexity is None:
            rate = float(self.rate or 1)
            return rate * radius**2 / 2 + (steps * length**2 / 2 + length * float(noise[:-1].sum())) / rate
        convex, places = float(self.convexity), np.arange(2, steps + 1)
        moved = noise[:-1] / (convex * (places - 1)) + (length + 2 * convex * radius) / (convex * places)
        return 2 * radius * length + length * float(moved.sum())

    def after(self, total: Vector, step: int, mean: Vector) -> Vector:
        """Return the decision before projection, from a noisy sum of gradients and the mean of decisions so far."""
        if self.convexity is not None:
            return mean - total / (float(self.convexity) * step)
        return -total / float(self.rate or 1)

    def record(self) -> dict[str, Any]:
        """Return the promise as a JSON object."""
        numbers = {name: getattr(self, name) for name in ("convexity", "rate")}
        return {
            "kind": self.kind,
            "sums": self.sums.record(),
            "radius": str(self.radius),
            **{name: None if value is None else str(value) for name, value in numbers.items()},
        }

    @classmethod
    def read(cls, record: Mapping[str, Any]) -> Self:
        """Read what `record` wrote."""
        given = {name: value for name, value in record.items() if name not in {"kind", "sums"}}
        return cls(ContinualSum.read(record["sums"]), **given)


def _lengths(sums: ContinualSum) -> Vector:
    """Bound the expected length of the noise in each sum: the root of the expected square."""
    scale = float(sums.scale) / 2.0**sums.factorized.lattice * float(sums.grid.step)
    each = (1.0 if sums.rho is not None else 2.0) * scale**2 * sums.factorized.variances()
    return np.sqrt(sums.dimension * each)


def _best_rate(leader: Leader) -> float:
    """Return the rate that makes the bound least: a x + b / x has its minimum at sqrt(b / a)."""
    length, noise = float(leader.sums.sensitivity), _lengths(leader.sums)
    spent = len(noise) * length**2 / 2 + length * float(noise[:-1].sum())
    return math.sqrt(spent / (float(leader.radius) ** 2 / 2))


class FollowTheLeader:
    """Decide, see the gradient of the cost there, decide again: privately, whatever the costs.

    `lipschitz` bounds gradients in L2 (longer ones are clipped). The set of decisions is the ball of `radius` around 0;
    `project` replaces it by another one, and is called with public values alone. Everything else is as in `PrefixSum`.

    >>> learner = FollowTheLeader(200, dimension=2, lipschitz=1, rho=10)
    >>> for _ in range(200):
    ...     told = learner.feed([1.0, 0.0])
    >>> told.value.shape, bool(learner.decision[0] < -0.5), told.details["step"]
    ((2,), True, 200)
    """

    def __init__(  # noqa: PLR0913  each is a public fact of the stream
        self,
        horizon: SupportsIndex,
        *,
        dimension: SupportsIndex,
        lipschitz: Number,
        radius: Number = 1,
        convexity: Number | None = None,
        rate: Number | None = None,
        project: Callable[[Vector], Vector] | None = None,
        bits: BitSource = SYSTEM,
        **how: Any,  # noqa: ANN401  as ContinualSum has it
    ) -> None:
        if project is not None and not callable(project):
            msg = f"project is {shown(project)}; it must be a function of a vector."
            raise ParameterError(msg)
        how = {"norm": Norm.L2, **how}
        self._sums = PrefixSum(horizon, lipschitz, dimension=dimension, bits=bits, **how)
        self.promise = Leader(self._sums.promise, radius=radius, convexity=convexity, rate=rate)
        self._project = project or (lambda point: ball(point, float(self.promise.radius)))
        self.decision: Vector = self._project(np.zeros(self.promise.sums.dimension))
        self._decided = self.decision.copy()

    @property
    def step(self) -> int:
        """How many gradients were fed."""
        return self._sums.step

    def feed(self, gradient: ArrayLike) -> Release[Vector]:
        """Take the gradient of the cost at the decision, and release the next one."""
        given: Any = np.squeeze(np.asarray(gradient)) if self.promise.sums.dimension == 1 else gradient
        total = np.atleast_1d(np.asarray(self._sums.add(given).value, dtype=np.float64))
        step = self._sums.step
        point = self.promise.after(total, step, self._decided / step)
        self.decision = np.asarray(self._project(point), dtype=np.float64)
        self._decided = self._decided + self.decision
        return Release(self.decision.copy(), self.promise, MappingProxyType({"step": step}))

    def __repr__(self) -> str:
        return f"FollowTheLeader({self.promise.promise}, step {self.step} of {self.promise.sums.longest})"


def regret(
    costs: Sequence[Callable[[Vector], float]],
    decisions: Sequence[Vector],
    *,
    best: Vector | None = None,
    radius: float = 1,
) -> float:
    """Return what decisions lost against the best fixed one: exact, and as private as the costs, for who holds them.

    Without `best` it is searched for in the ball of this radius.

    >>> costs = [lambda w: float((w[0] - 0.5) ** 2)] * 10
    >>> round(regret(costs, [np.array([0.0])] * 10), 6)
    2.5
    """
    if len(costs) != len(decisions) or not costs:
        msg = f"there are {len(costs)} costs and {len(decisions)} decisions; give one decision for each cost."
        raise ParameterError(msg)
    paid = math.fsum(cost(decision) for cost, decision in zip(costs, decisions, strict=True))

    def total(point: Vector) -> float:
        return math.fsum(cost(ball(point, radius)) for cost in costs)

    if best is None:
        from scipy.optimize import minimize

        start = np.mean(np.asarray(decisions, dtype=np.float64), axis=0)
        found = minimize(total, start, method="Nelder-Mead", options={"maxiter": 400 * start.size, "fatol": 1e-9})
        best = ball(np.asarray(found.x, dtype=np.float64), radius)
    return paid - math.fsum(cost(best) for cost in costs)
