"""A planned question behind a database: explained and previewed for free, released for its price."""

from __future__ import annotations

import itertools
from contextlib import suppress
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property, partial
from typing import TYPE_CHECKING

import numpy as np

from discreet.errors import ParameterError, QueryRefused
from discreet.mechanisms.adding.combinations import NoisyNumbers
from discreet.noise import SYSTEM
from discreet.privacy.costs import total
from discreet.releases.asking.paying import fits, foresee, pay, promised, require_room
from discreet.releases.asking.prices import price_within
from discreet.releases.measures.measure import measure_kind
from discreet.releases.noise.narrowing import bounds_of, bounds_plan, cut_of, narrowed_plan, share_of
from discreet.releases.noise.protection import Price, Protection, confident
from discreet.releases.noise.recipe import Recipe
from discreet.releases.showing.answer import Answer
from discreet.releases.showing.bins import Bins
from discreet.releases.showing.preview import Preview
from discreet.releases.showing.stored import merged

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from discreet.engines import Aggregates, Engine, Prepared, Snapshot
    from discreet.exact import Number
    from discreet.ledgers.purse import Purse
    from discreet.ledgers.statement import Usage
    from discreet.mechanisms.thresholds.partition_selection import PartitionSelection
    from discreet.noise import BitSource
    from discreet.plans import Plan
    from discreet.privacy.costs import Amount
    from discreet.tables import Policy, Value

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
    promise: ε = 1; charge: ε = 1; used 0 % of ε = 3; about 3 more questions like this one
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
        self.allowed("explain")
        kinds = [measure_kind(measure) for _, measure in self.plan.request.measures]
        if any(kind.binned for kind in kinds):
            _ = Bins.of(self.plan)
        _ = self.recipe
        _ = self._prepared

    @property
    def cores(self) -> tuple[Question, ...]:
        """What is released for it: itself."""
        return (self,)

    @property
    def policy(self) -> Policy:
        """What is public about the data."""
        return self.plan.policy

    def core(self, place: int, answers: Mapping[int, Answer]) -> Question | None:  # noqa: ARG002 - there is one
        """Give a core that can be released once these others are, by their places."""
        return self

    def gathering(self) -> Callable[[Sequence[Answer], Price | None], Answer]:
        """Give what makes its answer of the releases of its cores."""
        return lambda answers, _: answers[0]

    def gathered(self, previews: Sequence[Preview]) -> Preview:
        """Make its preview of those of its cores."""
        return previews[0]

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
        self.allowed("explain")
        lines = [self.plan.explain(), *self._noise_lines()]
        if narrow is not None:
            first = replace(self, plan=bounds_plan(self.plan, cut_of(cut)))
            lines += [f"bounds that are chosen first, for {share_of(narrow)} of the price:", first.explain()]
            lines += ["the rest pays for the question about values between the chosen bounds."]
        return "\n".join(lines)

    def preview(  # noqa: PLR0913 - prices and what is known
        self,
        epsilon: Number | None = None,
        *,
        rho: Number | None = None,
        delta: Number | None = None,
        within: Number | Mapping[str, Number] | None = None,
        expected_count: int | None = None,
        confidence: float = 0.95,
        narrow: Number | None = None,
        cut: Number = "0.05",
    ) -> Preview:
        """Say what a release at this price would promise, cost and err by; nothing is read or spent.

        The charges are what each budget would pay if you released it now. If you have paid enough for this question
        before, that is nothing. If somebody else has, only your own budgets are charged, not the dataset's.

        Instead of a price you may give `within`, a distance for all columns or one for each by name: the price is then
        the least epsilon at which they are that close. The ± of a mean depends on the number of rows, which is private:
        give the number that you expect in a group, or get a formula.

        With `narrow` (see `release`) each ± is for the policy's bounds at what is left of the price, so it is at most
        that: the bounds that will be chosen are closer. The charges, too, are the most that they can be: the question
        between those bounds may have been answered before.
        """
        self.allowed("preview")
        confidence = confident(confidence)
        read = partial(self._price, epsilon=epsilon, rho=rho, delta=delta)
        price = read(within=within, confidence=confidence, narrow=narrow, cut=cut)
        return self._preview(price, expected_count, confidence)

    def _price(  # noqa: PLR0913 - all that a price is said with, in one place
        self,
        *,
        epsilon: Number | None,
        rho: Number | None,
        delta: Number | None,
        within: Number | Mapping[str, Number] | None,
        confidence: float,
        narrow: Number | None,
        cut: Number,
    ) -> Price:
        """Read what it is asked for at: an epsilon, a rho, or the least epsilon that is `within` a distance."""
        if within is None:
            price = Price.read(self.policy, epsilon=epsilon, rho=rho, delta=delta)
            return price if narrow is None else replace(price, narrow=share_of(narrow), cut=cut_of(cut))
        if narrow is not None:
            msg = "narrow is a part of a price, and within stands in place of one; give epsilon or rho with narrow."
            raise ParameterError(msg)
        if epsilon is not None or rho is not None:
            msg = "within stands in place of epsilon or rho; give one of them."
            raise ParameterError(msg)
        return price_within(self.recipe, within, delta=delta, confidence=confidence)

    def _preview(self, price: Price, expected_count: int | None, confidence: float) -> Preview:
        if price.narrow is None:
            return self._foreseen(Protection.of(self.recipe, price), expected_count, confidence)
        bought, first, rest = self._divided(price)
        levels = f"{price.cut} and {1 - price.cut}"
        note = (
            f"chosen first, at the levels {levels}, for {first.promise}; each ± is for the policy's bounds, so at most."
        )
        preview = Preview.of(self.recipe, rest, self._left, expected_count, confidence)
        charges = self._charges_of_both(bought, first, rest)
        return replace(
            preview,
            notes=preview.notes | {"bounds": note},
            promise=replace(rest, price=price).promise,
            cost=charges["dataset"],
            charges=charges,
            usage=self.usage(charges["dataset"]),
            fits=fits(self, charges),
        )

    def usage(self, charge: Amount) -> Usage:
        """How much is used of the asker's budgets, and how often a charge would still fit; of nothing that is not said.

        >>> import pyarrow as pa
        >>> from discreet import Database
        >>> from discreet.tables import Policy, Table
        >>> with Database(Policy([Table("t", row_is_unit=True)], epsilon=3), {"t": pa.table({"x": [1]})}) as db:
        ...     question = db.sql("SELECT COUNT(*) AS n FROM t")
        ...     print(question.usage(question.release(epsilon="0.5").cost))
        used 17 % of ε = 3; about 5 more questions like this one
        """
        return self.purse.usage(self.analyst, self.purpose, charge if any(charge.fields().values()) else None)

    @property
    def _left(self) -> Amount:
        return self.purse.remaining_for(self.analyst, self.purpose)

    def _foreseen(self, protection: Protection, expected_count: int | None, confidence: float) -> Preview:
        """Preview a release, or what would be shown again in its place."""
        coming = foresee(self, protection)
        recipe = self.recipe
        if coming.stored:
            whole = merged(coming.stored)
            recipe, protection = whole.recipe, replace(whole.protection, noises=whole.numbers.noises)
        preview = Preview.of(recipe, protection, self._left, expected_count, confidence)
        return replace(
            preview,
            promise=promised(coming.stored) or preview.promise,
            cost=coming.charges["dataset"],
            charges=coming.charges,
            usage=self.usage(coming.charges["dataset"]),
            repeated=bool(coming.stored),
            fits=fits(self, coming.charges),
        )

    def _charges_of_both(self, bought: Question, first: Protection, rest: Protection) -> dict[str, Amount]:
        """What bounds and the question between them would be charged; bounds are read only if they are paid for."""
        bounds = foresee(bought, first)
        after = dict.fromkeys(bounds.charges, rest.cost)
        if bounds.is_free:
            close = self._between(pay(bought, first), rest.price)
            after = foresee(close, Protection.of(close.recipe, rest.price)).charges
        return {title: total(charge, after[title]) for title, charge in bounds.charges.items()}

    def _between(self, bounds: Answer, price: Price | None = None) -> Question:
        """The same question about values that are clamped to bounds that were bought.

        If these are too close together for any noise that the price buys, wider ones around them are taken. The
        policy's own bounds are wide enough: that was seen before anything was bought.
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
        epsilon: Number | None = None,
        *,
        rho: Number | None = None,
        delta: Number | None = None,
        within: Number | Mapping[str, Number] | None = None,
        confidence: float = 0.95,
        narrow: Number | None = None,
        cut: Number = "0.05",
        key: str = "",
    ) -> Answer:
        """Answer the question; `epsilon` or `rho` is the price of all of it, or what `within` needs: see `preview`.

        Neither the dataset's budget nor any of yours that has a limit is charged more than the price. If you have paid
        at least this much for the question before, you are shown the same answer again, for nothing. If somebody else
        has, you are shown theirs: the dataset pays nothing, and your budgets (yours and your purpose's) pay once what
        it cost them. If that is more than the price in a budget with a limit, the question is answered anew.

        With a `key`, such as a UUID for each request, what is sent twice is charged once and gets the same answer, also
        after a lost connection: a key belongs to one analyst and to one question at one price.

        `discreet.ledgers.charging` keeps the order of everything. What fails after the reservation stays spent, as a
        refund would depend on the data.

        With `narrow`, such as "0.1", that part of the price first buys bounds: the quantiles `cut` and 1 - `cut` of
        everything that is summed, over all groups. The rest pays for the question about values clamped between them.
        The bounds are a release, and the noise after them fits whatever bounds were chosen: the two compose
        adaptively, and their prices add up to the price. Values beyond the bounds are clamped, and no ± counts that;
        see `narrowed` for when it is worth it.
        """
        self.allowed("release")
        read = partial(self._price, epsilon=epsilon, rho=rho, delta=delta)
        price = read(within=within, confidence=confident(confidence), narrow=narrow, cut=cut)
        if price.narrow is not None:
            return self._narrow_first(price, key)
        return pay(self, Protection.of(self.recipe, price), key)

    def narrowed(
        self,
        *,
        cut: Number = "0.05",
        epsilon: Number | None = None,
        rho: Number | None = None,
        delta: Number | None = None,
        key: str = "",
    ) -> Question:
        """Buy closer bounds first: the same question about values that are clamped to two private quantiles.

        Where the policy's bounds are far wider than most values, noise is too: a small part of the budget for the
        quantiles `cut` and 1 - `cut` of everything that is summed, over all groups, may be worth it. It is a release of
        its own, charged at once at the price given here; the question that is returned has its own price, and its
        explanations show the bounds. What lies beyond them is clamped, which no ± includes. A smaller cut clamps less,
        but the rows beyond it must be many more than noise moves a rank by (some 30 rows of a unit / epsilon), else the
        bound may fall anywhere.
        """
        bought = replace(self, plan=bounds_plan(self.plan, cut_of(cut)))
        return self._between(bought.release(epsilon=epsilon, rho=rho, delta=delta, key=key))

    def _divided(self, price: Price) -> tuple[Question, Protection, Protection]:
        """Divide a price: the question for bounds and its part, and the rest, with all of delta, for this question."""
        narrow = price.narrow or Fraction(0)
        bought = replace(self, plan=bounds_plan(self.plan, price.cut))
        first = Protection.of(bought.recipe, price.part(narrow, Fraction(0)))
        return bought, first, Protection.of(self.recipe, price.part(1 - narrow, price.delta))

    def _narrow_first(self, price: Price, key: str) -> Answer:
        """Buy bounds, then the question between them; nothing is bought unless both would fit."""
        bought, first, rest = self._divided(price)
        request = f"{self.plan.key} for {price}, and first {bought.plan.key} for {first.price}"
        require_room([(bought, first)], [(self, rest)])
        bounds = pay(bought, first, key, request)
        close = self._between(bounds, rest.price)
        protection = Protection.of(close.recipe, rest.price)
        answer = pay(close, protection, key, request)
        promise = replace(protection, price=price).promise
        if bounds.repeated or answer.repeated or answer.combined > 1:  # made of releases that had prices of their own
            promise = f"{bounds.promise} + {answer.promise}"
        charges = {title: total(charge, answer.charges[title]) for title, charge in bounds.charges.items()}
        return replace(answer, promise=promise, cost=charges["dataset"], charges=charges, bounds=bounds)

    def ready(self, protection: Protection, snapshot: Snapshot) -> Callable[[], Answer]:
        """Give the function that computes the exact numbers and adds noise; the ledger calls it once it is paid.

        Known keys alone are answered from the policy: no engine is asked.
        """
        if protection.is_free:
            return lambda: answered(self.recipe, protection, None)
        exact = snapshot.add(self._near_ranks(protection))
        return lambda: answered(self.recipe, protection, exact())

    def _near_ranks(self, protection: Protection) -> Prepared:
        """Ask the engine only for what the noise needs: of ranks, the cells that a choice may fall on."""
        aggregate = self.plan.aggregate
        statistics = dict(enumerate(aggregate.statistics))
        for block, noise in zip(self.recipe.blocks, protection.noises, strict=True):
            statistics |= block.statistics(self.plan, noise)
        near = tuple(statistics.values())
        return (
            self._prepared if near == aggregate.statistics else self._prepared.near(replace(aggregate, statistics=near))
        )

    def allowed(self, action: str) -> None:
        """Refuse who may not do this with the tables that it reads."""
        self.purse.require_may(self.analyst, action, self.plan.tables)

    def _noise_lines(self) -> Iterator[str]:
        neighbors = self.plan.policy.budget.neighbors
        yield "numbers that get noise, each block a share of the price:"
        for block in self.recipe.blocks:
            moved = block.sensitivity(self.plan.aggregate, neighbors)
            yield from (f"  {line}" for line in block.explained(self.plan, moved))
        if not self.plan.aggregate.known:
            yield "  groups that enough units are in: selected privately, for a share of the price and delta"


def answered(
    recipe: Recipe, protection: Protection, aggregates: Aggregates | None, *, bits: BitSource = SYSTEM
) -> Answer:
    """Select groups, add noise, and put the answer together; the exact numbers end here."""
    kept = None
    groups: tuple[tuple[Value, ...], ...]
    if aggregates is None:  # there is nothing to measure
        groups = tuple(itertools.product(*(key.known or () for key in recipe.plan.aggregate.keys)))
        return Answer(recipe, groups, NoisyNumbers((), ()), protection.promise, protection.cost, (protection,))
    if protection.selection is None:
        groups = aggregates.groups
    else:
        kept, groups = _selected(protection.selection, aggregates, bits)
    blocks = zip(recipe.blocks, protection.noises, strict=True)
    noisy = tuple(block.protected(recipe.plan, noise, aggregates, kept, bits) for block, noise in blocks)
    numbers = NoisyNumbers(noisy, protection.noises)
    return Answer(recipe, groups, numbers, protection.promise, protection.cost, (protection,))


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
