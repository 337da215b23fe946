"""A statement that is more than one core: explained and previewed for free, released for the price of its cores."""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, cast

from discreet.engines.duckdb.shell import SEALED, ShellTable
from discreet.errors import ParameterError, QueryRefused
from discreet.exact import counted
from discreet.exact.rational import as_text
from discreet.plans.shell.shell import in_words
from discreet.privacy.costs import total
from discreet.releases.asking.paying import fits
from discreet.releases.asking.question import Question
from discreet.releases.asking.questions import Questions
from discreet.releases.noise.protection import Price, confident
from discreet.releases.shell.answer import ShellAnswer
from discreet.releases.shell.tables import CoreTable, constants, empty_tables, public_kinds
from discreet.releases.showing.preview import Preview

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from discreet.engines import Engine
    from discreet.engines.duckdb.shell import Result
    from discreet.exact import Number
    from discreet.ledgers.purse import Purse
    from discreet.ledgers.statement import Usage
    from discreet.plans import Plan
    from discreet.plans.shell import Core, Shell
    from discreet.privacy.costs import Amount
    from discreet.releases.noise.protection import Protection
    from discreet.releases.noise.recipe import Recipe
    from discreet.releases.showing.answer import Answer
    from discreet.tables import Policy, Table, Value

__all__ = ["ShellQuestion", "promised"]

_LATER = "it is computed from what is released; its ± is told then, from the released values."


