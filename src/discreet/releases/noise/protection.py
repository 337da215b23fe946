"""What a price buys: the noise of each block of a recipe, and what it costs in the budget's own currency."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING

from discreet.errors import ParameterError
from discreet.exact import rational, shown, sqrt_lower, sqrt_upper
from discreet.exact.rational import as_text
from discreet.mechanisms.choosing.rank_choice import RankChoice, laplace_rho, pure_rho
from discreet.mechanisms.inputs.parameters import miss
from discreet.mechanisms.numbers.discrete_laplace import DiscreteLaplace
from discreet.mechanisms.numbers.gaussian import Gaussian
from discreet.mechanisms.thresholds.partition_selection import PartitionSelection
from discreet.plans.refusals import refuse
from discreet.privacy import ZCDP, Approximate, Pure, gaussian_sigma, pure
from discreet.privacy.costs import Cost, cost_of, used_of
from discreet.releases.measures.measure import NoisyMeasure

if TYPE_CHECKING:
    from discreet.exact import Number
    from discreet.mechanisms.adding.sums import Noise
    from discreet.plans.nodes.aggregate import Sensitivity
    from discreet.privacy import Curve
    from discreet.privacy.costs import Amount
    from discreet.releases.noise.recipe import Recipe
    from discreet.tables import Policy

__all__ = ["Price", "Protection", "confident", "rough_sigma", "shares"]

_LARGEST = 10**15


@dataclass(frozen=True, slots=True)
class Price:
    """What a whole question may cost: epsilon with a delta that may be used, or rho.

    With `narrow`, that part of it first buys bounds: the quantiles `cut` and 1 - `cut` of everything that is summed.

    >>> from discreet.tables import Policy
    >>> price = Price.read(Policy([], epsilon=3, delta=1e-6), epsilon=1)
    >>> price.epsilon, price.rho, price.delta
    (Fraction(1, 1), None, Fraction(1, 1000000000))
    """

    epsilon: Fraction | None
    rho: Fraction | None
    delta: Fraction
    narrow: Fraction | None = None
    cut: Fraction = Fraction(1, 20)

    @staticmethod
    def read(
        policy: Policy, *, epsilon: Number | None = None, rho: Number | None = None, delta: Number | None = None
    ) -> Price:
        """Check a price against the policy's filter; delta is the policy's `release_delta` unless it is given."""
        if (epsilon is None) == (rho is None):
            msg = "give exactly one of epsilon and rho: the price of the whole question."
            raise ParameterError(msg)
        name, given = ("epsilon", epsilon) if epsilon is not None else ("rho", rho)
        amount = rational(given if given is not None else 0, name=name)
        if amount <= 0:
            msg = f"{name} is {shown(given)}; it must be above 0: no finite noise reaches it."
            raise ParameterError(msg)
        if amount > _LARGEST:
            msg = f"{name} is {shown(given)}; it must be at most 10**15: beyond, it promises nothing."
            raise ParameterError(msg)
        if name == "rho" and policy.filter not in {"zcdp", "best"}:
            msg = (
                f"rho is {shown(rho)}, but the budget is kept in the currency {policy.filter!r}. Give epsilon instead."
            )
            raise ParameterError(msg)
        chance = policy.release_delta if delta is None else rational(delta, name="delta")
        if not 0 <= chance < 1:
            msg = f"delta is {shown(delta)}; it must be at least 0 and below 1."
            raise ParameterError(msg)
        if policy.filter == "pure" and chance:
            msg = f"delta is {shown(delta)}, but the budget is pure: it has no delta to spend. Leave delta out."
            raise ParameterError(msg)
        return Price(amount, None, chance) if name == "epsilon" else Price(None, amount, chance)

    def part(self, share: Fraction, delta: Fraction) -> Price:
        """A share of the price, with its own delta."""
        return Price(
            None if self.epsilon is None else self.epsilon * share,
            None if self.rho is None else self.rho * share,
            delta,
        )


def confident(confidence: float) -> float:
    """Read the probability with which a ± holds, or refuse it.

    >>> confident("0.95")
    0.95
    """
    return float(1 - miss(confidence))


_MOST_KEYS = 1 << 20
_STEPS = 60
_NEARLY = 1.1  # variances that differ by no more than this factor count as alike
_PARTS = 1024  # shares are whole multiples of about 1/1024, so that scales stay short fractions
_ROUGH = (1e-3, 30.0)  # epsilons for which plain floats tell about Gaussian noise


@dataclass(frozen=True)
class Protection:
    """The noise of each block, and the selection of groups where they are not known; all from public facts.

    Blocks share the price as `shares` says: block i has the share x_i, and all shares add up to 1.
    Laplace noise and choices get epsilon x_i, so the scale l1_i / (epsilon x_i) (basic composition, the epsilons add).
    Gaussian blocks share what the choices leave, epsilon X with X the sum of their x_i, and all of the delta: sigma_i =
    l2_i sigma sqrt(X / x_i), where sigma is that of a sensitivity of 1 for (epsilon X, delta). Then the sum of (l2_i /
    sigma_i)^2 is 1 / sigma^2, and independent Gaussians with these moves are like one with a move of 1 at sigma,
    exactly. A price in rho is shared likewise: rhos add.

    Both families keep the promise. The one with the smaller variances (their geometric mean) is taken; with the filter
    `best`, of two that differ by at most a factor of 1.1 in variance, the one whose cost is the smaller part of the
    budget that the ledger was created with, by the certificate under which it is least. The rule knows nothing of what
    was spent, nor of later budgets, so that a stored answer's noise is known for ever. The factor is small: Gaussian
    noise of 1.16 times the variance still has the ± (95 %) of Laplace noise.

    Where groups are found in the data, their selection takes a share as well. It gets all of the price's delta, or half
    of it where Gaussian noise needs the other half; epsilons and deltas of the two add up to the price. Given the
    groups that were selected, the noisy numbers of just these are released: adaptive composition.

    >>> from discreet.plans import plan_sql
    >>> from discreet.releases.noise.protection import Price
    >>> from discreet.releases.noise.recipe import Recipe
    >>> from discreet.tables import Policy, Table
    >>> policy = Policy([Table("people", row_is_unit=True)], epsilon=1)
    >>> recipe = Recipe.of(plan_sql(policy, "SELECT COUNT(*) FROM people"))
    >>> protection = Protection.of(recipe, Price.read(policy, epsilon="0.5"))
    >>> protection.promise, protection.cost, protection.noises[0].scale
    ('ε = 0.5', Pure(epsilon=0.5), Fraction(2, 1))
    """

    price: Price
    noises: tuple[Noise | RankChoice, ...]
    selection: PartitionSelection | None
    policy: Policy
    """By whose filter it is charged."""

    @staticmethod
    def of(recipe: Recipe, price: Price) -> Protection:
        """Choose the noise for a price."""
        plan = recipe.plan
        neighbors = plan.policy.budget.neighbors
        moves = [block.sensitivity(plan.aggregate, neighbors) for block in recipe.blocks]
        blocks = _Blocks(recipe, moves)
        laplace = blocks.laplace(price)
        normal = blocks.gaussian(price, laplace)
        if normal is None:
            return Protection._with(blocks, price, laplace)
        gain = blocks.gain(laplace, normal)
        if gain > blocks.near:
            return Protection._with(blocks, price, normal)
        quieter_first = (normal, laplace) if gain > 0 else (laplace, normal)
        return min(
            (Protection._with(blocks, price, noises) for noises in quieter_first),
            key=lambda protection: protection.part_of_budget,
        )

    @staticmethod
    def _with(blocks: _Blocks, price: Price, noises: tuple[Noise | RankChoice, ...]) -> Protection:
        """Add the selection of groups, where they are not known."""
        recipe, plan = blocks.recipe, blocks.recipe.plan
        if plan.aggregate.known:
            return Protection(price, noises, None, plan.policy)
        normal = any(isinstance(noise, Gaussian) for noise in noises)
        delta = price.delta / 2 if normal and price.epsilon is not None else price.delta
        # The same division that the noises were made by: shares of two would not add up to the price.
        split = blocks.shares(gaussian=price.epsilon is None or normal)
        part = price.part(split[-1], delta)
        return Protection(price, noises, _selection(recipe, part), plan.policy)

    @property
    def gaussian(self) -> bool:
        """Whether some noise is Gaussian."""
        return any(isinstance(noise, Gaussian) for noise in self.noises)

    @property
    def delta(self) -> Fraction:
        """What of the price's delta is used: none for Laplace noise on known groups, and none for rho alone."""
        if self.selection is not None:
            return self.price.delta if self.price.epsilon is not None else self.selection.delta
        return self.price.delta if self.gaussian and self.price.epsilon is not None else Fraction(0)

    @property
    def curve(self) -> Curve:
        """The curve of everything together; keys that the policy lists tell nothing of the data."""
        parts = [noise.privacy for noise in self.noises]
        if self.selection is not None:
            parts.append(self.selection.privacy)
        if self.is_free:
            parts = [pure(epsilon=0, neighbors=self.policy.budget.neighbors)]
        first, *rest = parts
        return sum(rest, start=first)

    @property
    def is_free(self) -> bool:
        """Whether nothing is released but what the policy says."""
        return not self.noises and self.selection is None

    @property
    def promise(self) -> str:
        """What this release alone promises."""
        if self.is_free:
            return "ε = 0"
        delta = f", δ = {as_text(self.delta)}" if self.delta else ""
        if self.price.epsilon is not None:
            return f"ε = {as_text(self.price.epsilon)}{delta}"
        return f"ρ = {as_text(self.price.rho or Fraction(0))}{delta}"

    @cached_property
    def cost(self) -> Amount:
        """What is charged, in the budget's own currency or by its certificates, rounded up."""
        neighbors = self.policy.budget.neighbors
        epsilon = Fraction(0) if self.is_free else self.price.epsilon
        if self.policy.filter == "best":
            return cost_of(self.curve, self.policy.certificates)
        if self.policy.filter == "pure":
            return Pure(epsilon or 0, neighbors=neighbors)
        if self.policy.filter == "approximate":
            return Approximate(epsilon or 0, self.delta, neighbors=neighbors)
        return ZCDP(self._rho, self.selection.delta if self.selection else 0, neighbors=neighbors)

    @property
    def part_of_budget(self) -> Fraction:
        """Which part of the whole budget it costs, by the certificate of which it takes least; 0 with other filters."""
        cost = self.cost
        return used_of(self.policy.certificates.limits, cost) if isinstance(cost, Cost) else Fraction(0)

    @property
    def _rho(self) -> Fraction:
        """The sum of all rhos; a price in rho is not exceeded by construction, only by the last rounding.

        Each of the selection's g coins is (epsilon', delta')-private, so delta'-approximately rho'-zCDP with the rho'
        of epsilon' (Bun & Steinke 2016, arXiv:1605.02065, Section 8); the coins are independent.
        """
        rho = sum((_rho_of(noise) for noise in self.noises), Fraction(0))
        if self.selection is not None:
            coins = self.selection.touched
            rho += coins * pure_rho(self.selection.epsilon / coins)
        if not rho:
            return rho
        return min(rho, self.price.rho) if self.price.rho is not None else _rounded_up(rho)


