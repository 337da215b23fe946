"""What was answered to each statement of a workload: a table of groups, counts and their ±."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, overload

import numpy as np

from discreet.plans.expressions import Column

if TYPE_CHECKING:
    from collections.abc import Iterator

    from discreet.mechanisms.promise import Claim
    from discreet.mechanisms.release import Release
    from discreet.methods.workloads.algebra.workload import Floats
    from discreet.methods.workloads.compiled import Asked
    from discreet.tables.kinds import Value

__all__ = ["CountPlace", "WorkloadAnswer", "WorkloadTable", "labels_of"]

_FEW = 12


@dataclass(frozen=True, eq=False, repr=False)
class WorkloadTable:
    """The answer to one statement: a row for each group, those of totals last, with None for what they sum over.

    >>> WorkloadTable.to_dicts.__doc__
    'Give one dictionary for each row.'
    """

    text: str
    columns: tuple[str, ...]
    labels: tuple[tuple[Value | CountPlace, ...], ...]
    released: Release[Floats]
    start: int

    @property
    def values(self) -> Floats:
        """The counts, row by row."""
        return self.released.value[self.start : self.start + len(self.labels)]

    def error(self, confidence: float = 0.95) -> Floats:
        """Return the ± of each count."""
        errors = self.released.error(confidence)
        return np.asarray(errors, dtype=np.float64)[self.start : self.start + len(self.labels)]

    def to_dicts(self) -> list[dict[str, Value | None]]:
        """Give one dictionary for each row."""
        return [
            {
                name: _number(count) if isinstance(label, CountPlace) else label
                for name, label in zip(self.columns, labels, strict=True)
            }
            for labels, count in zip(self.labels, self.values.tolist(), strict=True)
        ]

    def __len__(self) -> int:
        return len(self.labels)

    def __repr__(self) -> str:
        rows = [" | ".join(self.columns) + " | ±"]
        for row, error in zip(self.to_dicts()[:_FEW], self.error().tolist(), strict=False):
            cells = ["" if value is None else str(value) for value in row.values()]
            rows.append(" | ".join(cells) + f" | {error:.3g}")
        if len(self) > _FEW:
            rows.append(f"… {len(self) - _FEW} more rows")
        return "\n".join(rows)


class CountPlace:
    """Stands where a count belongs."""


_COUNT = CountPlace()


def _number(count: float) -> float:
    """A whole number without a point."""
    return int(count) if count.is_integer() else count


@dataclass(frozen=True, eq=False, repr=False)
class WorkloadAnswer(Sequence[WorkloadTable]):
    """The answers to all statements, in their order, released together.

    >>> WorkloadAnswer.charged.__doc__
    'What the ledger was charged.'
    """

    tables: tuple[WorkloadTable, ...]
    released: Release[Floats]

    @property
    def charged(self) -> Claim | None:
        """What the ledger was charged."""
        return self.released.charged

    @property
    def promise(self) -> str:
        """What the release alone promises."""
        return self.released.mechanism.promise

    def explain(self, confidence: float = 0.95) -> str:
        """Say what is promised, why, what was assumed and what was charged."""
        return self.released.explain(confidence)

    @overload
    def __getitem__(self, place: int) -> WorkloadTable: ...
    @overload
    def __getitem__(self, place: slice) -> tuple[WorkloadTable, ...]: ...
    def __getitem__(self, place: int | slice) -> WorkloadTable | tuple[WorkloadTable, ...]:
        """Give the answer to a statement."""
        return self.tables[place]

    def __len__(self) -> int:
        return len(self.tables)

    def __repr__(self) -> str:
        return "\n\n".join(map(repr, self.tables)) + f"\npromise: {self.promise}; charged: {self.charged!r}"


def labels_of(one: Asked, outputs: Sequence[str]) -> Iterator[tuple[Value | CountPlace, ...]]:
    """Name the groups of one question, in the order of the workload's axes: the last key varies fastest.

    >>> import inspect
    >>> inspect.isgeneratorfunction(labels_of)
    True
    """
    order = [column for column in one.axes if column in one.keys]
    names = {one.keys[column][0]: place for place, column in enumerate(order)}
    shown = {name: value.name for name, value in one.plan.request.outputs if isinstance(value, Column)}
    for values in itertools.product(*(one.known(column) for column in order)):
        yield tuple(
            None if name not in shown else values[names[shown[name]]] if shown[name] in names else _COUNT
            for name in outputs
        )
