"""The outermost SELECT: groups, aggregates, and what becomes of the noisy values."""

from __future__ import annotations

import itertools
from dataclasses import replace
from typing import TYPE_CHECKING

from sqlglot import exp

from discreet.plans.expressions import Column
from discreet.plans.normal import Bounding
from discreet.plans.plan import Ordering, Plan, Request
from discreet.plans.sql.constants import whole_of
from discreet.plans.sql.expressions import Scalars
from discreet.plans.sql.google import read_options, require_unit
from discreet.plans.sql.grouped import (
    Grouped,
    alias_of,
    contains_aggregate,
    group_keys,
    keys_of,
    measure_of,
    output_name,
)
from discreet.plans.sql.reading import matching, only, read_statement, refuse_part
from discreet.plans.sql.relations import Relations
from discreet.plans.sql.spelling import dated

if TYPE_CHECKING:
    from collections.abc import Iterable

    from discreet.plans.aggregates import Measure
    from discreet.plans.expressions import Expression
    from discreet.tables import Policy

__all__ = ["plan_sql", "planned", "read_question"]

_TODAY, _OPTIONS = "today", "options"
"""Under these names a statement carries what was read beside it; the cores of one that is split carry it too."""

_MOST_ROWS = 1_000_000


def plan_sql(
    policy: Policy,
    text: str,
    *,
    dialect: str = "duckdb",
    bounding: Bounding | None = None,
    verified: frozenset[str] = frozenset(),
) -> Plan:
    """Plan a question in SQL, or refuse it; no data is touched.

    `verified` names the tables whose uniqueness the owner has had verified for this version of the data.

    >>> from discreet.tables import Column, Policy, Table
    >>> visits = Table(
    ...     "visits",
    ...     unit="patient_id",
    ...     rows_per_unit=20,
    ...     columns=[Column("ward", keys=["cardiology", "surgery"]), Column("cost", lower=0, upper=50_000)],
    ... )
    >>> policy = Policy([visits], epsilon=3)
    >>> plan = plan_sql(policy, "SELECT ward, COUNT(*) AS n, AVG(cost) AS cost FROM visits GROUP BY ward")
    >>> plan.aggregate.groups, plan.aggregate.rows_per_unit, list(plan.columns)
    (2, 20, ['ward', 'n', 'cost'])
    >>> plan_sql(policy, "SELECT * FROM visits")
    Traceback (most recent call last):
    ...
    discreet.errors.QueryRefused: *: No single row is ever shown. Write instead: COUNT(*), AVG(x) or SUM(x).
    """
    return planned(policy, read_question(policy, text, dialect), dialect=dialect, bounding=bounding, verified=verified)


def read_question(policy: Policy, text: str, dialect: str = "duckdb") -> exp.Expression:
    """Parse a question; the policy's day stands for CURRENT_DATE, and Google's clause beside the statement.

    >>> from discreet.tables import Policy, Table
    >>> policy = Policy([Table("people", row_is_unit=True)], epsilon=1)
    >>> read_question(policy, "SELECT COUNT(*) FROM people").sql()
    'SELECT COUNT(*) FROM people'
    """
    plain, options = text, None
    if isinstance(text, str) and "options" in text.casefold():
        plain, options = read_options(text)
    statement = read_statement(plain, dialect)
    if policy.today is not None and dated(statement, policy.today):
        statement.meta[_TODAY] = policy.today
    if options is not None:
        statement.meta[_OPTIONS] = options
    return statement


def planned(
    policy: Policy,
    statement: exp.Expression,
    *,
    dialect: str = "duckdb",
    bounding: Bounding | None = None,
    verified: frozenset[str] = frozenset(),
) -> Plan:
    """Plan a statement that was read already.

    >>> from discreet.tables import Policy, Table
    >>> policy = Policy([Table("people", row_is_unit=True)], epsilon=1)
    >>> list(planned(policy, read_question(policy, "SELECT COUNT(*) AS n FROM people")).columns)
    ['n']
    """
    options = statement.meta.get(_OPTIONS)
    try:
        request = replace(_request(Relations(policy, dialect, verified), statement), today=statement.meta.get(_TODAY))
        if options is not None:
            bounding = bounding or options.bounding
            require_unit(request.relation, options.unit)
        return Plan(policy, request, bounding or Bounding())
    except RecursionError:
        refuse_part(statement, "It is nested too deeply.", "a flatter question.")


