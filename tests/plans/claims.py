"""Compare what a plan claims with what happens on a database and on its neighbors."""

from __future__ import annotations

from collections import Counter
from fractions import Fraction
from typing import TYPE_CHECKING, Any, TypeAlias

from discreet.plans.statistics import RankedCells
from discreet.privacy import NeighborRelation
from discreet.tables.kinds import LONGEST_TEXT, Kind, as_number, is_of_kind
from tests.plans.hospital import without
from tests.plans.interpreter import by_key, by_unit, groups_of, rows_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from discreet.plans.expressions.expression import Facts
    from discreet.plans.nodes import Aggregate, Node
    from discreet.plans.statistics import Statistic
    from tests.plans.interpreter import Database, Rows

    Groups: TypeAlias = "dict[tuple[Any, ...], list[tuple[int, ...]]]"


def violations(aggregate: Aggregate, database: Database, unit: object, other: object) -> Iterator[str]:
    """Name every claim of a plan that a database refutes, for two units that may be there or not."""
    for node in aggregate.child.walk():
        rows = rows_of(node, database)
        name = type(node).__name__
        yield from (f"{name}: {text}" for text in wrong_facts(node, rows))
        yield from (f"{name}: {text}" for text in wrong_shares(node, rows))
        left = [(owner, row) for owner, row in rows if owner != unit or not node.private]
        if counted(left) != counted(rows_of(node, without(database, unit))):
            yield f"{name}: removing a unit changes other rows"
    yield from wrong_moves(aggregate, database, unit, other)


def counted(rows: Rows) -> Counter[str]:
    """A bag of rows."""
    return Counter(repr((unit, list(row.items()))) for unit, row in rows)


def wrong_facts(node: Node, rows: Rows) -> Iterator[str]:
    """Cells that are not what the schema says."""
    for unit, row in rows:
        if list(row) != list(node.schema):
            yield "the columns differ"
        for name, facts in node.schema.items():
            if not fits(row[name], facts):
                yield f"{name} holds {row[name]!r}, against {facts}"
            if facts.unit and row[name] != unit:
                yield f"{name} is not the unit"


def fits(value: Any, facts: Facts) -> bool:  # noqa: ANN401 - a cell
    """Tell whether a cell is what is claimed."""
    if value is None:
        return facts.nullable
    if not is_of_kind(value, facts.kind):
        return False
    if facts.kind.numeric:
        return facts.bounds.contains(Fraction(value))
    if facts.kind is Kind.TEXT:
        return len(value) <= facts.length <= LONGEST_TEXT
    return facts.bounds.contains(as_number(value)) if facts.kind.temporal else True


def wrong_shares(node: Node, rows: Rows) -> Iterator[str]:
    """Units with more rows, or rows in more groups, than claimed; values that are unique only by claim."""
    for columns in node.unique:
        if any(len(group) > 1 for group in by_key([row for _, row in rows], sorted(columns)).values()):
            yield f"{sorted(columns)} is not unique"
    if not node.private:
        return
    for owned in by_unit(rows).values():
        yield from wrong_singles(node, owned)
        if node.rows is not None and len(owned) > node.rows:
            yield f"{len(owned)} rows of a unit, against {node.rows}"
        for spread in node.spreads:
            groups = by_key(owned, sorted(spread.columns))
            if spread.groups is not None and len(groups) > spread.groups:
                yield f"{len(groups)} groups of a unit, against {spread.groups}"
            if spread.rows is not None and max(map(len, groups.values())) > spread.rows:
                yield f"more rows of a unit in a group than {spread.rows}"


def wrong_singles(node: Node, owned: list[Any]) -> Iterator[str]:
    """Columns with several values in the rows of a unit, against the claim."""
    for name, facts in node.schema.items():
        if facts.single and len({row[name] for row in owned} - {None}) > 1:
            yield f"{name} has several values in the rows of a unit"


def differences(statistic: Statistic, first: tuple[int, ...], second: tuple[int, ...]) -> Iterator[int]:
    """How far apart the numbers of a group are: number by number, or cell by cell where cells are listed."""
    if isinstance(statistic, RankedCells):
        one, two = ({each[place]: each[place + 2] for place in range(0, len(each), 4)} for each in (first, second))
        yield from (one.get(cell, 0) - two.get(cell, 0) for cell in {*one, *two})
    else:
        zero = (0,) * statistic.size
        yield from (a - b for a, b in zip(first or zero, second or zero, strict=True))


def wrong_moves(aggregate: Aggregate, database: Database, unit: object, other: object) -> Iterator[str]:
    """Statistics that move further than claimed, for both neighbor relations."""
    here = groups_of(aggregate, database)
    one, two = groups_of(aggregate, without(database, unit)), groups_of(aggregate, without(database, other))
    yield from refuted(aggregate, NeighborRelation.ADD_REMOVE, here, one)
    yield from refuted(aggregate, NeighborRelation.CHANGE_ONE, one, two)


def refuted(aggregate: Aggregate, relation: NeighborRelation, first: Groups, second: Groups) -> Iterator[str]:
    """Statistics that differ by more than claimed between two neighbors."""
    for place, statistic in enumerate(aggregate.statistics):
        claim = aggregate.sensitivity(statistic, relation)
        moves = [
            abs(move)
            for group in {*first, *second}
            for move in differences(
                statistic, *(each[group][place] if group in each else () for each in (first, second))
            )
        ]
        if max(moves, default=0) > claim.largest:
            yield f"{statistic.symbol} moves by {max(moves)}, against {claim.largest} ({relation.value})"
        if sum(moves) > claim.l1:
            yield f"{statistic.symbol} moves by {sum(moves)} in all, against {claim.l1} ({relation.value})"
        if sum(move**2 for move in moves) > claim.l2_squared:
            yield f"{statistic.symbol} moves too far in squares ({relation.value})"
