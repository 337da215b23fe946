"""What was answered to each statement of a workload: a table of groups, counts and their ±."""

from __future__ import annotations

import itertools
import json
import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, overload

import numpy as np

from discreet.plans.expressions import Column
from discreet.releases.measures.measure import Cell
from discreet.releases.showing.shown import ShownAnswer
from discreet.tables.kinds import Kind

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from numpy.typing import NDArray

    from discreet.mechanisms.promise import Claim
    from discreet.mechanisms.release import Release
    from discreet.methods.workloads.algebra.workload import Floats
    from discreet.methods.workloads.compiled import Asked
    from discreet.privacy import Curve
    from discreet.privacy.costs import Amount
    from discreet.tables.kinds import Value

__all__ = ["CountPlace", "WorkloadAnswer", "WorkloadTable", "labels_of", "order_of"]


@dataclass(frozen=True, eq=False, repr=False)
class WorkloadTable(ShownAnswer):
    """The answer to one statement: a row for each group, those of totals last, with None for what they sum over.

    >>> WorkloadTable.to_dicts.__doc__.split(";")[0]
    'Give the rows as dictionaries'
    """

    text: str
    names: Mapping[str, Kind]
    labels: tuple[tuple[Value | CountPlace, ...], ...]
    released: Release[Floats]
    places: NDArray[np.intp]
    about: tuple[str, ...] = ()
    repeated: bool = False
    charges: Mapping[str, Amount] = field(default_factory=dict)

    @property
    def columns(self) -> tuple[str, ...]:
        """The names of the columns, in order."""
        return tuple(self.names)

    @property
    def promise(self) -> str:  # type: ignore[override]  # what is told of the release
        """What the release promises, for all statements together."""
        return self.released.mechanism.promise

    @property
    def cost(self) -> Any:  # type: ignore[override]  # noqa: ANN401 - as above
        """What was charged for all statements together; nothing if they were answered before."""
        charged = self.released.charged
        return charged * 0 if self.repeated and charged is not None else charged

    @property
    def head(self) -> str:  # type: ignore[override]  # as above
        """Not told here: the ledger's last entry is that of all statements."""
        return ""

    @property
    def combined(self) -> int:
        """One release."""
        return 1

    @property
    def privacy(self) -> Curve:
        """What the release promises, as a curve."""
        return self.released.mechanism.privacy

    @property
    def values(self) -> Floats:
        """The counts, row by row."""
        return self.released.value[self.places]

    def error(self, confidence: float = 0.95) -> Floats:
        """Return the ± of each count."""
        errors = self.released.error(confidence)
        return np.asarray(errors, dtype=np.float64)[self.places]

    def cells(self, confidence: float = 0.95) -> list[dict[str, Cell]]:
        """Give the rows as cells: keys, and counts with their ±."""
        rows = zip(self.labels, self.values.tolist(), self.error(confidence).tolist(), strict=True)
        return [
            {
                name: Cell(_number(count), error, "")
                if isinstance(label, CountPlace)
                else Cell(label, None, "keys are exact.", exact=True)  # type: ignore[arg-type]  # a key of any kind
                for name, label in zip(self.names, labels, strict=True)
            }
            for labels, count, error in rows
        ]

    def shown_columns(self) -> dict[str, Any]:
        """The values of each column."""
        counts = [_number(count) for count in self.values.tolist()]
        return {
            name: [
                count if isinstance(row[at], CountPlace) else row[at]
                for row, count in zip(self.labels, counts, strict=True)
            ]
            for at, name in enumerate(self.names)
        }

    def notes(self, confidence: float = 0.95) -> list[str]:
        """Say what stands below the answer, from public facts alone."""
        del confidence
        return list(self.about)

    def to_json(self) -> str:
        """Write the counts and their deviations."""
        deviations = np.asarray(self.released.details["deviations"])[self.places]
        return json.dumps({"asked": self.text, "counts": self.values.tolist(), "deviations": deviations.tolist()})

    @property
    def _kinds(self) -> dict[str, tuple[Kind, bool]]:
        counts = {
            name
            for row in self.labels[:1]
            for name, label in zip(self.names, row, strict=True)
            if isinstance(label, CountPlace)
        }
        whole = all(count.is_integer() for count in self.values.tolist())
        number = Kind.INTEGER if whole else Kind.FLOAT
        return {name: (number if name in counts else kind, False) for name, kind in self.names.items()}

    def _first(self, most: int) -> WorkloadTable:
        return replace(self, labels=self.labels[:most], places=self.places[:most])

    def __len__(self) -> int:
        return len(self.labels)


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
        return "\n\n".join(map(str, self.tables))


def order_of(one: Asked) -> NDArray[np.intp]:
    """Where the groups of one question stand among its answers, in the order of its own keys.

    >>> order_of.__annotations__["one"]
    'Asked'
    """
    order = [column for column in one.axes if column in one.keys]
    places = np.arange(math.prod(len(one.known(column)) for column in order))
    table = places.reshape([len(one.known(column)) for column in order])
    return np.transpose(table, [order.index(column) for column in one.keys]).ravel()


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
