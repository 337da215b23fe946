"""How a price is divided among blocks: for the least error of all columns, from public facts alone."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING

from discreet.releases.measures.measure import NoisyMeasure

if TYPE_CHECKING:
    from discreet.plans.nodes.aggregate import Sensitivity
    from discreet.releases.noise.recipe import Recipe

__all__ = ["shares"]

_STEPS = 60
_PARTS = 1024  # shares are whole multiples of about 1/1024, so that scales stay short fractions


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
    if count == 1:
        return [Fraction(1)]
    measures = [NoisyMeasure.before(recipe, name, (), 0.95) for name, _ in recipe.plan.request.measures]
    columns = [measure.variances(moves, gaussian=gaussian) for measure in measures]
    columns += [{len(moves) + place: 1.0} for place in range(others)]
    found = [1 / count] * count
    power = 1 if gaussian else 2
    for _ in range(_STEPS):
        weights = [0.0] * count
        for column in columns:
            parts = {block: part / found[block] ** power for block, part in column.items()}
            total = sum(parts.values())
            for block, part in parts.items():
                weights[block] += part / total
        towards = [max(weight / len(columns), 1 / _PARTS) for weight in weights]
        last, found = (
            found,
            [a ** (power / (1 + power)) * b ** (1 / (1 + power)) for a, b in zip(found, towards, strict=True)],
        )
        found = [each / sum(found) for each in found]
        if max(abs(a - b) for a, b in zip(last, found, strict=True)) < 1 / (8 * _PARTS):
            break
    whole = [max(1, round(each * _PARTS)) for each in found]
    return [Fraction(each, sum(whole)) for each in whole]
