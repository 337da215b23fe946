"""What a condition says about a column holds for every row that it keeps."""

from __future__ import annotations

import datetime as dt
import itertools
from typing import TYPE_CHECKING, Any

import pytest

from discreet.plans.expressions import Column, Equal, In, Less, LessOrEqual, Literal
from discreet.plans.nodes import Filter, Scan
from discreet.tables import Column as Declared
from discreet.tables import Table
from discreet.tables.kinds import Kind
from tests.plans.claims import fits

if TYPE_CHECKING:
    from discreet.plans.expressions import Expression, Operation

DAYS = [dt.date(2024, 2, 27) + dt.timedelta(days=each) for each in range(6)]
COLUMNS = [
    (Declared("x", type="integer"), list(range(-4, 5))),
    (Declared("x", lower=-3, upper=3), list(range(-3, 4))),
    (Declared("x", type="float", lower=-3, upper=3), [each / 4 for each in range(-12, 13)]),
    (Declared("x", type="date"), DAYS),
    (Declared("x", type="timestamp"), [dt.datetime.combine(day, dt.time(hour)) for day in DAYS for hour in (0, 9)]),
]
NUMBERS = [-9, -3, -1, 0, 2, 3, 9, -2.5, -0.25, 0.0, 1.0, 1.5, 3.75]
MOMENTS = [*DAYS, *(dt.datetime.combine(day, dt.time(hour)) for day in DAYS[1:3] for hour in (0, 12))]


def compared(kind: type[Operation], constant: Any, *, swapped: bool) -> Expression:  # noqa: ANN401 - of any kind
    operands = [Column("x"), Literal(constant, Kind.of(constant))]
    return kind(tuple(reversed(operands) if swapped else operands))


@pytest.mark.parametrize("column, values", COLUMNS)
@pytest.mark.parametrize("kind", [Less, LessOrEqual, Equal])
@pytest.mark.parametrize("swapped", [False, True])
def test_bounds_and_known_values_hold_for_all_rows_that_are_kept(
    column: Declared, values: list[Any], kind: type[Operation], *, swapped: bool
) -> None:
    scan = Scan(Table("t", row_is_unit=True, columns=[column]))
    constants: list[Any] = NUMBERS if column.kind.numeric else MOMENTS
    kept = 0
    for constant in constants:
        condition = compared(kind, constant, swapped=swapped)
        facts = Filter(scan, condition).schema["x"]
        for value in values:
            if condition.evaluate({"x": value}):
                kept += 1
                assert fits(value, facts)
                assert facts.keys is None or value in facts.keys
    assert kept > 5


@pytest.mark.parametrize("column, values", COLUMNS)
def test_lists_of_constants_hold_for_all_rows_that_are_kept(column: Declared, values: list[Any]) -> None:
    scan = Scan(Table("t", row_is_unit=True, columns=[column]))
    constants: list[Any] = NUMBERS if column.kind.numeric else MOMENTS
    kept = 0
    for some in itertools.combinations(constants, 2):
        condition = In((Column("x"),), some)
        facts = Filter(scan, condition).schema["x"]
        for value in values:
            if condition.evaluate({"x": value}):
                kept += 1
                assert fits(value, facts)
                assert facts.keys is None or value in facts.keys
    assert kept > 5
