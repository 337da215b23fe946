"""What a release would cost and err by, from public facts alone."""

from __future__ import annotations

from dataclasses import dataclass, field
from decimal import ROUND_FLOOR
from typing import TYPE_CHECKING

from discreet.exact import integer
from discreet.plans.expressions import Column
from discreet.releases.measures.measure import NoisyMeasure
from discreet.releases.showing.arithmetic import Expected, expected, names_in, together
from discreet.releases.showing.notes import selected
from discreet.releases.showing.texts import amount_text, charge_text, html_table, rounded_up

if TYPE_CHECKING:
    from collections.abc import Mapping

    from discreet.ledgers.statement import Usage
    from discreet.plans.expressions import Expression
    from discreet.privacy.costs import Amount
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
    cost: Amount | None
    remaining: Amount | None
    charges: Mapping[str, Amount] = field(default_factory=dict)
    repeated: bool = False
    usage: Usage | None = None
    """How much of the budgets is used before, and how many more questions of this charge would fit."""
    fits: bool = True
    """Whether the charges would fit into all budgets that count, as they are now."""

    @staticmethod
    def of(
        recipe: Recipe, protection: Protection, remaining: Amount, expected_count: int | None, confidence: float
    ) -> Preview:
        """Compute the ± of every column that has one."""
        rows = None if expected_count is None else integer(expected_count, name="expected_count", least=1)
        errors: dict[str, float | None] = {}
        notes: dict[str, str] = {}
        for name, expression in recipe.plan.request.outputs:
            errors[name], note = _error(recipe, protection, expression, rows, confidence)
            if note:
                notes[name] = note
        for note in selected(protection.selection, recipe.plan.aggregate.child.unit_kind):
            about, _, needed = note.partition(": ")
            notes[about] = needed
        return Preview(errors, notes, protection.promise, protection.cost, remaining)

    def __str__(self) -> str:
        lines = [f"{name} ± {rounded_up(error, 4)}" for name, error in self.errors.items() if error is not None]
        lines += [f"{name}: {note}" for name, note in self.notes.items()]
        lacking = "" if self.fits else ", which does not fit"
        left = self.usage or f"left before: {self._remaining}"
        return "\n".join([*lines, f"promise: {self.promise}; {self._charge}{lacking}; {left}"])

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
        charges = {title: charge for title, charge in self.charges.items() if charge != self.cost}
        own = "".join(f", {charge_text(charge)} to {title}" for title, charge in charges.items())
        return f"answered before: charge nothing to the dataset{own}" if self.repeated else f"charge: {self._cost}{own}"

    @property
    def _remaining(self) -> str:
        return "unknown" if self.remaining is None else amount_text(self.remaining, ROUND_FLOOR)

    @property
    def _cost(self) -> str:
        return "nothing" if self.cost is None else charge_text(self.cost)


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
    if not isinstance(expression, Column):
        return _computed_error(recipe, protection, expression, rows, confidence)
    if expression.name not in dict(recipe.plan.request.measures):
        return None, ""
    return NoisyMeasure.before(recipe, expression.name, protection.noises, confidence).foreseen(rows)


_OPEN = "it is computed from noisy values; a release has a ± where an honest one exists."


def _computed_error(
    recipe: Recipe, protection: Protection, expression: Expression, rows: int | None, confidence: float
) -> tuple[float | None, str]:
    """The ± of arithmetic, for all values within their public bounds; those of its parts hold together."""
    measures = dict(recipe.plan.request.measures)
    names = names_in(expression)
    if not names or any(name not in measures or measures[name].size > 1 for name in names):
        return None, _OPEN
    values = {}
    for name in names:
        measure = NoisyMeasure.before(recipe, name, protection.noises, together(confidence, len(names)))
        error, note = measure.foreseen(rows)
        if error is None:
            return None, note
        values[name] = Expected(*measure.size(rows), error)
    computed = expected(expression, values)
    if computed is not None:
        return computed.error, ""
    more = "; give expected_count= for a number." if rows is None else "."
    return None, f"{_OPEN[:-1]}{more}"