def _request(relations: Relations, statement: exp.Expression) -> Request:
    """Read the outermost SELECT."""
    if isinstance(statement, exp.Subquery):
        only(statement, "this")
        return _request(relations, statement.this)
    if not isinstance(statement, exp.Select):
        refuse_part(
            statement,
            "A question is one SELECT; it changes nothing and reads nothing else.",
            "SELECT COUNT(*) FROM (… UNION ALL …) AS both, or another SELECT.",
        )
    only(statement, "expressions", "from_", "joins", "where", "group", "having", "order", "limit", "with_", "distinct")
    rows = Scalars(relations.scope(statement, relations.named(statement, {})), relations.dialect)
    keys = {f"key{place}": key for place, key in enumerate(_keys_of(statement, rows))}
    for key in keys.values():
        if key.facts(rows.schema).unit:
            refuse_part(
                statement.args.get("group") or statement,
                "Each unit would be a group of its own, and no single unit's answer is given out.",
                "a subquery grouped by the unit whose results are aggregated, or COUNT(DISTINCT unit).",
            )
    grouped: Grouped[Measure] = Grouped(rows, keys, measure_of, lambda measure: measure.facts())
    outputs = _outputs(statement, grouped)
    having = statement.args.get("having")
    condition = None if having is None else grouped.expression(having.this)
    if having is not None and condition is not None:
        _no_list(having.this, [condition], grouped)
    order = _order(statement, grouped, outputs)
    return Request(
        rows.scope.node,
        tuple(keys.items()),
        tuple(grouped.parts.items()),
        tuple(outputs.items()),
        condition,
        order,
        _limit(statement),
    )


def _keys_of(statement: exp.Select, rows: Scalars) -> list[Expression]:
    """What the answer is grouped by: GROUP BY, or all that SELECT DISTINCT shows."""
    distinct = statement.args.get("distinct")
    if distinct is None:
        return group_keys(statement, rows)
    only(distinct)
    shown = [node for node, _ in map(alias_of, statement.expressions)]
    if statement.args.get("group") is None and not any(map(contains_aggregate, shown)):
        return keys_of(shown, rows)
    keys = group_keys(statement, rows)
    plain = keys_of([node for node in shown if not contains_aggregate(node)], rows)
    if any(key not in plain for key in keys):
        instead = "the same without DISTINCT, or the keys of GROUP BY among what is selected."
        refuse_part(statement, "DISTINCT would merge groups whose keys are not shown.", instead)
    return keys


def _outputs(statement: exp.Select, grouped: Grouped[Measure]) -> dict[str, Expression]:
    """Translate the SELECT list; outputs of one name are numbered."""
    outputs: dict[str, Expression] = {}
    named: dict[str, Expression] = {}
    for place, item in enumerate(statement.expressions):
        name = output_name(item, place)
        numbered = itertools.chain((name,), (f"{name}_{number}" for number in itertools.count(2)))
        unique = next(numbered_name for numbered_name in numbered if numbered_name not in outputs)
        outputs[unique] = grouped.expression(alias_of(item)[0])
        _no_list(item, outputs[unique].operands, grouped)
        if named.setdefault(name.casefold(), outputs[unique]) != outputs[unique]:
            grouped.ambiguous.add(name.casefold())
    grouped.aliases.update(outputs)
    return outputs


def _no_list(item: exp.Expression, values: Iterable[Expression], grouped: Grouped[Measure]) -> None:
    """Several quantiles or bins are a list: it can be given out, not computed with, compared or sorted by."""
    lists = {name for name, measure in grouped.parts.items() if measure.size > 1}
    if any(isinstance(part, Column) and part.name in lists for value in values for part in value.walk()):
        refuse_part(item, "A list of quantiles or bins cannot be computed with.", "one level at a time.")


def _order(statement: exp.Select, grouped: Grouped[Measure], outputs: dict[str, Expression]) -> tuple[Ordering, ...]:
    """Read ORDER BY: positions, names or expressions of outputs."""
    clause = statement.args.get("order")
    if clause is None:
        return ()
    only(clause, "expressions")
    orderings = []
    for item in clause.expressions:
        only(item, "this", "desc", "nulls_first")
        node = item.this
        if isinstance(node, exp.Var) and node.name.upper() == "ALL":
            orderings += [Ordering(value, bool(item.args.get("desc"))) for value in outputs.values()]
            continue
        if isinstance(node, exp.Literal):
            place = whole_of(node)
            if not 1 <= place <= len(outputs):
                refuse_part(item, "There is no such output.", "ORDER BY 1, or an output's name.")
            value = list(outputs.values())[place - 1]
        else:
            name = _named_output(statement, node)
            value = grouped.column(node) if name is not None else grouped.expression(node)
        _no_list(item, [value], grouped)
        orderings.append(Ordering(value, bool(item.args.get("desc"))))
    return tuple(orderings)


def _named_output(statement: exp.Select, node: exp.Expression) -> str | None:
    """Find the output that a plain name in ORDER BY means: names that AS gives come before those of columns."""
    if not isinstance(node, exp.Column) or node.args.get("table") is not None:
        return None
    return matching(node.this, [name for _, name in map(alias_of, statement.expressions) if name is not None])


def _limit(statement: exp.Select) -> int | None:
    """Read LIMIT."""
    clause = statement.args.get("limit")
    if clause is None:
        return None
    if not isinstance(clause, exp.Limit):
        refuse_part(clause, "Only LIMIT is read.", "LIMIT 10")
    only(clause, "expression")
    limit = whole_of(clause.expression)
    if not 0 <= limit <= _MOST_ROWS:
        refuse_part(clause, f"A limit lies between 0 and {_MOST_ROWS}.", "LIMIT 10")
    return limit
