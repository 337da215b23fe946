"""A planned question behind a database: explained and previewed for free, released for its price."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING

from discreet.errors import ParameterError
from discreet.exact import shown
from discreet.noise import SYSTEM
from discreet.plans.statistics import RankedCells
from discreet.releases.accuracy import price_within
from discreet.releases.answer import Answer
from discreet.releases.blocks import Choice, Parts
from discreet.releases.choices import RankChoice
from discreet.releases.narrowing import bounds_plan, narrowed_plan, summed_values
from discreet.releases.numbers import add_noise, confident
from discreet.releases.paying import pay
from discreet.releases.preview import Preview
from discreet.releases.protection import Price, Protection
from discreet.releases.recipe import Recipe

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from discreet.engines import Aggregates, Engine, Prepared
    from discreet.exact import Number
    from discreet.mechanisms.thresholds.partition_selection import PartitionSelection
    from discreet.noise import BitSource
    from discreet.plans import Plan
    from discreet.releases.purse import Purse
    from discreet.tables import Value

__all__ = ["Question", "answered"]


@dataclass(frozen=True, eq=False, repr=False)
class Question:
    """A question that can be answered; nothing was read or spent yet.

    >>> import pyarrow as pa
    >>> from discreet.database import Database
    >>> from discreet.tables import Column, Policy, Table
    >>> columns = [Column("age", lower=0, upper=120)]
    >>> policy = Policy([Table("people", row_is_unit=True, columns=columns)], epsilon=3)
    >>> with Database(policy, {"people": pa.table({"age": [40] * 500})}) as db:
    ...     question = db.sql("SELECT COUNT(*) AS n FROM people")
    ...     print(question.preview(epsilon=1))
    ...     _ = question.release(epsilon=1)
    ...     print(db.remaining)
    n ± 3
    promise: ε = 1; charge: Pure(epsilon=1); left before: Pure(epsilon=3)
    Pure(epsilon=2)
    """

    plan: Plan
    engine: Engine
    purse: Purse
    analyst: str | None = None
    purpose: str | None = None
    asked: str = ""

    def __post_init__(self) -> None:
        """Refuse what no mechanism answers or the engine cannot compute, and who may not see it."""
        self._allowed("explain")
        _ = self.recipe
        _ = self._prepared

    def __repr__(self) -> str:
        return f"Question({', '.join(self.plan.columns)} of {', '.join(self.plan.tables)})"

    @cached_property
    def recipe(self) -> Recipe:
        """Which numbers get noise."""
        return Recipe.of(self.plan)

    @cached_property
    def _prepared(self) -> Prepared:
        return self.engine.prepare(self.plan.aggregate)

    def explain(self) -> str:
        """Say what is computed, what one unit can move, and which numbers get noise; from public facts alone."""
        self._allowed("explain")
        return "\n".join([self.plan.explain(), *self._noise_lines()])

    def preview(  # noqa: PLR0913 - prices and what is known
        self,
        *,
        epsilon: Number | None = None,
        rho: Number | None = None,
        delta: Number | None = None,
        within: Number | Mapping[str, Number] | None = None,
        expected_count: int | None = None,
        confidence: float = 0.95,
    ) -> Preview:
        """Say what a release at this price would promise, cost and err by; nothing is read or spent.

        With `within` in place of a price, it is the least epsilon for which the columns are within that distance: one
        for all of them, or by name. The ± of a mean depends on the number of rows, which is private: give the number
        that you expect in a group, or get a formula.
        """
        self._allowed("preview")
        confidence = confident(confidence)
        protection = self._protection(epsilon, rho, delta, within, confidence)
        return Preview.of(
            self.recipe, protection, self.purse.remaining_for(self.analyst, self.purpose), expected_count, confidence
        )

    def release(
        self,
        *,
        epsilon: Number | None = None,
        rho: Number | None = None,
        delta: Number | None = None,
        within: Number | Mapping[str, Number] | None = None,
        confidence: float = 0.95,
    ) -> Answer:
        """Answer the question; `epsilon` or `rho` is the price of all of it, or what `within` needs: see `preview`.

        What was answered before for at least this price is free for the dataset; see `discreet.releases.paying` for the
        order of everything else. What fails after the reservation stays spent, as a refund would depend on the data.
        """
        self._allowed("release")
        protection = self._protection(epsilon, rho, delta, within, confident(confidence))
        return pay(self, protection)

    def narrowed(
        self,
        *,
        cut: Number = "0.05",
        epsilon: Number | None = None,
        rho: Number | None = None,
        delta: Number | None = None,
    ) -> Question:
        """Buy closer bounds first: the same question about values that are clamped to two private quantiles.

        Where the policy's bounds are far wider than most values, noise is too: a small part of the budget for the
        quantiles `cut` and 1 - `cut` of everything that is summed, over all groups, may be worth it. It is a release of
        its own, charged at once at the price given here; the question that is returned has its own price, and its
        explanations show the bounds. What lies beyond them is clamped, which no ± counts. A smaller cut clamps less,
        but the rows beyond it must be many more than noise moves a rank by (some 30 rows of a unit / epsilon), else the
        bound may fall anywhere.
        """
        bought = replace(self, plan=bounds_plan(self.plan, cut))
        (row,) = bought.release(epsilon=epsilon, rho=rho, delta=delta).to_dicts()
        bounds = {value: tuple(row[f"m{place}"]) for place, value in enumerate(summed_values(self.plan))}
        return replace(self, plan=narrowed_plan(self.plan, bounds))

    def ready(self, protection: Protection) -> Callable[[], Answer]:
        """Give the function that computes the exact numbers and adds noise; the ledger calls it once it is paid."""
        prepared = self._near_ranks(protection)
        return lambda: answered(self.recipe, protection, prepared.run())

    def _near_ranks(self, protection: Protection) -> Prepared:
        """Read only the cells that a choice may fall on: how far around a rank they lie follows from the price."""
        aggregate = self.plan.aggregate
        statistics = list(aggregate.statistics)
        for block, noise in zip(self.recipe.blocks, protection.noises, strict=True):
            statistic = statistics[block.place] if isinstance(block, Choice) else None
            if isinstance(statistic, RankedCells) and isinstance(noise, RankChoice):
                statistics[block.place] = replace(statistic, windows=noise.windows)  # type: ignore[union-attr]
        if tuple(statistics) == aggregate.statistics:
            return self._prepared
        return self._prepared.near(replace(aggregate, statistics=tuple(statistics)))

    def _protection(
        self,
        epsilon: Number | None,
        rho: Number | None,
        delta: Number | None,
        within: Number | Mapping[str, Number] | None,
        confidence: float,
    ) -> Protection:
        if within is not None:
            if epsilon is not None or rho is not None:
                msg = "within stands in place of epsilon or rho; give one of them."
                raise ParameterError(msg)
            price = price_within(self.recipe, within, delta=delta, confidence=confidence)
            return Protection.of(self.recipe, price)
        price = Price.read(self.plan.policy, epsilon=epsilon, rho=rho, delta=delta)
        return Protection.of(self.recipe, price)

    def _allowed(self, action: str) -> None:
        if not self.plan.policy.may(self.analyst, action, self.plan.tables):
            tables = ", ".join(self.plan.tables)
            msg = (
                f"analyst {shown(self.analyst)} may not {action} questions about {tables}; ask the owner of the policy."
            )
            raise ParameterError(msg)

    def _noise_lines(self) -> Iterator[str]:
        neighbors = self.plan.policy.budget.neighbors
        yield "numbers that get noise, each block a share of the price:"
        for block in self.recipe.blocks:
            move = block.sensitivity(self.plan.aggregate, neighbors)
            if isinstance(block, Choice):
                levels = ", ".join(str(level) for level in block.levels)
                yield f"  a point for each of the levels {levels}: one unit moves their ranks by at most {move.l1} rows"
            elif isinstance(block, Parts):
                symbols = " and ".join(dict.fromkeys(self.plan.statistics[place].symbol for place in block.places))
                parts = f"{symbols} as {len(block.matrix)} parts of one"
                yield f"  {parts}: one unit moves them by at most {move.l1} together"
            else:
                symbol = self.plan.statistics[block.place].symbol
                yield f"  {symbol}: one unit moves them by at most {move.l1} together"
        if not self.plan.aggregate.known:
            yield "  groups that enough units are in: selected privately, for a share of the price and delta"


def answered(recipe: Recipe, protection: Protection, aggregates: Aggregates, *, bits: BitSource = SYSTEM) -> Answer:
    """Select groups, add noise, and put the answer together; the exact numbers end here."""
    kept = None
    if protection.selection is None:
        groups: tuple[tuple[Value, ...], ...] = aggregates.groups
    else:
        kept = _selected(protection.selection, aggregates, bits)
        found = aggregates.unprotected_groups()
        groups = tuple(found[place] for place in kept)
    numbers = add_noise(recipe, protection, aggregates, kept, bits)
    return Answer(recipe, groups, numbers, protection.promise, protection.cost, protection.price)


def _selected(selection: PartitionSelection, aggregates: Aggregates, bits: BitSource) -> list[int]:
    """Give the places of the selected groups, in the order of their keys: the engine's order is private."""
    groups = aggregates.unprotected_groups()
    units = aggregates.unprotected_units()
    shown_places = selection.release(dict(enumerate(units.tolist())), bits=bits).value
    return sorted(shown_places, key=lambda place: [(each is None, each) for each in groups[place]])