@dataclass(frozen=True, eq=False, repr=False)
class ShellQuestion:
    """A statement whose cores are released, and whose shell is computed from them for free.

    It is asked like any other question: the price is that of all cores together, in equal parts, and one core that is
    used twice is one release.

    >>> import pyarrow as pa
    >>> from discreet.database import Database
    >>> from discreet.tables import Column, Policy, Table
    >>> visits = Table("visits", unit="id", rows_per_unit=1, columns=[Column("ward", keys=["a", "b"])])
    >>> asked = "SELECT ward, n, n / SUM(n) OVER () AS s FROM (SELECT ward, COUNT(*) AS n FROM visits GROUP BY 1)"
    >>> with Database(Policy([visits], epsilon=1), {"visits": pa.table({"id": [1], "ward": ["a"]})}) as db:
    ...     print(db.sql(asked).preview(epsilon=1))
    n ± 3
    s: it is computed from what is released; its ± is told then, from the released values.
    promise: ε = 1; charge: ε = 1; used 0 % of ε = 1; about 1 more question like this one
    """

    shell: Shell
    engine: Engine
    purse: Purse
    analyst: str | None = None
    purpose: str | None = None
    asked: str = ""

    def __post_init__(self) -> None:
        """Refuse what cannot be released or computed, and who may not see it: before anything is paid."""
        self.allowed("explain")
        _ = self.cores
        _ = self._planned

    def __repr__(self) -> str:
        return f"ShellQuestion({', '.join(self._planned.names)} of {', '.join(self.tables)})"

    @property
    def tables(self) -> tuple[str, ...]:
        """The tables of the policy that it reads."""
        read = [name for core in self.shell.cores for name in core.plan.tables]
        return tuple(dict.fromkeys([*read, *(table.name for table in self._public)]))

    @property
    def policy(self) -> Policy:
        """What is public about the data."""
        return self.shell.policy

    @property
    def plan(self) -> Plan:
        """The plan of its core, where it has one alone; else each of its `cores` has one."""
        return self._alone("plan").plan

    @property
    def recipe(self) -> Recipe:
        """Which numbers get noise, where it has one core alone."""
        return self._alone("recipe").recipe

    def narrowed(  # one argument for each way to state a price
        self,
        *,
        cut: Number = "0.05",
        epsilon: Number | None = None,
        rho: Number | None = None,
        delta: Number | None = None,
        key: str = "",
    ) -> Question:
        """Buy closer bounds for its core, where it has one alone, and give the question of that; see `Question`."""
        return self._alone("narrowed").narrowed(cut=cut, epsilon=epsilon, rho=rho, delta=delta, key=key)

    def _alone(self, name: str) -> Question:
        if len(self.cores) != 1:
            msg = f"this statement has {counted(len(self.cores), 'core')}; look at cores[0].{name} and its like."
            raise ParameterError(msg)
        return self.cores[0]

    @cached_property
    def cores(self) -> tuple[Question, ...]:
        """Its cores, each a question of its own."""
        plans = (core.plan for core in self.shell.cores)
        return tuple(Question(plan, self.engine, self.purse, self.analyst, self.purpose, self.asked) for plan in plans)

    @cached_property
    def _planned(self) -> Result:
        """What the shell would give, as it is seen on tables without rows; refused if it is not understood."""
        try:
            return SEALED.planned(self.shell.text, empty_tables(self.shell))
        except QueryRefused as refused:
            texts = (refused.part, refused.why, refused.instead)
            part, why, instead = (in_words(text, self.shell.cores) for text in texts)
            raise QueryRefused(part, why=why, instead=instead) from None

    def core(self, place: int, answers: Mapping[int, Answer]) -> Question | None:
        """Give a core that can be released once these others are: with the constants that they are released as."""
        core = self.shell.cores[place]
        if not core.holes:
            return self.cores[place]
        released = {
            self.shell.cores[number].name: CoreTable(self.shell.cores[number], answer).released
            for number, answer in answers.items()
        }
        if any(needed.name not in released for hole in core.holes for needed in hole.shell.cores):
            return None
        return replace(self.cores[place], plan=core.filled(self._constants(core, released)))

    def _constants(self, core: Core, released: Mapping[str, ShellTable]) -> dict[str, Value]:
        """Compute the constants of a core from what was released."""
        public = {table.name: table for table in self._public_tables}
        values: dict[str, Value] = {}
        for hole in core.holes:
            tables = [released[needed.name] for needed in hole.shell.cores]
            tables += [public[table.name] for table in hole.shell.tables]
            values |= constants(hole, SEALED.run(hole.shell.text, tables))
        return values

    def explain(self, *, narrow: Number | None = None, cut: Number = "0.05") -> str:
        """Say what is released and what is computed from it; from public facts alone."""
        self.allowed("explain")
        _require_plain(None, narrow)
        del cut
        lines = [f"answer: {', '.join(self._planned.names)}"]
        for core, question in zip(self.shell.cores, self.cores, strict=True):
            lines += [f"{core.name}, which is released: {core.text}"]
            lines += [f"  {hole.name}, a constant that is released before: {hole.shell.text}" for hole in core.holes]
            lines += [f"  {line}" for line in question.explain().splitlines()]
        lines += [f"public table: {table.name}" for table in self.shell.tables]
        lines += [f"shell, which is computed from that for free: {self.shell.text}"]
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
        """Say what a release at this price would promise, cost and err by, where that is known before it.

        Columns that a core shows have its ±; that of others depends on the released values.
        """
        self.allowed("preview")
        _require_plain(within, narrow)
        del cut
        both = Questions([self], self.purse)
        sure = confident(confidence)
        preview = both.preview(epsilon, rho=rho, delta=delta, expected_count=expected_count, confidence=sure)[0]
        if not self.cores or preview.repeated:
            return preview
        price = Price.read(self.policy, epsilon=epsilon, rho=rho, delta=delta)
        protections = both.protections(price)
        return replace(preview, promise=promised(price, protections, [preview.promise])) if protections else preview

    def gathered(self, previews: Sequence[Preview]) -> Preview:
        """Make its preview of those of its cores."""
        if not previews:
            return self._free_preview()
        charges = _summed([preview.charges for preview in previews])
        errors, notes = self._foreseen(previews)
        return Preview(
            errors,
            notes,
            " + ".join(preview.promise for preview in previews),
            charges["dataset"],
            previews[0].remaining,
            charges,
            all(preview.repeated for preview in previews),
            self.usage(charges["dataset"]),
            fits(self.cores[0], charges),
        )

    def _free_preview(self) -> Preview:
        """A statement about public tables alone costs nothing."""
        nothing = self.purse.remaining_for(self.analyst, self.purpose) * 0
        errors: dict[str, float | None] = dict.fromkeys(self._planned.names)
        notes = {"tables": "all are public, so it costs nothing."}
        return Preview(errors, notes, "public", nothing, None, {"dataset": nothing}, usage=self.usage(nothing))

    def _foreseen(self, previews: Sequence[Preview]) -> tuple[dict[str, float | None], dict[str, str]]:
        """The ± of each column that a core shows, and why there is none before the release."""
        errors: dict[str, float | None] = {}
        notes: dict[str, str] = {}
        named = {core.name: preview for core, preview in zip(self.shell.cores, previews, strict=True)}
        lineages = self.shell.lineage if len(self.shell.lineage) == len(self._planned.names) else ()
        for place, name in enumerate(self._planned.names):
            lineage = lineages[place] if lineages else None
            errors[name] = None
            if lineage is not None and lineage.source is not None and not lineage.exact:
                core, column = lineage.source
                errors[name] = named[core].errors[column]
                if column in named[core].notes:
                    notes[name] = named[core].notes[column]
            elif lineage is None or not lineage.exact:
                notes[name] = lineage.reason if lineage is not None and lineage.reason else _LATER
        columns = set(self._columns_of_cores)
        notes |= {name: note for preview in previews for name, note in preview.notes.items() if name not in columns}
        return errors, notes

    @property
    def _columns_of_cores(self) -> list[str]:
        return [name for core in self.shell.cores for name in core.plan.columns]

    def usage(self, charge: Amount) -> Usage:
        """How much is used of the asker's budgets, and how often a charge would still fit."""
        return self.purse.usage(self.analyst, self.purpose, charge if any(charge.fields().values()) else None)

    def release(  # noqa: PLR0913 - prices
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
    ) -> ShellAnswer:
        """Release the cores for one price, in equal parts, and compute the rest from them; see `Question.release`.

        Public tables are read before anything is paid. If the shell fails after that, the releases of the cores are
        recorded: asked again they cost nothing, and another shell over the same cores neither.
        """
        self.allowed("release")
        _require_plain(within, narrow)
        del confidence, cut
        return cast("ShellAnswer", Questions([self], self.purse).release(epsilon, rho=rho, delta=delta, key=key)[0])

    def gathering(self) -> Callable[[Sequence[Answer], Price | None], ShellAnswer]:
        """Read the public tables, and give what puts its answer together from the releases of its cores."""
        tables = self._public_tables
        return lambda answers, price: self._answered(answers, tables, price)

    def _answered(self, answers: Sequence[Answer], tables: Sequence[ShellTable], price: Price | None) -> ShellAnswer:
        """Put the answer together from the releases of the cores."""
        if not answers:
            return self._free_answer(tables)
        different = {answer.plan.key: answer for answer in answers}
        charges = _summed([answer.charges for answer in different.values()])
        answer = ShellAnswer(
            self.shell,
            tuple(answers),
            tuple(tables),
            promised(price, *_made(different.values())),
            charges["dataset"],
            answers[-1].head,
            all(answer.repeated for answer in answers),
            charges,
        )
        _ = answer.columns  # what fails is said here, not when it is shown
        return answer

    def _free_answer(self, tables: Sequence[ShellTable]) -> ShellAnswer:
        nothing = self.purse.remaining_for(self.analyst, self.purpose) * 0
        return ShellAnswer(self.shell, (), tuple(tables), "public", nothing, charges={"dataset": nothing})

    @cached_property
    def _public_tables(self) -> list[ShellTable]:
        """The public tables that the shell and its constants read."""
        return [
            ShellTable(table.name, kinds, dict(zip(kinds, self.engine.public_rows(table), strict=True)))
            for table in self._public
            for kinds in [public_kinds(table)]
        ]

    @property
    def _public(self) -> list[Table]:
        read = {table.name: table for table in self.shell.tables}
        read |= {table.name: table for core in self.shell.cores for hole in core.holes for table in hole.shell.tables}
        return list(read.values())

    def allowed(self, action: str) -> None:
        """Refuse who may not do this with the tables that it reads."""
        self.purse.require_may(self.analyst, action, self.tables)