@dataclass(frozen=True)
class _Blocks:
    """The blocks of a recipe and how far a unit moves them, about to get noise of either family."""

    recipe: Recipe
    moves: list[Sensitivity]

    def shares(self, *, gaussian: bool) -> list[Fraction]:
        """The share of each block, and of the selection of groups, which comes last."""
        others = 0 if self.recipe.plan.aggregate.known else 1
        return shares(self.recipe, self.moves, gaussian=gaussian, others=others)

    def laplace(self, price: Price) -> tuple[Noise | RankChoice, ...]:
        """Laplace noise, and choices."""
        parts = [price.part(share, Fraction(0)) for share in self.shares(gaussian=price.epsilon is None)]
        blocks = zip(self.recipe.blocks, self.moves, parts, strict=False)
        return tuple(
            block.laplace(self.recipe.plan, moved, epsilon=part.epsilon, rho=part.rho) for block, moved, part in blocks
        )

    def gaussian(self, price: Price, laplace: tuple[Noise | RankChoice, ...]) -> tuple[Noise | RankChoice, ...] | None:
        """Gaussian noise, with choices as they are; None where its variances are too large, or there is none at all."""
        if price.epsilon is not None and not price.delta:
            return None
        split = self.shares(gaussian=True)
        blocks = self.recipe.blocks
        all_shares = sum((x for x, block in zip(split, blocks, strict=False) if block.added), Fraction(0))
        if not all_shares:
            return None
        if price.epsilon is not None:
            delta = price.delta if self.recipe.plan.aggregate.known else price.delta / 2
            paid = price.epsilon * all_shares
            rough = sqrt_lower(all_shares) * rational(rough_sigma(float(paid), float(delta)))
            if self._gain(laplace, rough, split) < -self.near:  # by far: no search changes it
                return None
            unit = _unit_sigma(paid, delta) * sqrt_upper(all_shares)
        else:
            unit = sqrt_upper(1 / (2 * (price.rho or 1)))
        if self._gain(laplace, unit, split) <= -self.near:
            return None
        noises: list[Noise | RankChoice] = []
        for block, moved, share in zip(blocks, self.moves, split, strict=False):
            part, plan = price.part(share, Fraction(0)), self.recipe.plan
            noise = (
                block.gaussian(plan, moved, unit * sqrt_upper(1 / share))
                if block.added
                else block.laplace(plan, moved, epsilon=part.epsilon, rho=part.rho)
            )
            if noise is None:
                return None
            noises.append(noise)
        return tuple(noises)

    @property
    def near(self) -> float:
        """The gain up to which costs decide, where they are compared: a factor of `_NEARLY` for each block."""
        best = self.recipe.plan.policy.filter == "best"
        return math.log(_NEARLY) * sum(block.added for block in self.recipe.blocks) if best else 0.0

    def gain(self, laplace: tuple[Noise | RankChoice, ...], normal: tuple[Noise | RankChoice, ...]) -> float:
        """By how much the variances of Gaussian noise are smaller, as the sum of the logarithms of their ratios."""
        return sum(
            math.log(block.spread(noise)) - math.log(block.spread(other))
            for block, noise, other in zip(self.recipe.blocks, laplace, normal, strict=True)
            if block.added
        )

    def _gain(self, laplace: tuple[Noise | RankChoice, ...], unit: Fraction, split: list[Fraction]) -> float:
        """The gain that there would be for a sigma."""
        return sum(
            math.log(block.spread(noise)) - math.log(max(unit**2 * moved.l2_squared / share, Fraction(1, 10**30)))
            for block, noise, moved, share in zip(self.recipe.blocks, laplace, self.moves, split, strict=False)
            if block.added
        )


