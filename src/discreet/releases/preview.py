"""What a release would cost and err by, from public facts alone."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

from discreet.exact import integer
from discreet.plans import aggregates as agg
from discreet.plans.expressions import Column
from discreet.releases.blocks import combined
from discreet.releases.numbers import reach_of

if TYPE_CHECKING:
    from discreet.plans.aggregates import Measure
    from discreet.plans.expressions import Expression
    from discreet.privacy.currencies import Currency
    from discreet.releases.protection import Protection
    from discreet.releases.recipe import Recipe

__all__ = ["Preview"]


@dataclass(frozen=True)
class Preview:
    """The ± of each column before anything is spent; where it depends on the data, a formula or a reason.

    >>> Preview({"n": 3.0}, {"cost": "12 / n"}, "ε = 1", None, None).errors["n"]
    3.0
    """

    errors: dict[str, float | None]
    notes: dict[str, str]
    promise: str
    cost: Currency | None
    remaining: Currency | None

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
        lines = [f"{name} ± {error:.4g}" for name, error in self.errors.items() if error is not None]
        lines += [f"{name}: {note}" for name, note in self.notes.items()]
        return "\n".join([*lines, f"promise: {self.promise}; charge: {self.cost!r}; left before: {self.remaining!r}"])


def _error(
    recipe: Recipe, protection: Protection, expression: Expression, rows: int | None, confidence: float
) -> tuple[float | None, str]:
    """The ± of an output, or why there is none."""
    measures = dict(recipe.plan.request.measures)
    if not isinstance(expression, Column):
        return None, "it is computed from several noisy values; ask for these to see their ±."
    if expression.name not in measures:
        return None, ""
    measure = measures[expression.name]
    places = recipe.plan.statistics_of(expression.name)
    if isinstance(measure, agg.Histogram):
        return reach_of(((recipe.bins(places[0]), 0, Fraction(1)),), protection.noises, confidence), ""
    if isinstance(measure, agg.Count | agg.CountDistinct | agg.Sum):
        return _plain_error(recipe, protection, measure, places[0], confidence), ""
    if isinstance(measure, agg.Mean):
        return _mean_error(recipe, protection, places, rows, confidence)
    return None, "its error depends on the data; a release has a ± where an honest one exists."


def _plain_error(recipe: Recipe, protection: Protection, measure: Measure, place: int, confidence: float) -> float:
    terms = recipe.terms[place]
    reach = reach_of(terms, protection.noises, confidence)
    if isinstance(measure, agg.Sum):
        return reach * float(recipe.plan.statistics[place].factors[0].step)  # type: ignore[attr-defined]
    return reach + (0.0 if len(terms) == 1 else 0.5)


def _mean_error(
    recipe: Recipe, protection: Protection, places: tuple[int, ...], rows: int | None, confidence: float
) -> tuple[float | None, str]:
    """The noise of a ratio over n, for the expected n; see `discreet.releases.decoding` for the bound."""
    count, total = places
    factor = recipe.plan.statistics[total].factors[0]  # type: ignore[attr-defined]
    low, high = recipe.plan.statistics[total].reach(recipe.plan.row_schema)
    ends = [combined((recipe.terms[total], 1), (recipe.terms[count], -end)) for end in (low, high)]
    reach = max(reach_of(end, protection.noises, (1 + confidence) / 2) for end in ends) * float(factor.step)
    if rows is None:
        return (
            None,
            f"± {reach:.4g} / n, where n is the number of rows in the group; give expected_count= for a number.",
        )
    slack = recipe.slack.get(total, factor.step if factor.step != 1 else Fraction(0))
    half = float(slack) / 2
    return min(reach / rows + half, float((high - low) * factor.step)), ""
