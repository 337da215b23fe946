"""What choices among candidates share: reading private scores, the noise's scale, and how far a choice may fall."""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction
from numbers import Integral
from typing import TYPE_CHECKING, TypeVar

import numpy as np

from discreet.errors import ParameterError
from discreet.exact import float_up, integer, log_upper, shown
from discreet.mechanisms.inputs.parameters import miss
from discreet.mechanisms.inputs.rows import listed
from discreet.mechanisms.inputs.values import as_given, private_number, quietly
from discreet.privacy import NeighborRelation

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Sequence
    from typing import Any, SupportsIndex

    from numpy.typing import ArrayLike, NDArray

    from discreet.privacy.relations import Relation

    Scores = NDArray[np.int64] | NDArray[np.float64] | NDArray[np.object_]

__all__ = [
    "checked_candidates",
    "gap_bound",
    "listed_candidates",
    "private_scores",
    "read_names",
    "require_monotone",
    "scored",
    "selection_scale",
]

_MOST = 1 << 62
_FARTHEST = 2.0**1000
_LAST = Fraction(1 << 1000)
_DOUBLE = 8  # bytes: wider floats are read exactly
Candidate = TypeVar("Candidate")


def selection_scale(sensitivity: Fraction, epsilon: Fraction, *, monotone: bool) -> Fraction:
    """Return the scale of the noise on each score: 2 sensitivity / epsilon, or half of it for monotone scores.

    In general one score may rise by the sensitivity while another falls by it, so that two scores move apart by twice
    the sensitivity. Where for each pair of neighbors all scores move the same way, they move apart by it once.

    >>> selection_scale(Fraction(1), Fraction(1, 2), monotone=False), selection_scale(
    ...     Fraction(1), Fraction(1, 2), monotone=True
    ... )
    (Fraction(4, 1), Fraction(2, 1))
    """
    return (1 if monotone else 2) * sensitivity / epsilon


def require_monotone(neighbors: Relation, *, monotone: bool) -> bool:
    """Refuse monotone scores under change-one: one unit leaves and another enters, so scores fall and rise at once.

    >>> require_monotone(NeighborRelation.ADD_REMOVE, monotone=True)
    True
    """
    if not isinstance(monotone, bool):
        msg = f"monotone is {shown(monotone)}; it must be True or False."
        raise ParameterError(msg)
    if monotone and (neighbors.relation is not NeighborRelation.ADD_REMOVE or neighbors.size > 1):
        msg = (
            f"monotone=True with neighbors={neighbors.value}; scores that only rise when a unit is added are monotone "
            "under add_remove alone: where one unit replaces another, some fall while others rise. Leave monotone out."
        )
        raise ParameterError(msg)
    return monotone


def private_scores(scores: ArrayLike) -> Scores:
    """Read one score per candidate; total, so that no error depends on a score.

    NaN and what is no number count as the lowest score, numbers beyond 2**1000 as these ends, and integers of an array
    of integers beyond 2**62 as those. Each score is read by itself and exactly, whatever its type: integers beside
    floats stay integers, as fractions, for rounding could move neighbors' scores apart by more than their sensitivity.
    Number of the scores and type of an array are public.

    >>> private_scores([1, 2**70]).tolist() == [1, 2**70], bool(private_scores([0.5, float("nan")])[1] < -1e300)
    (True, True)
    """
    scores = as_given(scores)
    try:
        with quietly():
            array = np.asarray(scores)
    except (TypeError, ValueError):  # rows of unequal length
        array = np.empty((0, 0))
    if array.ndim != 1 or array.size == 0:
        msg = f"scores have the shape {shown(array.shape)}; there must be one number per candidate, and a candidate."
        raise ParameterError(msg)
    listed = not isinstance(getattr(scores, "dtype", None), np.dtype)
    wide = array.dtype.kind == "f" and array.dtype.itemsize > _DOUBLE
    far = listed and array.dtype.kind in "iu" and (array.max() > _MOST or array.min() < -_MOST)
    if array.dtype.kind == "O" or wide or far or (listed and array.dtype.kind not in "biu"):
        given = array if not listed else np.array(scores, dtype=object)
        if wide or far or not all(isinstance(score, float) for score in given):
            return _objects(given)
        array = given.astype(np.float64)
    if array.dtype.kind in "bi":
        whole: NDArray[np.int64] = np.clip(array.astype(np.int64), -_MOST, _MOST)
        return whole
    if array.dtype.kind == "u":
        return np.asarray(np.minimum(array, np.uint64(_MOST)), dtype=np.int64)
    if array.dtype.kind != "f":
        msg = f"scores are of type {array.dtype}; they must be real numbers."
        raise ParameterError(msg)
    finite: NDArray[np.float64] = np.clip(np.nan_to_num(array.astype(np.float64), nan=-np.inf), -_FARTHEST, _FARTHEST)
    return finite