def shares(recipe: Recipe, moves: list[Sensitivity], *, gaussian: bool, others: int = 0) -> list[Fraction]:
    r"""Divide a price among the blocks, and equally among `others` that are no blocks; the sum is 1.

    Column o has the variance V_o = sum over blocks of c_ob / x_b^p, x_b the share of block b; p = 2 for shares of an
    epsilon (scale l1 / epsilon), p = 1 for shares of a rho or of Gaussian noise (variance l2^2 / 2 rho). Columns are in
    units of their own, so the product of all V_o is made least. Setting the derivatives of sum ln V_o to those of the
    sum of shares gives x_b in proportion to the sum over columns of (c_ob / x_b^p) / V_o: every column has the same
    weight, and gives it to blocks as they add to its variance. That rule is repeated until it holds, each time moving
    1/(1 + p) of the way (in logarithms), which for two blocks of one column ends there at once, where all of the way
    would overshoot. With one block per column, blocks get as many shares as they have columns.

    A mean, a variance or a covariance combines several blocks by numbers that depend on the data. In their place stand
    those of values spread evenly over their public range.

    >>> from discreet.plans import plan_sql
    >>> from discreet.plans.nodes.aggregate import Sensitivity
    >>> from discreet.releases.noise.recipe import Recipe
    >>> from discreet.tables import Column, Policy, Table
    >>> columns = [Column(name, lower=0, upper=120, nullable=False) for name in ("age", "stay")]
    >>> policy = Policy([Table("people", row_is_unit=True, columns=columns)], epsilon=1)
    >>> recipe = Recipe.of(plan_sql(policy, "SELECT AVG(age), AVG(stay) FROM people"))
    >>> moves = [Sensitivity(1, 120, 120**2), Sensitivity(1, 60, 60**2)]
    >>> [round(float(share), 2) for share in shares(recipe, moves, gaussian=False)]
    [0.59, 0.41]
    """
    count = len(moves) + others
    if count <= 1:
        return [Fraction(1)] * count
    measures = [NoisyMeasure.before(recipe, name, (), 0.95) for name, _ in recipe.plan.request.measures]
    columns = [measure.variances(moves, gaussian=gaussian) for measure in measures]
    columns += [{len(moves) + place: 1.0} for place in range(others)]
    split = [1 / count] * count
    power = 1 if gaussian else 2
    for _ in range(_STEPS):
        weights = [0.0] * count
        for column in columns:
            parts = {block: part / split[block] ** power for block, part in column.items()}
            total = sum(parts.values())
            for block, part in parts.items():
                weights[block] += part / total
        towards = [max(weight / len(columns), 1 / _PARTS) for weight in weights]
        last, split = (
            split,
            [a ** (power / (1 + power)) * b ** (1 / (1 + power)) for a, b in zip(split, towards, strict=True)],
        )
        split = [part / sum(split) for part in split]
        if max(abs(a - b) for a, b in zip(last, split, strict=True)) < 1 / (8 * _PARTS):
            break
    whole = [max(1, round(part * _PARTS)) for part in split]
    return [Fraction(part, sum(whole)) for part in whole]


