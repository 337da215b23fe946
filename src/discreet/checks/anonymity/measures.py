"""How anonymous a table is if it is published as it stands: all measures at once, and the worst classes."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from discreet.engines.duckdb.classes import count_classes, measure_presence, worst_classes
from discreet.engines.duckdb.owned import OwnedTable
from discreet.errors import ParameterError
from discreet.exact import counted, integer, shown

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["Anonymity", "Class", "Hierarchy", "anonymity", "require_roles", "require_steps"]

Hierarchy = Mapping[Any, Sequence[object]]
"""Of each value what it is called one step more generally, two steps, …, up to below "any": as many steps for all."""

# By which column of `classes` the worst come first.
_WORST = {
    "k": "n",
    "distinct": "distinct_values",
    "entropy": "entropy",
    "recursive": "-ratio",
    "closeness": "-distance",
}
_NO_CLASS = "NULL"
_MOST = 100_000


@dataclass(frozen=True, slots=True)
class Class:
    """A class of rows that agree in all quasi-identifiers: what they agree in, how many they are, what a measure says.

    >>> str(Class({"zip": "130**", "age": "<30"}, rows=4, measure=2.0))
    'zip = 130**, age = <30: 4 rows, 2'
    """

    values: dict[str, Any]
    rows: int
    measure: float

    def __str__(self) -> str:
        agreed = ", ".join(f"{name} = {_NO_CLASS if value is None else value}" for name, value in self.values.items())
        return f"{agreed}: {counted(self.rows, 'row')}, {self.measure:.4g}"


@dataclass(frozen=True, slots=True)
class Anonymity:
    """What a table keeps of its people's anonymity: exact facts, for the owner.

    Measures of the sensitive column are None where none was named. `worst` holds the worst classes by each measure.

    >>> import pyarrow as pa
    >>> facts = anonymity(pa.table({"zip": ["130", "130", "148"], "ill": ["flu", "cold", "flu"]}), ["zip"], "ill")
    >>> facts.rows, facts.k, facts.unique, facts.distinct
    (3, 1, 1, 1)
    """

    rows: int
    classes: int
    unique: int
    """Rows that are alone in their class: whoever knows the quasi-identifiers knows whose row it is."""
    k: int
    """The table is k-anonymous for this k (Samarati 2001; Sweeney 2002): the size of the smallest class."""
    distinct: int | None
    """Distinct l-diversity: the fewest sensitive values of a class."""
    entropy: float | None
    """Entropy l-diversity (Machanavajjhala et al. 2007): e to the power of the least entropy of a class."""
    level: int
    """The l of `recursive`."""
    recursive: float | None
    """Recursive (c, l)-diversity (likewise) holds for each c above this: the largest r_1 / (r_l + … + r_m)."""
    closeness: float | None
    """t-closeness (Li, Li, Venkatasubramanian 2007): the largest distance of a class from the whole table."""
    presence: tuple[float, float] | None
    """delta-presence (Nergiz, Atzori, Clifton 2007): least and largest chance that somebody of the population is in."""
    worst: dict[str, tuple[Class, ...]]

    @property
    def risk(self) -> float:
        """The mean chance to name the right person of a row, guessing within the class: classes by rows.

        >>> Anonymity(10, 4, 1, 1, None, None, 2, None, None, None, {}).risk
        0.4
        """
        return self.classes / self.rows

    def record(self) -> dict[str, Any]:
        """Return the measures as a JSON object; what is infinite is null.

        >>> Anonymity(10, 4, 1, 1, None, None, 2, None, None, None, {}).record()["risk"]
        0.4
        """
        record = {**asdict(self), "risk": self.risk}
        return dict(_finite(record))

    def plot(self, axes: Axes | None = None) -> Axes:
        """Draw the worst classes' sizes (needs the extra `plot`).

        >>> worst = {"k": (Class({"zip": "130"}, 1, 1.0), Class({"zip": "148"}, 9, 9.0))}
        >>> Anonymity(10, 2, 1, 1, None, None, 2, None, None, None, worst).plot().get_xlabel()
        'rows of the class'
        """
        if axes is None:
            from matplotlib.figure import Figure

            axes = Figure().subplots()
        smallest = self.worst["k"][::-1]
        axes.barh([", ".join(map(str, held.values.values())) for held in smallest], [held.rows for held in smallest])
        axes.set_xlabel("rows of the class")
        axes.set_title(f"The smallest of {self.classes} classes")
        return axes


def _finite(value: Any) -> Any:  # noqa: ANN401 - any part of a JSON object
    if isinstance(value, dict):
        return {name: _finite(part) for name, part in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(part) for part in value]
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value if value is None or isinstance(value, bool | int | float | str) else str(value)


def anonymity(  # noqa: PLR0913 - each is a thing of its own
    source: object,
    quasi: Sequence[str],
    sensitive: str | None = None,
    *,
    level: int = 2,
    distance: str | Hierarchy = "equal",
    population: object = None,
    witnesses: int = 3,
    memory: str | None = None,
) -> Anonymity:
    """Measure a CSV, Parquet or Arrow file, or a data frame, as if it were published: exact facts, for its owner.

    A class is the rows that agree in all quasi-identifiers. A missing value (NULL) is a value like any other, in
    quasi-identifiers, where an attacker sees that it is missing, and in the sensitive column.

    - Of a class with sensitive frequencies r_1 >= … >= r_m, distinct diversity is m, entropy diversity exp of
      -sum p ln p, and recursive (c, l)-diversity r_1 < c (r_l + … + r_m), l = `level` (Machanavajjhala, Kifer, Gehrke,
      Venkitasubramaniam 2007, "l-diversity", ACM TKDD 1(1), definitions 4.1 and 4.2).
    - Closeness is the earth mover's distance of a class's distribution p from the whole table's q (Li, Li,
      Venkatasubramanian 2007, "t-closeness", ICDE, section 5). "equal": all values are equally far, half the sum of
      |p - q|. "ordered": values i and j of m are |i - j| / (m - 1) apart; numbers by their size, texts after them.
      A hierarchy: two values are as far apart as the level of what covers both, by the number of levels. On a tree each
      edge is crossed by the mass that its subtree lacks or has too much, so this distance is the mean, over the levels
      below the root, of the equal distance between the generalized values.
    - Presence: `population` is a table with the same quasi-identifiers of everybody who could be in; the share of a
      class of it that is in `source` is the chance that one of them is.

    `memory`, such as "1GB", limits what is held at once; the rest goes to a temporary folder that only you can read.

    >>> import pyarrow as pa
    >>> ward = pa.table({"zip": ["130", "130", "148", "148", "148"], "ill": ["flu", "ulcer", "flu", "flu", "flu"]})
    >>> facts = anonymity(ward, ["zip"], "ill")
    >>> facts.k, facts.distinct, facts.entropy, facts.recursive, facts.closeness
    (2, 1, 1.0, inf, 0.3)
    >>> print(facts.worst["distinct"][0])
    zip = 148: 3 rows, 1
    """
    least = integer(level, name="level", least=2, most=_MOST)
    shown_classes = integer(witnesses, name="witnesses", least=1, most=_MOST)
    ordered, hierarchy = _read_distance(distance)
    with OwnedTable(source, memory=memory) as table:
        names = require_roles(table, quasi, sensitive)
        rows, classes, unique = count_classes(
            table, names, sensitive, least=least, ordered=ordered, hierarchy=hierarchy
        )
        if not rows:
            msg = "the table has no rows; there is nobody whose anonymity could be measured."
            raise ParameterError(msg)
        presence = None if population is None else _presence(table, population, names)
        worst = _worst(table, names, shown_classes, some=sensitive is not None)
    extreme = {name: groups[0].measure for name, groups in worst.items()}
    return Anonymity(
        rows=rows,
        classes=classes,
        unique=unique,
        k=int(extreme["k"]),
        distinct=None if sensitive is None else int(extreme["distinct"]),
        entropy=extreme.get("entropy"),
        level=least,
        recursive=extreme.get("recursive"),
        closeness=extreme.get("closeness"),
        presence=presence,
        worst=worst,
    )


def require_roles(table: OwnedTable, quasi: Sequence[str], sensitive: str | None) -> tuple[str, ...]:
    """Return the quasi-identifiers, if they are columns of the table and the sensitive one is another.

    >>> import pyarrow as pa
    >>> with OwnedTable(pa.table({"zip": ["130"], "ill": ["flu"]})) as table:
    ...     require_roles(table, ["zip"], "ill")
    ('zip',)
    """
    names = table.require(quasi, name="quasi")
    if sensitive is not None:
        table.require([sensitive], name="sensitive")
        if sensitive in names:
            msg = f"sensitive is {shown(sensitive)}, which is also a quasi-identifier; leave it out of one."
            raise ParameterError(msg)
    return names


def _read_distance(distance: str | Hierarchy) -> tuple[bool, Hierarchy | None]:
    if distance in ("equal", "ordered"):
        return distance == "ordered", None
    if not isinstance(distance, Mapping):
        msg = (
            f"distance is {shown(distance)}; it must be 'equal', 'ordered' or a hierarchy, such as {{'flu': ['lung']}}."
        )
        raise ParameterError(msg)
    require_steps(distance, name="distance")
    return False, distance


def require_steps(hierarchy: Hierarchy, *, name: str) -> None:
    """Refuse a hierarchy whose values have not all a list of equally many names.

    >>> require_steps({"flu": ["lungs"], "ulcer": []}, name="distance")
    Traceback (most recent call last):
    ...
    discreet.errors.ParameterError: distance is a hierarchy whose values have unequally many steps; repeat a name ...
    """
    if not hierarchy or any(isinstance(above, str) or not isinstance(above, Sequence) for above in hierarchy.values()):
        msg = f"{name} must give each value a list of what it is called more generally, such as {{'flu': ['lungs']}}."
        raise ParameterError(msg)
    if len({len(above) for above in hierarchy.values()}) != 1:
        msg = f"{name} is a hierarchy whose values have unequally many steps; repeat a name where a step is missing."
        raise ParameterError(msg)


def _presence(table: OwnedTable, population: object, quasi: Sequence[str]) -> tuple[float, float]:
    presence = measure_presence(table, population, quasi)
    if presence is None:
        msg = "population lacks some of the table's people; it must hold everybody who could be in the table."
        raise ParameterError(msg)
    return presence


def _worst(table: OwnedTable, quasi: Sequence[str], witnesses: int, *, some: bool) -> dict[str, tuple[Class, ...]]:
    """Ask for the classes with the worst of each measure, in an order that does not depend on how they are stored."""
    return {
        measure: tuple(
            Class(dict(zip(quasi, row, strict=False)), row[-2], abs(row[-1]))
            for row in worst_classes(table, quasi, order, witnesses)
        )
        for measure, order in _WORST.items()
        if some or measure == "k"
    }
