"""A proposal from the rows, privately: what is asked in which order, at which price, and the lines read off it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from decimal import ROUND_FLOOR, Context, Decimal
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING

from discreet.engines import open_engine
from discreet.errors import BudgetError, ParameterError
from discreet.exact import shown
from discreet.ledgers import open_ledger
from discreet.methods.proposals import writing
from discreet.methods.proposals.given import simple
from discreet.methods.proposals.steps import DATES, ROWS_PER_UNIT, Desk, ends_of
from discreet.methods.proposals.writing import Line
from discreet.privacy.costs import total
from discreet.releases.asking.paying import fits
from discreet.tables import Column, Policy, Table
from discreet.tables.kinds import is_writable

if TYPE_CHECKING:
    from collections.abc import Iterator

    from discreet.methods.proposals.given import Given, Proposal
    from discreet.methods.proposals.steps import Step

__all__ = ["Purse", "Watch", "bought"]

Watch = Callable[[str, int, int], None]
"""Is told what is asked now, how many questions were asked, and how many there will be at most."""

_SHARES = {"rows": 2, "vote": 2, "column": 4}
"""How a price is divided, whatever the rows are: parts for a unit's rows, for a vote on a type, for bounds or keys."""
_MOST_KEYS = 200


def _draft(given: Given) -> Policy:
    """The policy under which the rows are asked: types that are declared, and no bounds or keys yet."""
    words = {"BIGINT": "integer", "DOUBLE": "float", "DATE": "date", "TIMESTAMP": "timestamp"}
    wanted = given.wanted
    tables = [
        Table(
            table,
            unit=unit,
            row_is_unit=given.row_is_unit,
            columns=[
                *([Column(unit, type="integer")] if unit is not None and given.unit_type(table) == "integer" else []),
                *(
                    Column(column, type=words.get(simple(given.tables[table][column] or ""), "text"))
                    for name, column, _ in wanted
                    if name == table
                ),
            ],
        )
        for table, unit in given.units.items()
    ]
    head = given.head
    return Policy(
        tables,
        epsilon=Fraction(head.epsilon.strip('"')),
        delta=Fraction(head.delta.strip('"')),
        neighbors=given.neighbors,
        dataset=head.dataset,
        source=head.source,
    )


@dataclass(frozen=True, slots=True)
class _Prices:
    """What each step costs: a price divided by fixed shares, each rounded down to four digits."""

    part: Fraction
    delta: Fraction
    """That of each search for keys: together, however many there are, they have that of one release."""

    @staticmethod
    def of(given: Given, epsilon: Fraction, policy: Policy) -> _Prices:
        wanted = given.wanted
        keys = bool(policy.budget.delta)
        rows = sum(unit is not None for unit in given.units.values())
        votes = sum(kind is None for _, _, kind in wanted)
        columns = sum(keys or kind != "VARCHAR" for _, _, kind in wanted)
        parts = rows * _SHARES["rows"] + votes * _SHARES["vote"] + columns * _SHARES["column"]
        if not parts:
            msg = "nothing is left to buy: names, types and the dictionary say all. Leave epsilon out."
            raise ParameterError(msg)
        searches = sum(kind in {None, "VARCHAR"} for _, _, kind in wanted)
        return _Prices(epsilon / parts, _rounded_down(policy.release_delta / max(searches, 1)))

    def __getitem__(self, share: str) -> Fraction:
        return _rounded_down(self.part * _SHARES[share])


def _rounded_down(exact: Fraction) -> Fraction:
    context = Context(prec=4, rounding=ROUND_FLOOR)
    return Fraction(context.divide(Decimal(exact.numerator), Decimal(exact.denominator)))


@dataclass(frozen=True, slots=True)
class Purse:
    """What pays for a proposal: a ledger's address, or the one beside a policy file.

    >>> Purse("memory").file is None
    True
    """

    ledger: str | Path | None
    file: str | Path | None = None


def bought(given: Given, frames: object, epsilon: Fraction, place: Purse, watch: Watch) -> Proposal:
    """Ask the rows; before anything is charged, or a ledger made, all questions are planned and seen to fit."""
    file = place.file
    _require_buyable(given, epsilon, place)
    policy = _draft(given)
    prices = _Prices.of(given, epsilon, policy)
    folder = None if file is None else Path(file).parent
    source = frames if isinstance(frames, Mapping) or file is None else None
    with open_engine(policy, source, relative_to=folder) as engine:
        with open_ledger(policy, "memory") as trial:
            _require_room(given, Desk(policy, engine, trial), prices)
        with open_ledger(policy, place.ledger, file=file, source=source) as purse:
            desk = Desk(policy, engine, purse)
            _require_room(given, desk, prices)
            return _Asking(given, desk, prices, watch).proposal()


def _require_buyable(given: Given, epsilon: Fraction, place: Purse) -> None:
    if epsilon <= 0:
        msg = f"epsilon is {shown(epsilon)}; it must be above 0. Without it, no row is read."
        raise ParameterError(msg)
    if epsilon > Fraction(given.head.epsilon.strip('"')):
        msg = f"epsilon is {shown(epsilon)}, and the whole budget {given.head.epsilon}; a proposal costs a part of it."
        raise ParameterError(msg)
    lacking = [table for table, unit in given.units.items() if unit is None and not given.row_is_unit]
    if lacking:
        msg = (
            f"table {shown(lacking[0])} does not say who is protected, and the ledger will be for these people alone; "
            "give the column with --unit, or --row-is-unit (in Python: unit=, row_is_unit=True); or, if it protects "
            f"nobody, --public-table {lacking[0]} (public=[…])."
        )
        raise ParameterError(msg)
    if place == Purse(None):
        msg = "with epsilon, say what pays: ledger='visits.ledger.sqlite', or 'memory' to try it out."
        raise ParameterError(msg)