def rough_sigma(epsilon: float, delta: float) -> float:
    """Return a little less than the sigma that Gaussian noise needs for a sensitivity of 1, without certainty.

    The delta of Gaussian noise (Balle & Wang 2018, arXiv:1805.06530, Theorem 8) in plain floats, by halving; 0 where
    floats do not tell. It decides only whether the certified search is worth its time.

    >>> round(rough_sigma(1.0, 1e-6), 2)
    4.18
    """

    def above(sigma: float) -> bool:
        near, far = 1 / (2 * sigma) - epsilon * sigma, -1 / (2 * sigma) - epsilon * sigma
        tails = [math.erfc(-end / math.sqrt(2)) / 2 for end in (near, far)]
        return tails[0] - math.exp(epsilon) * tails[1] > delta

    if not _ROUGH[0] <= epsilon <= _ROUGH[1] or delta < 1e-13:
        return 0.0
    low, high = 1e-3, 1e6
    while high / low > 1.001:
        middle = math.sqrt(low * high)
        low, high = (middle, high) if above(middle) else (low, middle)
    return 0.99 * low


def _rho_of(noise: Noise | RankChoice) -> Fraction:
    """The rho of one block: its curve's, or for Laplace noise that of its pure promise where it is smaller."""
    if isinstance(noise, RankChoice):
        return noise.rho
    return laplace_rho(noise) if isinstance(noise, DiscreteLaplace) else Fraction(noise.privacy.zcdp())


