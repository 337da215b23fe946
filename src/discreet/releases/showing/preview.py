"""What a release would cost and err by, from public facts alone."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from fractions import Fraction
from typing import TYPE_CHECKING

from discreet.exact import integer
from discreet.plans import aggregates as agg
from discreet.plans.expressions import Column
from discreet.releases.measures.decoding import rounding_of_product
from discreet.releases.noise.blocks import combined, rounding_of
from discreet.releases.noise.choices import RankChoice
from discreet.releases.noise.reach import reach_of
from discreet.releases.noise.recipe import levels_of
from discreet.releases.showing.arithmetic import Expected, expected, names_in, together
from discreet.releases.showing.texts import html_table, rounded_up

if TYPE_CHECKING:
    from collections.abc import Mapping

    from discreet.plans.aggregates import Measure
    from discreet.plans.expressions import Expression
    from discreet.privacy.currencies import Currency
    from discreet.releases.noise.protection import Protection
    from discreet.releases.noise.recipe import Recipe

__all__ = ["Preview", "previewed"]


@dataclass(frozen=True)
class Preview:
    """The ± of each column before anything is spent; where it depends on the data, a formula or a reason.

    `cost` is what the dataset would be charged, `charges` what each budget would be, by its title, as `Answer` has
    them; `repeated` tells whether stored releases would be shown, whose ± and promise these are then.

    >>> Preview({"n": 3.0}, {"cost": "12 / n"}, "ε = 1", None, None).errors["n"]
    3.0
    """

    errors: dict[str, float | None]
    notes: dict[str, str]
    promise: str
    cost: Currency | None
    remaining: Currency | None
    charges: Mapping[str, Currency] = field(default_factory=dict)
    repeated: bool = False
    fits: bool = True
    """Whether the charges would fit into all budgets that count, as they are now."""

    @staticmethod
    def of(
        recipe: Recipe, protection: Protection, remaining: Currency, expected_count: int | None, confidence: float
    ) -> Preview:
        """Compute the ± of every column that has one."""
        rows = None if expected_count is None else integer(expected_count, name="expected_count", least=1)
        errors: dict[str, float | None] = {}
        notes: dict[str, str] = {}
        for name, expression in recipe.plan.request.outputs:
            errors[name], note = _error(recipe, protection, expression, rows, confidence)
            if note:
                notes[name] = note
        return Preview(errors, notes, protection.promise, protection.cost, remaining)

    def __str__(self) -> str:
        lines = [f"{name} ± {rounded_up(error, 4)}" for name, error in self.errors.items() if error is not None]
        lines += [f"{name}: {note}" for name, note in self.notes.items()]
        lacking = "" if self.fits else ", which does not fit"
        return "\n".join([*lines, f"promise: {self.promise}; {self._charge}{lacking}; left before: {self.remaining!r}"])

    def _repr_html_(self) -> str:
        rows = [
            [(name, ""), ("" if error is None else rounded_up(error, 4), ""), (self.notes.get(name, ""), "")]
            for name, error in self.errors.items()
            if error is not None or name in self.notes
        ]
        return html_table(["column", "±", "note"], rows, str(self).splitlines()[-1])

    @property
    def _charge(self) -> str:
        """What would be charged, and to whom if not to all alike."""
        own = "".join(f", {each!r} to {title}" for title, each in self.charges.items() if each != self.cost)
        return (
            f"answered before: charge nothing to the dataset{own}" if self.repeated else f"charge: {self.cost!r}{own}"
        )


def previewed(recipe: Recipe, protection: Protection, name: str, confidence: float) -> tuple[float | None, str]:
    """The ± of one column from public facts alone, or why there is none.

    >>> from discreet.plans import plan_sql
    >>> from discreet.releases.noise.protection import Price, Protection
    >>> from discreet.releases.noise.recipe import Recipe
    >>> from discreet.tables import Policy, Table
    >>> policy = Policy([Table("people", row_is_unit=True)], epsilon=1)
    >>> recipe = Recipe.of(plan_sql(policy, "SELECT COUNT(*) AS n FROM people"))
    >>> previewed(recipe, Protection.of(recipe, Price.read(policy, epsilon=1)), "n", 0.95)
    (3.0, '')
    """
    return _error(recipe, protection, dict(recipe.plan.request.outputs)[name], None, confidence)


def _error(
    recipe: Recipe, protection: Protection, expression: Expression, rows: int | None, confidence: float
) -> tuple[float | None, str]:
    """The ± of an output, or why there is none."""
    measures = dict(recipe.plan.request.measures)
    if not isinstance(expression, Column):
        return _computed_error(recipe, protection, expression, rows, confidence)
    if expression.name not in measures:
        return None, ""
    measure = measures[expression.name]
    places = recipe.plan.statistics_of(expression.name)
    if isinstance(measure, agg.Histogram):
        return reach_of(((recipe.bins(places[0]), 0, Fraction(1)),), protection.noises, confidence), ""
    if isinstance(measure, agg.Count | agg.CountDistinct | agg.Sum):
        return _plain_error(recipe, protection, measure, places[0], confidence), ""
    if levels_of(measure):
        return None, _rank_note(recipe, protection, measure, places[0], confidence)
    return _ratio_error(recipe, protection, expression.name, rows, confidence)


_OPEN = "it is computed from noisy values; a release has a ± where an honest one exists."


def _computed_error(
    recipe: Recipe, protection: Protection, expression: Expression, rows: int | None, confidence: float
) -> tuple[float | None, str]:
    """The ± of arithmetic, for all values within their public bounds; those of its parts hold together."""
    measures = dict(recipe.plan.request.measures)
    names = names_in(expression)
    if not names or any(name not in measures or measures[name].size > 1 for name in names):
        return None, _OPEN
    each = together(confidence, len(names))
    values = {}
    for name in names:
        error, note = _error(recipe, protection, Column(name), rows, each)
        if error is None:
            return None, note
        values[name] = Expected(*_size(recipe, name, rows), error)
    found = expected(expression, values)
    if found is not None:
        return found.error, ""
    more = "; give expected_count= for a number." if rows is None else "."
    return None, f"{_OPEN[:-1]}{more}"


def _size(recipe: Recipe, name: str, rows: int | None) -> tuple[float, float]:
    """Between which numbers the size of a measure lies, for a group of so many rows."""
    measure = dict(recipe.plan.request.measures)[name]
    if isinstance(measure, agg.Count) and not measure.operands:
        return (0.0, math.inf) if rows is None else (float(rows), float(rows))
    if isinstance(measure, agg.Count | agg.CountDistinct):
        return 0.0, math.inf if rows is None else float(rows)
    factor = recipe.plan.statistics[recipe.plan.statistics_of(name)[-1]].factors[0]  # type: ignore[attr-defined]
    ends = [float(end * factor.step) for end in (factor.lower, factor.upper)]
    far, wide = max(map(abs, ends)), ends[1] - ends[0]
    if isinstance(measure, agg.Sum):
        return 0.0, math.inf if rows is None else far * rows
    if isinstance(measure, agg.Mean):
        return 0.0, far
    if isinstance(measure, agg.StdDev):
        return 0.0, wide
    return (0.0, wide**2) if isinstance(measure, agg.Variance) else (0.0, math.inf)


def _ratio_error(
    recipe: Recipe, protection: Protection, name: str, rows: int | None, confidence: float
) -> tuple[float | None, str]:
    """The ± of what is divided by a count: for an expected count, where it is enough to know."""
    measure = dict(recipe.plan.request.measures)[name]
    places = recipe.plan.statistics_of(name)
    if isinstance(measure, agg.Mean):
        return _mean_error(recipe, protection, places, rows, confidence)
    if rows is None:
        return None, "its error depends on the number of rows; give expected_count= for a number."
    if isinstance(measure, agg.Correlation):
        return None, _correlation_note(recipe, protection, places, rows, confidence)
    error = _product_error(recipe, protection, places, rows, confidence)
    if not isinstance(measure, agg.StdDev):
        return error, ""
    # |sqrt(a) - sqrt(b)| <= sqrt(|a - b|), reached by values that do not vary; a deviation is at most half the range.
    factor = recipe.plan.statistics[places[1]].factors[0]  # type: ignore[attr-defined]
    most = float((factor.upper - factor.lower) * factor.step) / 2 * math.sqrt(rows / (rows - 1) if rows > 1 else 1)
    return min(math.sqrt(error), most), ""


def _correlation_note(
    recipe: Recipe, protection: Protection, places: tuple[int, ...], rows: int, confidence: float
) -> str:
    """Say what is to be expected: no bound holds for all values, as both variances may be as small as noise.

    With both deviations range / sqrt 12, as of values spread evenly, a correlation near 0 is off by the ± of the
    covariance over the product of the deviations.
    """
    ends = [recipe.plan.statistics[place].factors[0] for place in places[1:3]]  # type: ignore[attr-defined]
    deviations = [float((each.upper - each.lower) * each.step) / math.sqrt(12) for each in ends]
    about = _product_error(recipe, protection, (*places[:3], places[5]), rows, confidence) / math.prod(deviations)
    text = (
        f"about ± {about:.2g} for independent values spread evenly over their bounds" if about < 1 else "too few rows"
    )
    return f"{text}; its error depends on how much values vary, and a release has a ± where an honest one exists."


def _rank_note(recipe: Recipe, protection: Protection, measure: Measure, place: int, confidence: float) -> str:
    """By how many rows a chosen point misses its rank; values are private."""
    block, _ = recipe.choice(place)
    noise = protection.noises[block]
    assert isinstance(noise, RankChoice)  # noqa: S101 - the block of a choice
    return noise.missed(levels_of(measure), confidence)


def _product_error(
    recipe: Recipe, protection: Protection, places: tuple[int, ...], rows: int, confidence: float
) -> float:
    """The ± of a variance or covariance for an expected n and means anywhere in their range: as a release computes it.

    The sums come first, the product last; each of the two or three ratios gets its part of the chance of a miss.
    """
    statistics = recipe.plan.statistics
    sums, product = places[1:-1], places[-1]
    each = 1 - (1 - confidence) / (len(sums) + 1)
    means = [_mean_error(recipe, protection, (places[0], place), rows, each)[0] or 0.0 for place in sums]
    first, second = statistics[product].factors  # type: ignore[attr-defined]
    steps = float(first.step * second.step)
    ends = statistics[product].reach(recipe.plan.row_schema)
    parts = [combined((recipe.terms[product], 1), (recipe.terms[places[0]], -end)) for end in ends]
    mixed = max(reach_of(part, protection.noises, (1 + each) / 2) for part in parts) / rows * steps
    mixed += rounding_of_product(recipe, first, second)
    away = [max(abs(end) for end in factor.reach) * float(factor.step) for factor in (first, second)]
    error: float = mixed + away[0] * means[-1] + away[1] * means[0] + means[0] * means[-1]
    return error * (rows / (rows - 1) if rows > 1 else 1.0)


def _plain_error(recipe: Recipe, protection: Protection, measure: Measure, place: int, confidence: float) -> float:
    terms = recipe.terms[place]
    reach = reach_of(terms, protection.noises, confidence)
    if isinstance(measure, agg.Sum):
        return reach * float(recipe.plan.statistics[place].factors[0].step)  # type: ignore[attr-defined]
    return reach + rounding_of(terms)


def _mean_error(
    recipe: Recipe, protection: Protection, places: tuple[int, ...], rows: int | None, confidence: float
) -> tuple[float | None, str]:
    """The noise of a ratio over n, for the expected n; see `discreet.releases.measures.decoding` for the bound."""
    count, total = places
    factor = recipe.plan.statistics[total].factors[0]  # type: ignore[attr-defined]
    low, high = recipe.plan.statistics[total].reach(recipe.plan.row_schema)
    ends = [combined((recipe.terms[total], 1), (recipe.terms[count], -end)) for end in (low, high)]
    reach = max(reach_of(end, protection.noises, (1 + confidence) / 2) for end in ends) * float(factor.step)
    if rows is None:
        note = "where n is the number of rows in the group; give expected_count= for a number."
        return None, f"± {rounded_up(reach, 4)} / n, {note}"
    half = float(recipe.rounding(total))
    return min(reach / rows + half, float((high - low) * factor.step)), ""
