"""What a mechanism is made with: targets, choices, grids, relations. Nonsense is refused before any data are seen."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING

from discreet.errors import ParameterError
from discreet.exact import Grid, Interval, Number, integer, rational, shown
from discreet.privacy.relations import Relation, require_relation

if TYPE_CHECKING:
    from typing import SupportsIndex

__all__ = [
    "assign",
    "exactly_one",
    "miss",
    "read_dimensions",
    "read_grid",
    "read_optional_delta",
    "read_positive",
    "require_single",
]


def read_positive(value: Number | None, name: str, *, zero: str) -> Fraction:
    """Read a number above 0; `zero` says why 0 makes no sense. None is refused as no number.

    >>> read_positive("0.5", "epsilon", zero="")
    Fraction(1, 2)
    """
    number = rational(value, name=name)  # type: ignore[arg-type]
    if number <= 0:
        msg = f"{name} is {shown(value)}; it must be above 0{': ' + zero if zero else ''}."
        raise ParameterError(msg)
    return number


def exactly_one(**given: Number | None) -> str:
    """Return the name of the one argument that was given; refuse none and several.

    >>> exactly_one(epsilon=1, scale=None)
    'epsilon'
    """
    names = [name for name, value in given.items() if value is not None]
    if len(names) != 1:
        msg = f"give exactly one of {', '.join(given)}; {', '.join(names) or 'none'} was given."
        raise ParameterError(msg)
    return names[0]


def read_grid(grid: Grid | Number) -> Grid:
    """Read a grid, or the step of one.

    >>> read_grid("1/4") == Grid("1/4")
    True
    """
    return grid if isinstance(grid, Grid) else Grid(grid)


def read_dimensions(value: SupportsIndex) -> int:
    """Read how many coordinates are released together.

    >>> read_dimensions(3)
    3
    """
    return integer(value, name="dimensions", least=1, most=1 << 40)


def read_optional_delta(delta: Number | None, *, needed: bool) -> Fraction | None:
    """Read the delta at which a promise is stated: above 0, below 1; None where it may be missing and is.

    >>> read_optional_delta(1e-6, needed=True)
    Fraction(1, 1000000)
    """
    if delta is None and not needed:
        return None
    chance = rational(delta if delta is not None else 0, name="delta")
    if not 0 < chance < 1:
        msg = (
            f"delta is {shown(delta)}; Gaussian noise keeps an epsilon only with a delta above 0 and below 1, such as "
            "delta=1e-6. Choose it well below 1/n for n units."
        )
        raise ParameterError(msg)
    return chance


def miss(confidence: float, together: int = 1) -> Fraction:
    """Return the probability with which one coordinate may miss, so that `together` independent ones keep confidence.

    c**(1/n) is the confidence of one; it is rounded up, so the probability is rounded down.

    >>> miss(0.95)
    Fraction(1, 20)
    >>> 0.00051 < miss(0.95, together=100) < 0.00052
    True
    """
    chance = rational(confidence, name="confidence")
    if not 0 < chance < 1:
        msg = f"confidence is {shown(confidence)}; it must lie strictly between 0 and 1, such as 0.95."
        raise ParameterError(msg)
    count = integer(together, name="together", least=1)
    if count == 1:
        return 1 - chance
    return 1 - Interval.of(chance, 128).power(Fraction(1, count)).upper


def require_single(neighbors: Relation) -> Relation:
    """Return a relation of single units; refuse groups, whose moves the mechanism does not count.

    >>> from discreet.privacy import NeighborRelation
    >>> require_single(NeighborRelation.CHANGE_ONE).value
    'change_one'
    """
    if require_relation(neighbors).size > 1:
        msg = (
            f"neighbors is {neighbors.value}; state the promise for single units, and take .privacy.group(k) for "
            "groups of k."
        )
        raise ParameterError(msg)
    return neighbors


def assign(mechanism: object, **fields: object) -> None:
    """Set the fields of a frozen value, in its constructor alone.

    >>> from types import SimpleNamespace
    >>> value = SimpleNamespace()
    >>> assign(value, scale=2)
    >>> value.scale
    2
    """
    for name, value in fields.items():
        object.__setattr__(mechanism, name, value)
