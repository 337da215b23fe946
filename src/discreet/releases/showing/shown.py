"""What every answer can do: be read as rows, frames and pictures, and say what it promises and cost."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from discreet.errors import ParameterError
from discreet.exact import counted, shown
from discreet.releases.showing.pictures import bars, intervals
from discreet.releases.showing.texts import cell_text, charge_text, html_table

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Self

    from matplotlib.axes import Axes

    from discreet.privacy import Curve
    from discreet.privacy.costs import Amount
    from discreet.releases.measures.measure import Cell
    from discreet.releases.showing.bins import Bins
    from discreet.tables.kinds import Kind

__all__ = ["ShownAnswer", "listed", "plain"]

_WIDEST = 24
_MOST_ROWS = 100  # in a notebook


class ShownAnswer(ABC):
    """A table of noisy cells, each with its ±, and what it promises; a subclass knows where the cells come from.

    >>> sorted(ShownAnswer.__abstractmethods__)
    ['_first', '_kinds', 'cells', 'columns', 'combined', 'notes', 'privacy', 'shown_columns', 'to_json']
    """

    promise: str
    cost: Amount
    head: str
    repeated: bool
    charges: Mapping[str, Amount]

    @property
    @abstractmethod
    def columns(self) -> tuple[str, ...]:
        """The names of the columns, in order."""

    @property
    @abstractmethod
    def combined(self) -> int:
        """How many releases it is made of."""

    @property
    @abstractmethod
    def privacy(self) -> Curve:
        """What all releases that it is made of promise together, as a curve; `promise` says it in words."""

    @abstractmethod
    def cells(self, confidence: float = 0.95) -> list[dict[str, Cell]]:
        """Give the rows as cells: value, ±, and why there is none where there is none."""

    @abstractmethod
    def notes(self, confidence: float = 0.95) -> list[str]:
        """Say what stands below the answer, from public facts and noisy numbers alone."""

    @abstractmethod
    def to_json(self) -> str:
        """Write the noisy numbers as a ledger keeps them; for the same question they give the same answer again."""

    @abstractmethod
    def shown_columns(self) -> dict[str, Any]:
        """The values of each column."""

    @property
    @abstractmethod
    def _kinds(self) -> dict[str, tuple[Kind, bool]]:
        """The kind of each column, and whether its cells are lists."""

    @abstractmethod
    def _first(self, most: int) -> Self:
        """The same with fewer rows."""

    @property
    def _bins(self) -> Bins | None:
        """The bins, where columns are histograms."""
        return None

    @property
    def _height(self) -> int:
        """How many rows there are."""
        return len(self._shown)

    def to_dicts(self, *, errors: bool = False, confidence: float = 0.95) -> list[dict[str, Any]]:
        """Give the rows as dictionaries; with `errors` also each ± (`n_error`), or why there is none (`n_reason`)."""
        if errors:
            return [_with_errors(row) for row in self.cells(confidence)]
        columns = {name: listed(column) for name, column in self.shown_columns().items()}
        return [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]

    def errors(self, confidence: float = 0.95) -> list[dict[str, float | None]]:
        """Give the ± of each cell: with this probability the noise moved the cell by no more.

        Each cell holds by itself. None stands for keys, and where no honest ± exists; `cells` says why. A ratio's ± is
        computed from its noisy count. Rows that were left out by the limits per unit are not part of it.
        """
        return [{name: cell.error for name, cell in row.items()} for row in self.cells(confidence)]

    def plot(self, column: str | None = None, *, confidence: float = 0.95, axes: Axes | None = None) -> Axes:
        """Draw a column of noisy numbers, the first one unless it is named, each with its ±; returns matplotlib's axes.

        A histogram is drawn as bars, those of groups side by side. A cell without an honest ± is drawn without one, and
        a cell without a value not at all.
        """
        rows = self.cells(confidence)
        numeric = [name for name in self.columns if any(_is_number(row[name]) for row in rows)]
        bins = self._bins
        usual = bins.names if bins is not None else numeric
        name = usual[0] if column is None and usual else column
        if name not in numeric:
            msg = f"column is {shown(column)}; the columns of noisy numbers are {', '.join(numeric) or 'none'}."
            raise ParameterError(msg)
        ends = () if bins is None else bins.labels
        keys = [key for key in self.columns if key not in ends and all(row[key].exact for row in rows)]
        drawn = [row for row in rows if _is_number(row[name])]
        labels = [", ".join("NULL" if row[key].value is None else str(row[key].value) for key in keys) for row in drawn]
        values = [(float(row[name].value), row[name].error) for row in drawn]  # type: ignore[arg-type]
        title = f"{name}, ± with probability {confidence:g}"
        if bins is None or name not in bins.names:
            return intervals(axes, labels, values, title)
        spans = ["…".join("" if row[end].value is None else f"{row[end].value:,.15g}" for end in ends) for row in drawn]
        groups: dict[str, list[tuple[float, float | None]]] = {}
        for label, value in zip(labels, values, strict=True):
            groups.setdefault(label, []).append(value)
        return bars(axes, list(dict.fromkeys(spans)), groups, (bins.value, title))

    def to_arrow(self) -> Any:  # noqa: ANN401 - pyarrow is optional
        """Give the rows as a pyarrow table."""
        import pyarrow as pa

        kinds = {"integer": pa.int64(), "float": pa.float64(), "text": pa.string(), "boolean": pa.bool_()}
        kinds |= {"date": pa.date32(), "timestamp": pa.timestamp("us")}
        columns = self.shown_columns()
        arrays = []
        for name, (kind, is_list) in self._kinds.items():
            arrow = kinds[kind.value]
            arrays.append(pa.array(columns[name], pa.list_(arrow) if is_list else arrow, from_pandas=True))
        return pa.Table.from_arrays(arrays, names=list(self.columns))

    @cached_property
    def _shown(self) -> list[dict[str, Cell]]:
        return self.cells()

    def to_pandas(self, *, errors: bool = False, confidence: float = 0.95) -> Any:  # noqa: ANN401 - pandas is optional
        """Give the rows as a pandas data frame; with `errors` the ± of a column `n` stands beside it, in `n_error`."""
        frame = self.to_arrow().to_pandas()
        rows = self.cells(confidence) if errors else []
        noisy = [name for name in self.columns if any(not row[name].exact for row in rows)]
        for name in noisy:
            column = [math.nan if row[name].error is None else row[name].error for row in rows]
            frame.insert(frame.columns.get_loc(name) + 1, _error_name(name, self.columns), column)
        return frame

    def __repr__(self) -> str:
        return f"Answer({', '.join(self.columns)}: {counted(self._height, 'row')}, {self.promise})"

    def __str__(self) -> str:
        rows = [[_text(cell) for cell in row.values()] for row in self._shown]
        widths = [max(map(len, column)) for column in zip(self.columns, *rows, strict=True)]
        lines = ["  ".join(text.ljust(width) for text, width in zip(row, widths, strict=True)).rstrip() for row in rows]
        head = "  ".join(name.ljust(width) for name, width in zip(self.columns, widths, strict=True)).rstrip()
        return "\n".join(
            [
                head,
                *lines,
                *self.notes(),
                f"each ± holds with probability 0.95; {self.promise}; {self._paid}{self._head}",
            ]
        )

    def _repr_html_(self) -> str:
        some = self if self._height <= _MOST_ROWS else self._first(_MOST_ROWS)
        rows = [[(_text(cell), "" if cell.exact else cell.reason) for cell in row.values()] for row in some.cells()]
        words = "; ".join([*some.notes(), "each ± holds with probability 0.95", self.promise, self._paid])
        return html_table(self.columns, rows, words, more=max(0, self._height - _MOST_ROWS))

    @property
    def _dataset_pays(self) -> bool:
        return self.cost != self.cost * 0

    @property
    def _head(self) -> str:
        return f"; head of the ledger {self.head}" if self.head else ""

    @property
    def _paid(self) -> str:
        """What was charged, and what is behind the answer."""
        if self.repeated and not self._dataset_pays:
            made = f", made of {self.combined} releases" if self.combined > 1 else ""
            return f"answered before{made}: nothing charged to the dataset{self._own_charges}"
        with_others = f", combined with {self.combined - 1} earlier" if self.combined > 1 else ""
        return f"charged {charge_text(self.cost)}{self._own_charges}{with_others}"

    @property
    def _own_charges(self) -> str:
        """What was charged to the asker's own budgets, where it differs from what the dataset was charged."""
        return "".join(
            f", {charge_text(charge)} to {title}" for title, charge in self.charges.items() if charge != self.cost
        )


