"""A planned question behind a database: explained and previewed for free, released for its price."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from discreet.errors import ParameterError, QueryRefused
from discreet.exact import counted, shown
from discreet.noise import SYSTEM
from discreet.plans.explain import named
from discreet.plans.statistics import RankedCells
from discreet.releases.accuracy import price_within
from discreet.releases.answer import Answer
from discreet.releases.blocks import Choice, Parts
from discreet.releases.choices import POOLED_SHARE, RankChoice, learns
from discreet.releases.narrowing import bounds_of, bounds_plan, narrowed_plan, share_of
from discreet.releases.numbers import add_noise, confident
from discreet.releases.paying import fits, foresee, pay, promised, require_room
from discreet.releases.preview import Preview
from discreet.releases.protection import Price, Protection
from discreet.releases.recipe import Recipe
from discreet.releases.stored import merged

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from discreet.engines import Aggregates, Engine, Prepared, Snapshot
    from discreet.exact import Number
    from discreet.ledgers.purse import Purse
    from discreet.mechanisms.thresholds.partition_selection import PartitionSelection
    from discreet.noise import BitSource
    from discreet.plans import Plan
    from discreet.privacy.currencies import Currency
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

    def explain(self, *, narrow: Number | None = None, cut: Number = "0.05") -> str:
        """Say what is computed, what one unit can move, and which numbers get noise; from public facts alone."""
        self._allowed("explain")
        lines = [self.plan.explain(), *self._noise_lines()]
        if narrow is not None:
            first = replace(self, plan=bounds_plan(self.plan, cut))
            lines += [f"bounds that are chosen first, for {share_of(narrow)} of the price:", first.explain()]
            lines += ["the rest pays for the question about values between the chosen bounds."]
        return "\n".join(lines)

    def preview(  # noqa: PLR0913 - prices and what is known
        self,
        *,
        epsilon: Number | None = None,
        rho: Number | None = None,
        delta: Number | None = None,
        within: Number | Mapping[str, Number] | None = None,
        expected_count: int | None = None,
        confidence: float = 0.95,
        narrow: Number | None = None,
        cut: Number = "0.05",
    ) -> Preview:
        """Say what a release at this price would promise, cost and err by; nothing is read or spent.

        The charges are those of a release that follows at once, to each budget that counts: nothing where who asks has
        paid for enough already, and for what others bought the budgets of who asks alone.

        With `within` in place of a price, it is the least epsilon for which the columns are within that distance: one
        for all of them, or by name. The ± of a mean depends on the number of rows, which is private: give the number
        that you expect in a group, or get a formula.

        With `narrow`, the part of the price that buys closer bounds (see `release`), each ± is that of the policy's
        bounds for the rest of the price: chosen ones make it smaller. Charges are then the most that it can be: between
        bounds that are still to be chosen, the question may turn out to be answered already.
        """
        self._allowed("preview")
        confidence = confident(confidence)
        left = self.purse.remaining_for(self.analyst, self.purpose)
        if narrow is None:
            protection = self._protection(epsilon, rho, delta, within, confidence)
            return self._foreseen(protection, left, expected_count, confidence)
        price, bought, first, rest = self._divided(epsilon, rho, delta, within, narrow, cut)
        found = Preview.of(self.recipe, rest, left, expected_count, confidence)
        whole = replace(rest, price=price)
        choice = bought.recipe.blocks[0]
        levels = " and ".join(map(str, choice.levels)) if isinstance(choice, Choice) else ""
        note = (
            f"chosen first, at the levels {levels}, for {first.promise}; each ± is for the policy's bounds, so at most."
        )
        charges = self._charges_of_both(bought, first, rest)
        notes = found.notes | {"bounds": note}
        found = replace(found, notes=notes, promise=whole.promise, cost=charges["dataset"], charges=charges)
        return replace(found, fits=fits(self, charges))

    def _foreseen(
        self, protection: Protection, left: Currency, expected_count: int | None, confidence: float
    ) -> Preview:
        """Preview a release, or what would be shown again in its place."""
        coming = foresee(self, protection)
        recipe = self.recipe
        if coming.stored:
            whole = merged(coming.stored)
            recipe, protection = whole.recipe, replace(whole.protection, noises=whole.numbers.noises)
        found = Preview.of(recipe, protection, left, expected_count, confidence)
        promise = promised(coming.stored) or found.promise
        charges, repeated = coming.charges, bool(coming.stored)
        found = replace(found, promise=promise, cost=charges["dataset"], charges=charges, repeated=repeated)
        return replace(found, fits=fits(self, charges))

    def _charges_of_both(self, bought: Question, first: Protection, rest: Protection) -> dict[str, Currency]:
        """What bounds and the question between them would be charged; bounds are read only if they are paid for."""
        bounds = foresee(bought, first)
        after = dict.fromkeys(bounds.charges, rest.cost)
        if bounds.is_free:
            close = self._between(pay(bought, first), rest.price)
            after = foresee(close, Protection.of(close.recipe, rest.price)).charges
        return {title: charge + after[title] for title, charge in bounds.charges.items()}

    def _between(self, bounds: Answer, price: Price | None = None) -> Question:
        """The same question about values that are clamped to bounds that were bought.

        Where these are too close together, it is the closest ones around them between which there is noise for a price.
        Between the policy's there is: that was seen before anything was bought.
        """
        (row,) = bounds.to_dicts()
        for ends in bounds_of(self.plan, row):
            with suppress(QueryRefused, ParameterError):
                plan = narrowed_plan(self.plan, ends)
                if price is not None:
                    Protection.of(Recipe.of(plan), price)
                return replace(self, plan=plan)
        return self

    def release(  # noqa: PLR0913 - prices and how they are divided
        self,
        *,
        epsilon: Number | None = None,
        rho: Number | None = None,
        delta: Number | None = None,
        within: Number | Mapping[str, Number] | None = None,
        confidence: float = 0.95,
        narrow: Number | None = None,
        cut: Number = "0.05",
    ) -> Answer:
        """Answer the question; `epsilon` or `rho` is the price of all of it, or what `within` needs: see `preview`.

        The price is the most that the dataset's budget is charged, and every budget of who asks that has a limit. What
        who asks has paid for already, for at least this price, is shown again for nothing. What others paid for is
        shown for nothing from the dataset, and counts once in the budgets of who asks and what for with what it cost;
        where that is more than the price in a budget with a limit, the question is answered anew.

        See `discreet.releases.paying` for the order of everything. What fails after the reservation stays spent, as a
        refund would depend on the data.

        With `narrow`, such as "0.1", that part of the price first buys bounds: the quantiles `cut` and 1 - `cut` of
        everything that is summed, over all groups. The rest pays for the question about values clamped between them.
        Bounds are released, and the noise after them is for the bounds that were chosen, whatever they are: the two
        parts compose adaptively, and their prices add up to the price. What lies beyond the bounds is clamped, which
        no ± counts; see `narrowed` for when it is worth it.
        """
        self._allowed("release")
        if narrow is not None:
            return self._narrow_first(self._divided(epsilon, rho, delta, within, narrow, cut))
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
        return self._between(bought.release(epsilon=epsilon, rho=rho, delta=delta))

    def _divided(  # noqa: PLR0913, PLR0917 - as `release`
        self,
        epsilon: Number | None,
        rho: Number | None,
        delta: Number | None,
        within: Number | Mapping[str, Number] | None,
        narrow: Number,
        cut: Number,
    ) -> tuple[Price, Question, Protection, Protection]:
        """Divide a price: the question for bounds and its part, and the rest, with all of delta, for this question."""
        if within is not None:
            msg = "narrow is a part of a price, and within stands in place of one; give epsilon or rho with narrow."
            raise ParameterError(msg)
        price, share = Price.read(self.plan.policy, epsilon=epsilon, rho=rho, delta=delta), share_of(narrow)
        bought = replace(self, plan=bounds_plan(self.plan, cut))
        first = Protection.of(bought.recipe, price.part(share, Fraction(0)))
        return price, bought, first, Protection.of(self.recipe, price.part(1 - share, price.delta))

    def _narrow_first(self, divided: tuple[Price, Question, Protection, Protection]) -> Answer:
        """Buy bounds, then the question between them; nothing is bought unless both would fit."""
        price, bought, first, rest = divided
        require_room((bought, first), (self, rest))
        bounds = pay(bought, first)
        close = self._between(bounds, rest.price)
        protection = Protection.of(close.recipe, rest.price)
        found = pay(close, protection)
        promise = replace(protection, price=price).promise
        if bounds.repeated or found.repeated or found.combined > 1:  # made of releases that had prices of their own
            promise = f"{bounds.promise} + {found.promise}"
        charges = {title: charge + found.charges[title] for title, charge in bounds.charges.items()}
        return replace(found, promise=promise, cost=charges["dataset"], charges=charges, bounds=bounds)

    def ready(self, protection: Protection, snapshot: Snapshot) -> Callable[[], Answer]:
        """Give the function that computes the exact numbers and adds noise; the ledger calls it once it is paid."""
        exact = snapshot.add(self._near_ranks(protection))
        return lambda: answered(self.recipe, protection, exact())

    def _near_ranks(self, protection: Protection) -> Prepared:
        """Read only the cells that a choice may fall on, and bins if they are paid for.

        How far around a rank cells lie follows from the price.
        """
        aggregate = self.plan.aggregate
        statistics = list(aggregate.statistics)
        for block, noise in zip(self.recipe.blocks, protection.noises, strict=True):
            statistic = statistics[block.place] if isinstance(block, Choice) else None
            if isinstance(statistic, RankedCells) and isinstance(noise, RankChoice):
                bins = noise.pooled is not None
                statistics[block.place] = replace(statistic, windows=noise.windows, bins=bins)  # type: ignore[union-attr]
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
                rows = counted(move.l1, "row")
                what = named(self.plan.statistics[block.place])
                yield f"  {what}, a point for each of the levels {levels}: one unit moves their ranks by at most {rows}"
                if self.plan.aggregate.several and learns(block.levels):
                    yield (
                        f"    of their share, {POOLED_SHARE} buys noisy counts over all groups, which say where rows "
                        f"are likely: one unit moves them by at most {move.l1} together"
                    )
            elif isinstance(block, Parts):
                symbols = ", ".join(dict.fromkeys(named(self.plan.statistics[place]) for place in block.places))
                parts = f"{symbols} as {counted(len(block.matrix), 'part')} of one"
                yield f"  {parts}: one unit moves them by at most {move.l1} together"
            else:
                yield f"  {named(self.plan.statistics[block.place])}: one unit moves them by at most {move.l1} together"
        if not self.plan.aggregate.known:
            yield "  groups that enough units are in: selected privately, for a share of the price and delta"


def answered(recipe: Recipe, protection: Protection, aggregates: Aggregates, *, bits: BitSource = SYSTEM) -> Answer:
    """Select groups, add noise, and put the answer together; the exact numbers end here."""
    kept = None
    if protection.selection is None:
        groups: tuple[tuple[Value, ...], ...] = aggregates.groups
    else:
        kept, groups = _selected(protection.selection, aggregates, bits)
    numbers = add_noise(recipe, protection, aggregates, kept, bits)
    return Answer(recipe, groups, numbers, protection.promise, protection.cost, protection.price)


def _selected(
    selection: PartitionSelection, aggregates: Aggregates, bits: BitSource
) -> tuple[NDArray[np.int64], tuple[tuple[Value, ...], ...]]:
    """Select groups; give their places and their keys, in the order of the keys: the engine's order is private."""
    kept = selection.select(aggregates.unprotected_units(), bits=bits)
    keys = aggregates.unprotected_keys(kept)
    order = _order_of(keys, kept.size)
    columns = [
        column[order].tolist() if isinstance(column, np.ndarray) else [column[place] for place in order.tolist()]
        for column in keys
    ]
    return kept[order], tuple(zip(*columns, strict=True))


def _order_of(keys: Sequence[Sequence[Value] | NDArray[np.int64]], count: int) -> NDArray[np.int64]:
    """Sort groups by their keys, the first key first, NULL last; the keys of one column are of one kind.

    By the last key first, as each sort keeps the order of what is equal.
    """
    order = np.arange(count)
    for column in reversed(keys):
        if isinstance(column, np.ndarray):
            order = order[np.argsort(column[order], kind="stable")]
            continue
        places = order.tolist()
        missing = [place for place in places if column[place] is None] if None in column else []
        there = [place for place in places if column[place] is not None] if missing else places
        there.sort(key=column.__getitem__)  # type: ignore[arg-type]  # what is not NULL compares
        order = np.array(there + missing, dtype=np.int64)
    return order