def _steps(given: Given, desk: Desk, prices: _Prices, fallback: str) -> Iterator[Step]:
    """All questions that may be asked; of columns whose type is voted on, those about one kind."""
    for table, unit in given.units.items():
        if unit is not None:
            yield desk.rows_per_unit(table, prices["rows"])
    for table, column, kind in given.wanted:
        if kind is None:
            yield desk.vote(table, column, prices["vote"])
        chosen = kind or fallback
        if chosen != "VARCHAR":
            yield desk.ends(table, column, chosen, prices["column"])
        elif desk.policy.budget.delta:
            yield desk.keys(table, column, prices["column"], prices.delta)


def _require_room(given: Given, desk: Desk, prices: _Prices) -> None:
    """Refuse unless all questions together fit, whichever way the votes go."""
    for fallback in ("BIGINT", "DOUBLE", *DATES, "VARCHAR"):
        steps = list(_steps(given, desk, prices, fallback))
        costs = [step.question.preview(epsilon=step.price, delta=step.delta).charges["dataset"] for step in steps]
        if not fits(steps[0].question, {"dataset": total(*costs)}):
            msg = (
                "the questions of the proposal do not fit together into what is left of the budget. Nothing was spent: "
                "ask for less epsilon, or give the dataset a larger budget."
            )
            raise BudgetError(msg)


@dataclass(frozen=True, slots=True)
class _Asking:
    """Asks one question after the other, and reads the lines of the policy off the answers."""

    given: Given
    desk: Desk
    prices: _Prices
    watch: Watch
    paid: dict[str, Fraction] = field(default_factory=dict)

    def proposal(self) -> Proposal:
        """Rows per unit first, then types, then bounds and keys."""
        tables = [table for table, unit in self.given.units.items() if unit is not None]
        rows = {table: self._rows(table) for table in tables}
        votes = [(table, column) for table, column, kind in self.given.wanted if kind is None]
        elected = {place: self._vote(*place) for place in votes}
        lines = {}
        for table, column, declared in self.given.wanted:
            kind = declared or elected[table, column]
            spent = self.prices["vote"] if declared is None else Fraction(0)
            lines[table, column] = self._line(table, column, kind, spent)
        self.watch("", self._most, self._most)
        return self.given.proposal(lines, rows, self.paid)

    @property
    def _most(self) -> int:
        """How many questions there are at most."""
        units = sum(unit is not None for unit in self.given.units.values())
        return units + sum(2 if kind is None else 1 for _, _, kind in self.given.wanted)

    def _pay(self, table: str, step: Step) -> Step:
        self.watch(step.about, len(self.paid), self._most)
        name = step.about if len(self.given.tables) == 1 else f"{table}: {step.about}"
        self.paid[name] = step.price
        return step

    def _vote(self, table: str, column: str) -> str | None:
        return self._pay(table, self.desk.vote(table, column, self.prices["vote"])).counted().elected()

    def _rows(self, table: str) -> Line:
        step = self._pay(table, self.desk.rows_per_unit(table, self.prices["rows"]))
        place = step.counted().enough()
        price = _priced(step.price)
        if place is None:
            why = f"{price} showed too few units; of more rows, so many are kept"
            return Line("rows_per_unit", "10", why, left=True)
        most = ROWS_PER_UNIT[min(place, len(ROWS_PER_UNIT) - 1)]
        why = f"{price}: about 95 % of the units have no more; of others, so many are kept"
        return Line("rows_per_unit", str(most), why)

    def _line(self, table: str, column: str, kind: str | None, spent: Fraction) -> Line:
        """One column, whose type is known or was voted on for `spent`."""
        if kind is None:
            why = f"{_priced(spent)} showed no type: too few units for this price"
            return self.given.unpaid(table, column, why)
        if kind == "BOOLEAN":
            return Line(column, writing.declared(kind) or "", f"{_priced(spent)}: its type")
        if kind == "VARCHAR":
            return self._keys(table, column, spent)
        step = self._pay(table, self.desk.ends(table, column, kind, self.prices["column"]))
        return _ends(column, kind, step, _priced(spent + step.price))

    def _keys(self, table: str, column: str, spent: Fraction) -> Line:
        """Search for keys, where there is a delta for it."""
        text = writing.declared("VARCHAR") or ""
        if not self.desk.policy.budget.delta:
            return Line(column, text, "keys need a budget with a delta; list them to group by it")
        step = self._pay(table, self.desk.keys(table, column, self.prices["column"], self.prices.delta))
        shown = [row["k"] for row in step.release().to_dicts()]
        keys = [key for key in shown if key is None or (key and is_writable(key))]
        price = _priced(spent + step.price)
        if not any(keys):
            return Line(column, text, f"{price}: no value is frequent enough to be found")
        if len(keys) > _MOST_KEYS:
            return Line(column, text, f"{price}: more than {_MOST_KEYS} values are frequent")
        return Line(column, writing.keys(keys), f'{price}: the frequent ones; add what you know, or other = "other"')


def _priced(price: Fraction) -> str:
    return f"ε = {float(price):.4g}"


def _ends(column: str, kind: str, step: Step, price: str) -> Line:
    ends = ends_of(kind, step.counted())
    if ends is not None:
        why = f"{price}; what lies outside is clamped, discreet check says how much"
        return Line(column, writing.bounds(kind, ends), why)
    facts = writing.declared(kind)
    why = f"{price} showed no bounds: too few units for this price, or values far outside"
    return writing.example(column, kind, why) if facts is None else Line(column, facts, why)