def _objects(array: NDArray[Any]) -> Scores:
    """Read a list of mixed numbers, each exactly."""
    exact = (
        [_exact(score) for score in array.tolist()] if array.dtype.kind == "O" else [_exact(score) for score in array]
    )
    if all(isinstance(score, int) and abs(score) <= _MOST for score in exact):
        return np.array(exact, dtype=np.int64)
    objects = np.empty(len(exact), dtype=object)
    objects[:] = [Fraction(score) for score in exact]
    return objects


def _exact(score: object) -> int | Fraction:
    """Read one score: whole ones as integers, others as fractions, what is no number as the lowest."""
    number = private_number(score)
    if isinstance(number, float):
        return _LAST if number > 0 else -_LAST
    inside = max(-_LAST, min(number, _LAST))
    return int(inside) if isinstance(score, Integral | np.bool_) else inside


def scored(score: Callable[[Candidate], float], candidates: Sequence[Candidate]) -> list[Any]:
    """Call a score function for each candidate; where it raises or returns no number, the score is the lowest.

    An error that depends on private data would be a release of its own.

    >>> scored(lambda c: 1 / c, [2, 0])[0]
    0.5
    """

    def one(candidate: Candidate) -> object:
        try:
            with quietly():
                given = score(candidate)
            return given if type(given) in {int, float} else _exact(given)
        except Exception:  # noqa: BLE001  whatever private data make the caller's function raise
            return -_LAST

    return [one(offered) for offered in candidates]


def checked_candidates(candidates: Iterable[object] | None, count: int) -> Sequence[object]:
    """Return the names of the candidates, or their numbers where none were given.

    >>> checked_candidates(None, 3), checked_candidates("ab", 2)
    (range(0, 3), 'ab')
    """
    if candidates is None:
        return range(count)
    names = listed_candidates(candidates)
    if len(names) != count:
        msg = f"there are {len(names)} candidates and {count} scores; give one score per candidate."
        raise ParameterError(msg)
    return names


def listed_candidates(candidates: Iterable[Candidate]) -> Sequence[Candidate]:
    """Return candidates by their places: a Series would be asked by its labels, and a set has no places.

    >>> listed_candidates(iter("ab")), listed_candidates(range(3))
    (['a', 'b'], range(0, 3))
    """
    if isinstance(candidates, list | tuple | str | range):
        return candidates
    if not isinstance(candidates, Iterable):
        msg = f"candidates is {shown(candidates)}; it must be a list of what to choose from."
        raise ParameterError(msg)
    return list(candidates)


def read_names(candidates: Iterable[Hashable]) -> tuple[Hashable, ...]:
    """Read a public list of different values, of an array as Python's own.

    >>> read_names("ab"), read_names(np.array([1, 2]))
    (('a', 'b'), (1, 2))
    """
    try:
        names = tuple(listed(candidates, name="candidates"))
        good = 0 < len(names) == len(set(names))
    except TypeError:  # candidates that cannot be hashed
        good = False
    if not good:
        msg = f"candidates is {shown(candidates)}; give at least one that can be hashed, and each once."
        raise ParameterError(msg)
    return names


def gap_bound(scale: Fraction, candidates: SupportsIndex, best: SupportsIndex, confidence: float) -> float:
    """Return how far below the best score the chosen one stays, with this probability.

    Pr[best - chosen >= g] <= (candidates / best) exp(-g / scale), where `best` candidates share the best score.
    Exponential mechanism: a candidate that is g below has at most exp(-g / scale) / best of the probability of all
    the best (McSherry & Talwar 2007; Dwork & Roth 2014). Permute-and-flip: such a candidate wins only
    if its exponential noise exceeds g and, what is left of it having no memory, then beats the noise of all the best:
    at most exp(-g / scale) / (best + 1).

    >>> round(gap_bound(Fraction(2), 4, 1, 1 - 0.04978706836786394), 2)  # ln 20.08 = 3
    8.77
    """
    count = integer(candidates, name="candidates", least=1)
    shared = integer(best, name="best", least=1, most=count)
    return float_up(scale * log_upper(Fraction(count, shared) / miss(confidence)))