def _error_name(name: str, columns: Sequence[str]) -> str:
    """The name of the column with the ± of another: `n_error`, unless the question has a column of that name."""
    named = f"{name}_error"
    while named in columns:
        named += "_"
    return named


def _with_errors(row: Mapping[str, Cell]) -> dict[str, Any]:
    """The values of a row, with the ± of each that has one, and why another has none."""
    cells: dict[str, Any] = {}
    for name, cell in row.items():
        cells[name] = plain(cell.value)
        if not cell.exact:
            cells[_error_name(name, tuple(row))] = cell.error
            if cell.error is None:
                cells[f"{name}_reason"] = cell.reason
    return cells


def _is_number(cell: Cell) -> bool:
    return not cell.exact and isinstance(cell.value, int | float) and not isinstance(cell.value, bool)


def listed(column: Any) -> list[Any]:  # noqa: ANN401 - an array or a list
    """The values of a column as Python's, None for NaN.

    >>> listed(np.array([0.5, np.nan]))
    [0.5, None]
    """
    if not isinstance(column, np.ndarray):
        return list(column)
    values: list[Any] = column.tolist()
    return [None if math.isnan(value) else value for value in values] if column.dtype.kind == "f" else values


def plain(value: object) -> object:
    """Write what several cells in one are as a list.

    >>> plain((1, 2)), plain(3)
    ([1, 2], 3)
    """
    return list(value) if isinstance(value, tuple) else value


def _text(cell: Cell) -> str:
    return cell_text(cell.value, cell.error, exact=cell.exact, widest=_WIDEST)