def _rounded_up(rho: Fraction) -> Fraction:
    """Round a charge up to twelve digits, so that it can be read."""
    unit = Fraction(10) ** (len(str(int(1 / rho))) + 11 if rho < 1 else 12)
    return Fraction(math.ceil(rho * unit)) / unit


@lru_cache(maxsize=64)
def _unit_sigma(epsilon: Fraction, delta: Fraction) -> Fraction:
    """The sigma that a sensitivity of 1 needs; a search, so it is kept."""
    return rational(gaussian_sigma(epsilon=epsilon, delta=delta))


def _selection(recipe: Recipe, price: Price) -> PartitionSelection:
    """Select groups with a part of the price; a unit holds as many of them as the plan says."""
    aggregate = recipe.plan.aggregate
    groups = aggregate.groups_per_unit
    if not price.delta:
        refuse(
            "GROUP BY",
            why="The groups are not known beforehand, and without a delta none could ever be shown.",
            instead="keys in the policy, or a budget and a release with a delta above 0.",
        )
    if groups is None or groups > _MOST_KEYS:
        refuse(
            "GROUP BY",
            why="Nothing bounds how many groups one unit touches.",
            instead="rows_per_unit in the policy, or Bounding(groups=…) in the question.",
        )
    neighbors = recipe.plan.policy.budget.neighbors
    if price.epsilon is not None:
        return PartitionSelection(epsilon=price.epsilon, delta=price.delta, keys=groups, neighbors=neighbors)
    # Each of the c coins may cost rho / c: epsilon' = sqrt(2 rho / c), and c of them count as c epsilon'.
    coins = PartitionSelection(epsilon=1, delta=price.delta, keys=groups, neighbors=neighbors).touched
    epsilon = coins * sqrt_lower(2 * (price.rho or 0) / coins)
    return PartitionSelection(epsilon=epsilon, delta=price.delta, keys=groups, neighbors=neighbors)
