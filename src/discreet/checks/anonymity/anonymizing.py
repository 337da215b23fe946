"""Make tables k-anonymous, so that attacks have something real to break."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise, product
from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np

from discreet.checks.anonymity.measures import require_roles, require_steps
from discreet.engines.duckdb.owned import OwnedTable
from discreet.errors import ParameterError
from discreet.exact import integer, rational, shown

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from numpy.typing import NDArray

    from discreet.checks.anonymity.measures import Hierarchy
    from discreet.exact import Number

__all__ = ["Anonymized", "by_prefix", "by_steps", "mondrian", "recode"]

ANY = "*"
MOST_NODES = 100_000


@dataclass(frozen=True)
class Anonymized:
    """A table whose quasi-identifiers were made coarser; rows that could not be kept are left out.

    `columns` can be given to pa.table or a data frame. `rows` says which rows of the source are left, in their order.

    >>> Anonymized({"zip": ["130**"]}, np.array([2]), suppressed=2).suppressed
    2
    """

    columns: Mapping[str, Sequence[Any]]
    rows: NDArray[np.int64]
    suppressed: int


def by_prefix(values: Iterable[str], *, keep: int = 0) -> dict[str, tuple[str, ...]]:
    """Hide the last letters of codes one by one, down to the first `keep`.

    >>> by_prefix(["13053", "14850"], keep=2)
    {'13053': ('1305*', '130**', '13***'), '14850': ('1485*', '148**', '14***')}
    """
    codes = list(dict.fromkeys(values))
    if not all(isinstance(code, str) for code in codes):
        msg = "values must all be texts, such as '13053'; write numbers as texts, and leave out what is missing."
        raise ParameterError(msg)
    most = max(map(len, codes), default=0)
    integer(keep, name="keep", least=0)
    return {
        code: tuple(code[: max(most - hidden, 0)].ljust(most, ANY) for hidden in range(1, most - keep + 1))
        for code in codes
    }


def by_steps(values: Iterable[Any], *steps: int) -> dict[Any, tuple[str, ...]]:
    """Put whole numbers into ranges of growing steps.

    >>> by_steps([23, 41], 10, 50)
    {23: ('20–29', '0–49'), 41: ('40–49', '0–49')}
    """
    for step in steps:
        integer(step, name="steps", least=1)
    if any(wide % narrow for narrow, wide in pairwise(steps)):
        msg = f"steps are {shown(list(steps))}; each must be a multiple of the one before, such as 5, 10, 50."
        raise ParameterError(msg)

    def ranges(number: int) -> tuple[str, ...]:
        return tuple(f"{number // step * step}–{number // step * step + step - 1}" for step in steps)

    try:
        return {value: ranges(int(value)) for value in dict.fromkeys(values)}
    except (TypeError, ValueError, OverflowError):
        msg = "values must all be whole numbers; leave out what is missing."
        raise ParameterError(msg) from None


class _Numbers:
    """A column of numbers, cut at its median."""

    def __init__(self, cells: NDArray[np.float64]) -> None:
        self._cells = cells
        self._reach = float(np.ptp(cells)) or 1.0

    def width(self, part: NDArray[np.int64]) -> float:
        return float(np.ptp(self._cells[part])) / self._reach

    def cut(self, part: NDArray[np.int64]) -> list[NDArray[np.int64]]:
        cells = self._cells[part]
        middle = np.sort(cells)[(len(cells) - 1) // 2]
        low = cells <= middle if middle < cells.max() else cells < middle
        return [part[low], part[~low]]

    def label(self, part: NDArray[np.int64]) -> str:
        low, high = self._cells[part].min(), self._cells[part].max()
        return f"{low:g}" if low == high else f"{low:g}–{high:g}"


class _Tree:
    """A column of values with a hierarchy, cut into the branches below what covers them all."""

    def __init__(self, cells: NDArray[Any], ways: Sequence[tuple[Any, ...]]) -> None:
        codes: dict[tuple[Any, ...], int] = {}
        self._values = cells
        self._ways = ways
        # A node is told by its whole way to the root: two branches may use one word. The last level is the root.
        self._levels = [
            np.array([codes.setdefault((depth, *way[depth:]), len(codes)) for way in ways])
            for depth in range(len(ways[0]) + 1)
        ]

    def _covering(self, part: NDArray[np.int64]) -> int:
        return next(depth for depth, codes in enumerate(self._levels) if (codes[part] == codes[part[0]]).all())

    def width(self, part: NDArray[np.int64]) -> float:
        return self._covering(part) / (len(self._levels) - 1)

    def cut(self, part: NDArray[np.int64]) -> list[NDArray[np.int64]]:
        depth = self._covering(part)
        below = self._levels[max(depth - 1, 0)][part]
        return [part[below == code] for code in np.unique(below)]

    def label(self, part: NDArray[np.int64]) -> Any:  # noqa: ANN401 - a cell
        depth = self._covering(part)
        return ANY if depth == len(self._levels) - 1 else self._ways[part[0]][depth]


def mondrian(  # noqa: PLR0913 - each is a thing of its own
    source: object,
    quasi: Sequence[str],
    *,
    k: int,
    hierarchies: Mapping[str, Hierarchy] | None = None,
    sensitive: str | None = None,
    distinct: int = 1,
    suppress: Number = 0,
) -> Anonymized:
    """Cut a table into ever smaller boxes as long as each keeps k rows and `distinct` sensitive values.

    LeFevre, DeWitt, Ramakrishnan 2006, "Mondrian multidimensional k-anonymity", ICDE, strict partitioning: the widest
    column that can be cut is cut, numbers at their median, values with a hierarchy into the branches below what covers
    them. A column of texts without a hierarchy, or of numbers some of which are missing or infinite, keeps a value or
    shows "*". Branches that are too small may be left out, up to the share `suppress` of all rows. The columns that are
    returned are the quasi-identifiers and the sensitive one.

    >>> import pyarrow as pa
    >>> people = pa.table({"age": [21, 22, 35, 38], "ill": ["flu", "cold", "flu", "flu"]})
    >>> mondrian(people, ["age"], k=2, sensitive="ill").columns
    {'age': ['21–22', '21–22', '35–38', '35–38'], 'ill': ['flu', 'cold', 'flu', 'flu']}
    """
    least, values = integer(k, name="k", least=1), integer(distinct, name="distinct", least=1)
    if values > 1 and sensitive is None:
        msg = f"distinct is {values}, of the values of a sensitive column; name it, such as sensitive='disease'."
        raise ParameterError(msg)
    cells, total = _read(source, quasi, sensitive, hierarchies, least)
    left = int(_share(suppress) * total)
    trees = hierarchies or {}
    axes = [_axis(cells[name], name, trees.get(name)) for name in quasi]

    def keeps(part: NDArray[np.int64]) -> bool:
        return len(part) >= least and (sensitive is None or len(set(cells[sensitive][part])) >= values)

    waiting, boxes = [np.arange(total)], []
    if not keeps(waiting[0]):
        msg = f"the whole table has not k = {least} rows with {values} sensitive values; ask for less."
        raise ParameterError(msg)
    while waiting:
        part = waiting.pop()
        for axis in sorted(axes, key=lambda axis: -axis.width(part)):
            if not axis.width(part):
                continue
            pieces = axis.cut(part)
            kept = [piece for piece in pieces if keeps(piece)]
            lost = len(part) - sum(map(len, kept))
            if kept and (not lost or (isinstance(axis, _Tree) and lost <= left)):
                waiting += kept
                left -= lost
                break
        else:
            boxes.append(part)
    rows = np.sort(np.concatenate(boxes))
    columns: dict[str, list[Any]] = {}
    for name, axis in zip(quasi, axes, strict=True):
        shown_as: dict[int, Any] = {}
        for box in boxes:
            shown_as.update(dict.fromkeys(box.tolist(), axis.label(box)))
        columns[name] = [shown_as[row] for row in rows.tolist()]
    return _finished(columns, cells, sensitive, rows, total)


def recode(  # noqa: PLR0913 - each is a thing of its own
    source: object,
    quasi: Sequence[str],
    *,
    k: int,
    hierarchies: Mapping[str, Hierarchy] | None = None,
    sensitive: str | None = None,
    suppress: Number = 0,
) -> Anonymized:
    """Make whole columns coarser, each by as few steps of its hierarchy as possible: global recoding.

    Samarati 2001, "Protecting respondents' identities in microdata release", IEEE TKDE 13(6): of the ways that leave at
    most the share `suppress` of the rows in classes smaller than k, one with the fewest steps in all is taken, and of
    these the one that leaves out the fewest rows. Those rows are left out. Above the last step of a hierarchy is "*".

    >>> import pyarrow as pa
    >>> people = pa.table({"zip": ["13053", "13068", "14850", "14853"], "sex": ["f", "f", "m", "m"]})
    >>> codes = {"zip": by_prefix(["13053", "13068", "14850", "14853"])}
    >>> recode(people, ["zip", "sex"], k=2, hierarchies=codes).columns
    {'zip': ['130**', '130**', '148**', '148**'], 'sex': ['f', 'f', 'm', 'm']}
    """
    least = integer(k, name="k", least=1)
    cells, total = _read(source, quasi, sensitive, hierarchies, least)
    may = int(_share(suppress) * total)
    trees = hierarchies or {}
    ways = [_ways(cells[name], name, trees.get(name, dict.fromkeys(cells[name], ()))) for name in quasi]
    heights = [len(way[0]) + 1 for way in ways]
    if prod(heights) > MOST_NODES:
        msg = f"hierarchies have {prod(heights)} combinations of steps; give coarser ones, at most {MOST_NODES}."
        raise ParameterError(msg)
    levels = [
        [np.unique([str(way[depth]) if depth < len(way) else ANY for way in column], return_inverse=True)[1]
         for depth in range(height)]
        for column, height in zip(ways, heights, strict=True)
    ]  # fmt: skip
    for steps in range(sum(heights)):
        tried = []
        for node in product(*map(range, heights)):
            if sum(node) == steps:
                small = _small(levels, node, least)
                tried.append((int(small.sum()), node, small))
        best = min(tried, default=None, key=lambda one: one[:2])
        if best is not None and best[0] <= may:
            rows = np.flatnonzero(~best[2])
            columns = {
                name: [way[row][depth] if depth < len(way[row]) else ANY for row in rows.tolist()]
                for name, way, depth in zip(quasi, ways, best[1], strict=True)
            }
            return _finished(columns, cells, sensitive, rows, total)
    msg = f"the table has fewer than k = {least} rows; nothing hides them."  # at the top all rows are one class
    raise ParameterError(msg)


def _small(levels: Sequence[Sequence[NDArray[Any]]], node: tuple[int, ...], least: int) -> NDArray[np.bool_]:
    """Tell which rows are in a class of fewer than `least`, at these steps."""
    code = np.zeros(len(levels[0][0]), dtype=np.int64)
    for column, depth in zip(levels, node, strict=True):
        _, code = np.unique(code * (int(column[depth].max()) + 1) + column[depth], return_inverse=True)
    return np.asarray(np.bincount(code)[code] < least)


def _read(
    source: object,
    quasi: Sequence[str],
    sensitive: str | None,
    hierarchies: Mapping[str, Hierarchy] | None,
    least: int,
) -> tuple[dict[str, NDArray[Any]], int]:
    with OwnedTable(source) as table:
        names = require_roles(table, quasi, sensitive)
        cells = table.arrays([*names, *([] if sensitive is None else [sensitive])])
    strange = [name for name in hierarchies or {} if name not in names]
    if strange:
        msg = f"hierarchies has {shown(strange[0])}, which is no quasi-identifier; name it in quasi, or leave it out."
        raise ParameterError(msg)
    total = len(cells[quasi[0]])
    if total < least:
        msg = f"k is {least}, and the table has {total} rows; ask for a smaller k."
        raise ParameterError(msg)
    return cells, total


def _share(suppress: Number) -> Any:  # noqa: ANN401 - a fraction
    share = rational(suppress, name="suppress")
    if not 0 <= share < 1:
        msg = f"suppress is {shown(suppress)}; it must be a share of the rows, at least 0 and below 1."
        raise ParameterError(msg)
    return share


def _axis(cells: NDArray[Any], name: str, tree: Hierarchy | None) -> _Numbers | _Tree:
    if tree is None:
        try:
            numbers = np.array([float(cell) for cell in cells])
        except (TypeError, ValueError):
            tree = dict.fromkeys(cells, ())
        else:
            if np.isfinite(numbers).all():
                return _Numbers(numbers)
            tree = dict.fromkeys(cells, ())
    return _Tree(cells, _ways(cells, name, tree))


def _ways(cells: NDArray[Any], name: str, tree: Hierarchy) -> list[tuple[Any, ...]]:
    require_steps(tree, name=f"hierarchies[{name!r}]")
    missing = {cell for cell in cells if cell not in tree}
    if missing:
        msg = f"hierarchies[{name!r}] lacks {len(missing)} of the column's values; name every one of them."
        raise ParameterError(msg)
    return [(cell, *tree[cell]) for cell in cells]


def _finished(
    columns: dict[str, list[Any]],
    cells: dict[str, NDArray[Any]],
    sensitive: str | None,
    rows: NDArray[np.int64],
    total: int,
) -> Anonymized:
    if sensitive is not None:
        columns[sensitive] = cells[sensitive][rows].tolist()
    return Anonymized(columns, rows, suppressed=total - len(rows))
