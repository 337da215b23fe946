"""The claimed sensitivity is the largest change there is: compared with every way to spread a unit's rows."""

from __future__ import annotations

import itertools
from fractions import Fraction
from typing import TYPE_CHECKING

import pytest

from discreet.plans.expressions import Column
from discreet.plans.nodes import Aggregate, BoundGroups, BoundRows, GroupKey, PerUnit, Scan, Sensitivity
from discreet.plans.statistics import Moment, RowCount, Snapped, Statistic
from discreet.privacy import NeighborRelation
from discreet.tables import Column as Declared
from discreet.tables import Table

if TYPE_CHECKING:
    from collections.abc import Iterator

TABLE = Table("t", unit="id", columns=[Declared("g", keys=[1, 2, 3]), Declared("x", lower=-9, upper=9)])
Vector = tuple[int, ...]


def plan(rows: int, groups: int, in_group: int, low: int, high: int) -> tuple[Aggregate, Statistic]:
    """An aggregate over three groups with these limits, of numbers within [low, high]."""
    child = BoundRows(BoundGroups(Scan(TABLE), ("g",), groups, in_group), rows)
    statistic = Moment((Snapped(Column("x"), low, high, 0, Fraction(1)),)) if (low, high) != (0, 1) else RowCount()
    return Aggregate(child, (GroupKey("g", (1, 2, 3)),), (statistic,)), statistic


def shares(rows: int, groups: int, in_group: int, low: int, high: int) -> Iterator[Vector]:
    """Every vector that one unit can add: n rows in a group sum up to anything from n low to n high; ends suffice."""
    ends = {0, low, high}
    sums = {n: {sum(each) for each in itertools.product(ends, repeat=n)} for n in range(in_group + 1)}
    for counts in itertools.product(range(in_group + 1), repeat=3):
        if sum(counts) <= rows and sum(n > 0 for n in counts) <= groups:
            yield from itertools.product(*(sums[n] for n in counts))


def largest(vectors: Iterator[Vector]) -> Sensitivity:
    """The largest change, sum of changes and sum of squares."""
    listed = list(vectors)
    return Sensitivity(
        max(max(map(abs, vector)) for vector in listed),
        max(sum(map(abs, vector)) for vector in listed),
        max(sum(value**2 for value in vector) for vector in listed),
    )


LIMITS = [(1, 1, 1), (3, 3, 3), (3, 2, 2), (4, 2, 2), (5, 3, 2), (2, 3, 1), (6, 3, 2), (3, 1, 2)]
REACHES = [(0, 1), (0, 2), (-3, 0), (-1, 2)]


@pytest.mark.parametrize("low, high", REACHES)
@pytest.mark.parametrize("rows, groups, in_group", LIMITS)
def test_add_or_remove_is_exact(rows: int, groups: int, in_group: int, low: int, high: int) -> None:
    aggregate, statistic = plan(rows, groups, in_group, low, high)
    assert aggregate.sensitivity(statistic) == largest(shares(rows, groups, in_group, low, high))


@pytest.mark.parametrize("low, high", REACHES)
@pytest.mark.parametrize("rows, groups, in_group", LIMITS[:6])
def test_change_one_is_never_too_small(rows: int, groups: int, in_group: int, low: int, high: int) -> None:
    aggregate, statistic = plan(rows, groups, in_group, low, high)
    claim = aggregate.sensitivity(statistic, NeighborRelation.CHANGE_ONE)
    each = set(shares(rows, groups, in_group, low, high))
    true = largest(tuple(a - b for a, b in zip(u, v, strict=True)) for u in each for v in each)
    assert claim.largest == true.largest
    assert claim.l1 >= true.l1
    assert claim.l2_squared >= true.l2_squared
    if low == 0 or high == 0:
        assert claim.l1 <= 2 * aggregate.sensitivity(statistic).l1


def test_bounds_over_groups_pass_to_coarser_and_finer_groups_in_the_right_direction() -> None:
    limited = BoundGroups(BoundRows(Scan(TABLE), 6), ("g",), 2, 2)
    none, same, finer = frozenset[str](), frozenset({"g"}), frozenset({"g", "x"})
    # Few groups of g are few coarser groups; finer ones may be as many as there are rows.
    assert [limited.groups_of(columns) for columns in (none, same, finer)] == [1, 2, 4]
    # Few rows in a group of g are few in a finer one; a coarser one may hold all rows.
    assert [limited.rows_in_group(columns) for columns in (none, same, finer)] == [4, 2, 2]
    counts = Aggregate(limited, (), (RowCount(),))
    assert counts.sensitivity(RowCount()) == Sensitivity(4, 4, 16)
    fine = Aggregate(limited, (GroupKey("g", (1, 2, 3)), GroupKey("x", tuple(range(-9, 10)))), (RowCount(),))
    assert (fine.groups_per_unit, fine.sensitivity(RowCount())) == (4, Sensitivity(2, 4, 8))


def test_a_bound_over_two_columns_says_nothing_of_the_rows_in_a_group_of_one() -> None:
    """One row for each pair of g and x: a group of g alone holds as many as there are values of x."""
    single = BoundGroups(BoundRows(Scan(TABLE), 4), ("g", "x"), 4, 1)
    one, both, other = frozenset({"g"}), frozenset({"g", "x"}), frozenset({"x"})
    assert [single.rows_in_group(columns) for columns in (one, other, both)] == [4, 4, 1]
    assert [single.groups_of(columns) for columns in (one, other, both)] == [4, 4, 4]
    counts = Aggregate(single, (GroupKey("g", (1, 2, 3)),), (RowCount(),))
    assert counts.sensitivity(RowCount()) == Sensitivity(4, 4, 16)


def test_unique_columns_of_a_private_table_are_believed_only_after_a_check() -> None:
    columns = [Declared("g", keys=[1, 2, 3])]
    table = Table("t", unit="id", columns=columns, unique=[["id", "g"]])
    assert (Scan(table).unique, Scan(table).spreads) == (frozenset(), ())
    assert Scan(table, verified=True).unique == {frozenset({"id", "g"})}
    public = Table("p", public=True, columns=columns, unique=[["g"]])
    assert Scan(public).unique == {frozenset({"g"})}


def test_rows_of_groups_over_all_units_are_not_unique() -> None:
    """Grouped by unit and ward, both together are; by ward alone, each unit has a row of its own for it."""
    rows = BoundRows(Scan(TABLE), 6)
    assert PerUnit(rows, ("id", "g"), ()).unique == {frozenset({"id", "g"})}
    assert PerUnit(rows, ("g",), ()).unique == frozenset()
