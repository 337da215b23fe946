"""A planned question: the tree that engines compute, and what is made of its noisy results."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING

from discreet.errors import ParameterError
from discreet.exact import shown
from discreet.plans.explain import dropped_lines, relation_lines, share_lines, within, written
from discreet.plans.expressions import Column, Expression
from discreet.plans.expressions.expression import Facts, require_small
from discreet.plans.nodes import Aggregate, GroupKey, Project
from discreet.plans.nodes.aggregate import known_keys
from discreet.plans.nodes.node import (
    digest,
    read_of,
    require_little_work,
    require_own_tables,
    tables_of,
    verified_of,
)
from discreet.plans.normal import Bounding, Shape, bounded, clipped, normal, simplified, unlimited
from discreet.plans.occurring import occurring
from discreet.plans.refusals import refuse
from discreet.plans.statistics import RowCount
from discreet.tables.kinds import Kind

if TYPE_CHECKING:
    import datetime as dt
    from collections.abc import Callable

    from discreet.plans.aggregates import Measure
    from discreet.plans.expressions.expression import Schema
    from discreet.plans.nodes import Node
    from discreet.plans.statistics import Statistic
    from discreet.tables import Policy, Value

__all__ = ["Ordering", "Plan", "Request"]


@dataclass(frozen=True, slots=True)
class Ordering:
    """By what the answer is sorted, after noise was added; NULLs come last.

    >>> Ordering(Column("n"), descending=True).descending
    True
    """

    value: Expression
    descending: bool = False


@dataclass(frozen=True)
class Request:
    """What a front end hands over: a relation, groups, measures, and what becomes of them.

    `keys` and `measures` are named expressions and measures over the relation. `outputs`, `having` and `order` are
    expressions over those names, evaluated on the released values.

    >>> from discreet.plans import aggregates, table
    >>> from discreet.tables import Policy, Table
    >>> people = table(Policy([Table("people", row_is_unit=True)], epsilon=1), "people")
    >>> list(people.agg(n=aggregates.count()).request.released)
    ['m0']
    """

    relation: Node
    keys: tuple[tuple[str, Expression], ...]
    measures: tuple[tuple[str, Measure], ...]
    outputs: tuple[tuple[str, Expression], ...]
    having: Expression | None = None
    order: tuple[Ordering, ...] = ()
    limit: int | None = None
    today: dt.date | None = None
    """The day that CURRENT_DATE stands for, as the policy declares it, if the question asks for it."""

    @property
    def released(self) -> dict[str, Facts]:
        """What is known about keys and measures once they were released."""
        below = self.relation.schema
        known = {name: expression.facts(below) for name, expression in self.keys}
        keys = {name: Facts(facts.kind, length=facts.length, declared=facts.declared) for name, facts in known.items()}
        return keys | {name: measure.facts() for name, measure in self.measures}


@dataclass(frozen=True)
class Plan:
    """A question that can be answered: bounded, normalized, with its public facts.

    `aggregate` is what an engine computes. `statistics_of(name)` says which of its statistics a measure is made of.
    `outputs`, `having`, `order` and `limit` say what becomes of the released values: arithmetic on them is free.
    Equal questions have equal `key`; names of outputs do not matter.

    >>> from discreet.plans import plan_sql
    >>> from discreet.tables import Policy, Table
    >>> policy = Policy([Table("people", row_is_unit=True)], epsilon=1)
    >>> print(plan_sql(policy, "SELECT COUNT(*) AS n FROM people").explain())
    answer: n
    measures: m0 = count(*)
    aggregate over all rows
      compute no columns · at most 1 row of one row of people
        scan people (private table, unit row) · at most 1 row of one row of people
    how far one unit can move the exact numbers (add_remove):
      rows: one unit moves one number by at most 1, all numbers together by at most 1

    """

    policy: Policy
    request: Request
    bounding: Bounding = field(default_factory=Bounding)

    def __post_init__(self) -> None:
        """Refuse what cannot be bounded, before anything else happens."""
        if not isinstance(self.bounding, Bounding):
            msg = f"bounding is {shown(self.bounding)}; it must be a Bounding, such as Bounding(rows=5)."
            raise ParameterError(msg)
        require_own_tables(self.policy, self.request.relation)
        if not self.request.measures and not self.request.keys:
            refuse(
                "SELECT",
                why="It asks for rows or keys, not for statistics of many units.",
                instead="an aggregate, such as COUNT(*), AVG(x) or SUM(x).",
            )
        answer = [*(value for _, value in self.request.outputs), *(ordering.value for ordering in self.request.order)]
        require_small(sum(value.parts for value in answer), max((value.depth for value in answer), default=0))
        self._require_condition()
        for _, measure in self.request.measures:
            measure.statistics(self.request.relation.schema)  # refuses in the words of the question
        for statistic in self.aggregate.statistics:
            self.aggregate.sensitivity(statistic)
        require_little_work(self.aggregate.child)
        if any(key.known == () for key in self.aggregate.keys):  # also beside keys that are found in the data
            refuse(
                "GROUP BY",
                why="Under the conditions none of the known keys can occur, so there is no group to answer for.",
                instead="conditions on keys that the policy lists.",
            )
        groups = self.aggregate.groups
        if groups is not None and groups > self.policy.most_groups:
            refuse(
                "GROUP BY",
                why=f"The known keys form {groups} groups, more than the policy's limit of {self.policy.most_groups}.",
                instead="fewer or coarser keys.",
            )

    def _require_condition(self) -> None:
        """Refuse a HAVING that is no condition: no group would ever fulfill it."""
        having = self.request.having
        kind = None if having is None else having.facts(self.request.released).kind
        if kind is not None and kind is not Kind.BOOLEAN:
            why = f"The condition is of kind {kind.value}, not a truth value."
            refuse("HAVING", why=why, instead="HAVING COUNT(*) > 100")

    @cached_property
    def _columns(self) -> tuple[tuple[str, Expression], ...]:
        """What is computed per row: keys, then operands of measures, each in the order of their canonical forms."""
        keys = [simplified(expression) for _, expression in self.request.keys]
        values = [simplified(operand) for _, measure in self.request.measures for operand in measure.operands]
        named = []
        for letter, expressions in (("k", keys), ("v", values)):
            unique = {repr(expression.canonical()): expression for expression in expressions}
            named += [(f"{letter}{place}", unique[form]) for place, form in enumerate(sorted(unique))]
        return tuple(named)

    def _name_of(self, expression: Expression, letter: str) -> str:
        return self._names[letter, simplified(expression)]

    @cached_property
    def _names(self) -> dict[tuple[str, Expression], str]:
        return {(name[0], expression): name for name, expression in self._columns}

    @cached_property
    def _source(self) -> tuple[Node, int | None]:
        """The relation that columns are computed over, and the limit that was taken off it for clamped sums."""
        relation = normal(self.request.relation)
        if self.bounding.shape is not Shape.SUMS:
            return relation, None
        relation, limit = unlimited(relation)
        return relation, self.bounding.rows_per_group or self.bounding.rows or limit

    @cached_property
    def _computed(self) -> Project:
        """The computed columns: the one relation whose facts decide what is counted, on which grid, and how far.

        Sensitivities of released blocks are derived from `statistics` and checked against `aggregate`: both must come
        from here, as another form of the same relation may know other bounds.
        """
        relation, _ = self._source
        child = normal(Project(relation, self._columns))
        if isinstance(child, Project):
            return child
        return Project(relation, self._columns)  # the table has just these columns under these names

    @cached_property
    def aggregate(self) -> Aggregate:
        """The exact statistics per group that an engine computes."""
        keys = tuple(name for name, _ in self._columns if name.startswith("k"))
        limited = bounded(self._computed, keys, self.bounding)
        computed = dict(self._computed.columns)
        below = self._computed.child.schema
        domains = self._narrow_enough(tuple(GroupKey(name, known_keys(computed[name], below)) for name in keys))
        made = Aggregate(limited, domains, self.statistics)
        if self.bounding.shape is not Shape.SUMS:
            return made
        limit = self._source[1]
        if limit is None:
            instead = "rows_per_unit in the policy, or Bounding(shape='sums', rows_per_group=2)."
            refuse("shape=sums", why="Nothing says how much a unit may add.", instead=instead)
        return clipped(made, limit)

    def _narrow_enough(self, keys: tuple[GroupKey, ...]) -> tuple[GroupKey, ...]:
        """Look for the groups of wide keys in the data, where all that bounds leave would be too many.

        Such a key has no list of the policy's, only bounds: it is selected privately instead, the widest first.
        """
        below = self._computed.child.schema
        computed = dict(self._computed.columns)
        while self.policy.release_delta and all(key.known is not None for key in keys):
            if math.prod(len(key.known or ()) for key in keys) <= self.policy.most_groups:
                break
            wide = [
                key for key in keys if computed[key.column].facts(below).domain is None and len(key.known or ()) > 2
            ]
            if not wide:
                break
            widest = max(wide, key=lambda key: len(key.known or ()))
            keys = tuple(GroupKey(key.column, None) if key is widest else key for key in keys)
        return keys

    @cached_property
    def possible(self) -> Callable[[tuple[Value, ...]], bool]:
        """A test of the aggregate's groups: False for combinations of keys that no row can have."""
        computed = dict(self._computed.columns)
        return occurring([computed[key.column] for key in self.aggregate.keys], self._computed.child.schema)

    @cached_property
    def _needs(self) -> dict[str, tuple[Statistic, ...]]:
        """The statistics of each measure, over the computed columns."""
        schema = self._computed.schema
        return {
            name: measure.with_operands(self._values(measure)).statistics(schema)
            for name, measure in self.request.measures
        }

    def _values(self, measure: Measure) -> tuple[Expression, ...]:
        """The operands of a measure as computed columns."""
        return tuple(Column(self._name_of(operand, "v")) for operand in measure.operands)

    def statistics_of(self, name: str) -> tuple[int, ...]:
        """Give the places, in `aggregate.statistics`, of the statistics that a measure is made of."""
        if name not in self._needs:
            msg = f"there is no measure {name!r}; there are {', '.join(needed for needed, _ in self.request.measures)}."
            raise ParameterError(msg)
        return tuple(self.statistics.index(needed) for needed in self._needs[name])

    @cached_property
    def statistics(self) -> tuple[Statistic, ...]:
        """The statistics as measures mean them, before sums are clamped per unit; in the aggregate's order.

        A question for keys alone releases none; an engine that looks for groups counts rows all the same.
        """
        if not self.request.measures:
            return (RowCount(),)
        return tuple(dict.fromkeys(needed for name, _ in self.request.measures for needed in self._needs[name]))

    @property
    def row_schema(self) -> Schema:
        """What is known about the computed columns that `statistics` speak of."""
        return self._computed.schema

    def key_column(self, name: str) -> str:
        """Give the aggregate's column for a group key of the question."""
        return self._name_of(dict(self.request.keys)[name], "k")

    @property
    def tables(self) -> tuple[str, ...]:
        """The tables that the question reads, for access rights."""
        return tables_of(self.request.relation)

    @property
    def verified(self) -> tuple[str, ...]:
        """The tables whose declared uniqueness is believed, as the owner had it checked for this version."""
        return verified_of(self.request.relation)

    @property
    def read(self) -> dict[str, str]:
        """The public tables whose columns were read from the source, each with a digest of what was read."""
        return read_of(self.request.relation)

    @cached_property
    def key(self) -> str:
        """What makes two questions the same: the canonical plan, the policy's facts, the version and the limits."""
        # Measures of equal statistics may need different mechanisms: a median and a minimum both count in bins.
        measures = [measure.with_operands(self._values(measure)).canonical() for _, measure in self.request.measures]
        form = [
            self.aggregate.canonical(),
            sorted(measures, key=repr),
            self.bounding.canonical(),
            self.policy.facts_hash,
            self.policy.version,
        ]
        return digest(form)

    @property
    def columns(self) -> dict[str, Facts]:
        """The columns of the answer, in order."""
        released = self.request.released
        return {name: expression.facts(released) for name, expression in self.request.outputs}

    def _within(self, name: str) -> str:
        """The bounds of a computed number, for an explanation."""
        facts = self.row_schema[name]
        return within(facts.bounds) if facts.kind.numeric and name.startswith("v") else ""

    def explain(self) -> str:
        """Say what is computed, what one unit can move, and what is assumed; from public facts alone."""
        request, aggregate = self.request, self.aggregate
        neighbors = self.policy.budget.neighbors
        measures = ", ".join(f"{name} = {measure.describe()}" for name, measure in request.measures)
        lines = [
            f"answer: {', '.join(name for name, _ in request.outputs)}",
            f"measures: {measures or 'none, the groups alone'}",
            *(f"  {name} = {written(expression)}{self._within(name)}" for name, expression in self._columns),
            aggregate.describe(),
            *relation_lines(aggregate.child),
            f"how far one unit can move the exact numbers ({neighbors.value}):",
            *share_lines(aggregate, neighbors),
            *dropped_lines(aggregate),
        ]
        if request.today is not None:
            lines.append(f"CURRENT_DATE is {request.today}, as the owner declares it for this version of the data.")
        if request.having is not None or request.order or request.limit is not None:
            lines.append("HAVING, ORDER BY and LIMIT act on the noisy values.")
        return "\n".join(lines)