def _require_plain(within: object, narrow: object) -> None:
    if within is not None or narrow is not None:
        name = "within" if within is not None else "narrow"
        msg = f"{name} is for a question without a shell; give epsilon, or ask for the parts by themselves."
        raise ParameterError(msg)


def _summed(charges: Sequence[Mapping[str, Amount]]) -> dict[str, Amount]:
    first, *rest = charges
    summed = dict(first)
    for more in rest:
        summed = {title: total(charge, more[title]) for title, charge in summed.items()}
    return summed


def _made(answers: Iterable[Answer]) -> tuple[list[Protection], list[str]]:
    """What protects the releases of the cores, if all are new and stand alone, and what each promises."""
    listed = list(answers)
    new = all(not answer.repeated and answer.combined == 1 for answer in listed)
    return [answer.parts[0] for answer in listed if new], [answer.promise for answer in listed]


def promised(price: Price | None, protections: Sequence[Protection], promises: Sequence[str]) -> str:
    """What all cores promise together: the price, where all of them are paid from it.

    >>> promised(Price(Fraction(1), None, Fraction(0)), [], ["ε = 0.5", "ε = 0.5"])
    'ε = 0.5 + ε = 0.5'
    """
    if price is None or not protections:
        return " + ".join(promises)
    converted = price.epsilon is not None and any(part.price.epsilon is None for part in protections)
    delta = price.delta if converted else sum((part.delta for part in protections), Fraction(0))
    symbol, amount = ("ε", price.epsilon) if price.epsilon is not None else ("ρ", price.rho)
    return f"{symbol} = {as_text(amount or Fraction(0))}" + (f", δ = {as_text(delta)}" if delta else "")
