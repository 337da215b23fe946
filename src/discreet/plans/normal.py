"""One form for questions that mean the same, so that a question asked twice is recognized and paid once.

Only rewritings that never change a value are made: what is not recognized as equal costs budget, never privacy.
"""

from __future__ import annotations

from operator import is_
from typing import TYPE_CHECKING

from discreet.plans.expressions import (
    Add,
    And,
    Column,
    Equal,
    Expression,
    In,
    Less,
    LessOrEqual,
    Literal,
    Multiply,
    Not,
    NotEqual,
    Operation,
    Or,
)
from discreet.plans.nodes import Filter, Node, Project, SemiJoin
from discreet.plans.tree import rebuilt
from discreet.tables.kinds import Kind

if TYPE_CHECKING:
    from collections.abc import Mapping

    from discreet.tables.kinds import Value

__all__ = ["normal", "replaced", "simplified"]

_COMMUTATIVE = (Add, Multiply, Equal, NotEqual)
_OPPOSITE = {Equal: NotEqual, NotEqual: Equal}
_TURNED = {Less: LessOrEqual, LessOrEqual: Less}


def _order(expression: Expression) -> str:
    return repr(expression.canonical())


def replaced(expression: Expression, columns: Mapping[str, Expression]) -> Expression:
    """Put expressions in the place of columns.

    >>> replaced(Column("x"), {"x": Literal(1, Kind.INTEGER)})
    Literal(value=1, kind=<Kind.INTEGER: 'integer'>)
    """
    if isinstance(expression, Column):
        return columns[expression.name]
    if not expression.operands:
        return expression
    return expression.with_operands(tuple(replaced(operand, columns) for operand in expression.operands))


def simplified(expression: Expression) -> Expression:
    """Bring an expression to its normal form: same value for every row.

    AND and OR are flattened, freed of repetitions and sorted; operands of + * = <> are sorted (floating-point
    addition and multiplication commute, they do not associate); NOT is moved into comparisons, which three-valued
    logic allows; a list of one is an equality; operations on constants are computed.

    >>> both = And((Less((Column("b"), Column("a"))), Equal((Literal(1, Kind.INTEGER), Column("a")))))
    >>> turned = And((Equal((Column("a"), Literal(1, Kind.INTEGER))), Less((Column("b"), Column("a")))))
    >>> simplified(both) == simplified(turned)
    True
    """
    if not isinstance(expression, Operation) or not expression.operands:
        return expression
    if "simplified" not in expression.memo:
        found = expression.memo["simplified"] = _simplified(expression)
        if isinstance(found, Operation):
            found.memo["simplified"] = found
    remembered: Expression = expression.memo["simplified"]
    return remembered


def _simplified(expression: Operation) -> Expression:
    operands = tuple(simplified(operand) for operand in expression.operands)
    found = expression if _same(operands, expression.operands) else expression.with_operands(operands)
    if isinstance(found, And | Or):
        return _connected(found)
    if isinstance(found, Not):
        return _negated(found)
    if isinstance(found, In):
        return _listed(found)
    if isinstance(found, _COMMUTATIVE):
        in_order = tuple(sorted(found.operands, key=_order))
        found = found if _same(in_order, found.operands) else found.with_operands(in_order)
    return _folded(found)


def _same(parts: tuple[object, ...], others: tuple[object, ...]) -> bool:
    """Tell whether these are the very same objects: then what was derived from them need not be derived again."""
    return len(parts) == len(others) and all(map(is_, parts, others))


def _connected(found: And | Or) -> Expression:
    """Flatten, drop repetitions, sort; a part that decides alone decides, one that never does is dropped."""
    decides = isinstance(found, Or)
    parts: dict[str, Expression] = {}
    for operand in found.operands:
        for part in operand.operands if isinstance(operand, type(found)) else (operand,):
            if isinstance(part, Literal) and part.value is decides:
                return part
            if not (isinstance(part, Literal) and part.value is (not decides)):
                parts[_order(part)] = part
    if not parts:
        return Literal(not decides, Kind.BOOLEAN)
    kept = tuple(parts[name] for name in sorted(parts))
    return kept[0] if len(kept) == 1 else found.with_operands(kept)


def _negated(found: Not) -> Expression:
    """NOT NOT x is x; NOT x = y is x <> y; NOT x < y is y <= x: all are NULL for the same rows."""
    inner = found.operands[0]
    if isinstance(inner, Not):
        return inner.operands[0]
    for kind, other in _OPPOSITE.items():
        if isinstance(inner, kind):
            return other(inner.operands)
    for kind, other in _TURNED.items():
        if isinstance(inner, kind):
            return other(inner.operands[::-1])
    return _folded(found)


def _listed(found: In) -> Expression:
    """Sort the constants; one constant is an equality."""
    choices: dict[str, Value] = {repr(choice): choice for choice in found.choices}
    if len(choices) == 1:
        value = next(iter(choices.values()))
        return simplified(Equal((found.operands[0], Literal(value, Kind.of(value)))))
    return _folded(In(found.operands, tuple(choices[name] for name in sorted(choices))))


def _folded(found: Expression) -> Expression:
    """Compute an operation on constants."""
    if not all(isinstance(operand, Literal) for operand in found.operands):
        return found
    return Literal(found.evaluate({}), found.facts({}).kind)


def normal(node: Node) -> Node:
    """Bring a relation to its normal form: the same rows for every database.

    Filters that follow each other become one; computed columns move above filters and into each other; what is passed
    on unchanged is no step. Nothing moves across a limit on rows: ranks are computed from a row as it stands there.

    >>> from discreet.plans.nodes import Scan
    >>> from discreet.tables import Column as Declared, Table
    >>> visits = Scan(Table("visits", unit="id", columns=[Declared("age", lower=0, upper=120)]))
    >>> renamed = Project(visits, (("years", Column("age")),))
    >>> young = Filter(renamed, Less((Column("years"), Literal(30, Kind.INTEGER))))
    >>> type(normal(young)).__name__, type(normal(young).child).__name__
    ('Project', 'Filter')
    """
    children = tuple(normal(child) for child in node.children)
    found = node if _same(children, node.children) else rebuilt(node, children)
    if isinstance(found, Filter):
        return _filtered(found)
    if isinstance(found, Project):
        return _projected(found)
    if isinstance(found, SemiJoin):
        return _matched(found)
    return found


def _filtered(found: Filter) -> Node:
    """Merge filters, and move one below the columns that it looks at."""
    child, predicate = found.child, simplified(found.predicate)
    if isinstance(predicate, Literal) and predicate.value is True:
        return child
    if isinstance(child, Filter):
        return _filtered(Filter(child.child, And((child.predicate, predicate))))
    if isinstance(child, Project):
        below = replaced(predicate, dict(child.columns))
        return _projected(Project(_filtered(Filter(child.child, below)), child.columns))
    return found if predicate is found.predicate else Filter(child, predicate)


def _projected(found: Project) -> Node:
    """Merge computed columns into one step; drop a step that changes nothing."""
    child = found.child
    columns = tuple((name, simplified(expression)) for name, expression in found.columns)
    if isinstance(child, Project):
        inner = dict(child.columns)
        columns = tuple((name, simplified(replaced(expression, inner))) for name, expression in columns)
        child = child.child
    same = tuple((name, Column(name)) for name in child.schema)
    if columns == same:
        return child
    kept = child is found.child and all(new is old for (_, new), (_, old) in zip(columns, found.columns, strict=True))
    return found if kept else Project(child, columns)


def _matched(found: SemiJoin) -> Node:
    """Move a semi-join below columns that are passed on as they are."""
    left = found.left
    if not isinstance(left, Project):
        return found
    inner = dict(left.columns)
    pairs = [(inner[ours], theirs) for ours, theirs in found.on]
    if not all(isinstance(ours, Column) for ours, _ in pairs):
        return found
    on = tuple((ours.name, theirs) for ours, theirs in pairs if isinstance(ours, Column))
    return _projected(Project(SemiJoin(left.child, found.right, on, found.keep), left.columns))
