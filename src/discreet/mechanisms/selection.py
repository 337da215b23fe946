"""What choices among candidates share: reading private scores, the noise's scale, and how far a choice may fall."""

from __future__ import annotations

from fractions import Fraction
from numbers import Integral
from typing import TYPE_CHECKING, TypeVar

import numpy as np

from discreet.errors import ParameterError
from discreet.exact import float_up, integer, log_upper, shown
from discreet.mechanisms.additive import miss
from discreet.privacy import NeighborRelation

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import SupportsIndex

    from numpy.typing import ArrayLike, NDArray

    from discreet.privacy.relations import Relation

__all__ = [
    "checked_candidates",
    "gap_bound",
    "private_scores",
    "require_monotone",
    "scored",
    "selection_scale",
]

_MOST = 1 << 62
_FARTHEST = 2.0**1000
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
    if monotone and neighbors is not NeighborRelation.ADD_REMOVE:
        msg = (
            f"monotone=True with neighbors={neighbors.value}; scores that only rise when a unit is added are monotone "
            "under add_remove alone: where one unit replaces another, some fall while others rise. Leave monotone out."
        )
        raise ParameterError(msg)
    return monotone


def private_scores(scores: ArrayLike) -> NDArray[np.int64] | NDArray[np.float64]:
    """Read one score per candidate; total, so that no error depends on a score.

    NaN counts as the lowest score, integers beyond 2**62 and floats beyond 2**1000 as these ends. Number and type of
    the scores are public.

    >>> private_scores([1, 2**70]).tolist() == [1, 2**62], bool(private_scores([0.5, float("nan")])[1] < -1e300)
    (True, True)
    """
    try:
        array = np.asarray(scores)
    except (TypeError, ValueError):  # rows of unequal length
        array = np.empty((0, 0))
    if array.ndim != 1 or array.size == 0:
        msg = f"scores have the shape {shown(array.shape)}; there must be one number per candidate, and a candidate."
        raise ParameterError(msg)
    if array.dtype.kind == "O":
        array = _objects(array)
    if array.dtype.kind in "bi":
        whole: NDArray[np.int64] = np.clip(array.astype(np.int64), -_MOST, _MOST)
        return whole
    if array.dtype.kind == "u":
        return np.asarray(np.minimum(array, np.uint64(_MOST)), dtype=np.int64)
    if array.dtype.kind != "f":
        msg = f"scores are of type {array.dtype}; they must be real numbers."
        raise ParameterError(msg)
    found: NDArray[np.float64] = np.clip(np.nan_to_num(array.astype(np.float64), nan=-np.inf), -_FARTHEST, _FARTHEST)
    return found


def _objects(array: NDArray[np.object_]) -> NDArray[np.int64] | NDArray[np.float64]:
    """Read a list of mixed numbers: whole ones exactly, others as floats, what is no number as NaN."""
    if all(isinstance(each, Integral) for each in array):
        return np.array([max(-_MOST, min(int(each), _MOST)) for each in array], dtype=np.int64)
    return np.array([_float(each) for each in array])


def _float(each: object) -> float:
    try:
        return float(each)  # type: ignore[arg-type]
    except (TypeError, ValueError):
        return float("nan")
    except OverflowError:
        return float("inf") if each > 0 else float("-inf")  # type: ignore[operator]


def scored(score: Callable[[Candidate], float], candidates: Sequence[Candidate]) -> NDArray[np.float64]:
    """Call a score function for each candidate; where it raises or returns no number, the score is the lowest.

    An error that depends on private data would be a release of its own.

    >>> scored(lambda c: 1 / c, [2, 0]).tolist()[0]
    0.5
    """

    def one(candidate: Candidate) -> float:
        try:
            return _float(score(candidate))
        except Exception:  # noqa: BLE001  whatever private data make the caller's function raise
            return float("nan")

    return np.array([one(each) for each in candidates], dtype=np.float64)


def checked_candidates(candidates: Sequence[Candidate] | None, count: int) -> Sequence[object]:
    """Return the names of the candidates, or their numbers where none were given.

    >>> checked_candidates(None, 3), checked_candidates("ab", 2)
    (range(0, 3), 'ab')
    """
    if candidates is None:
        return range(count)
    if len(candidates) != count:
        msg = f"there are {len(candidates)} candidates and {count} scores; give one score per candidate."
        raise ParameterError(msg)
    return candidates


def gap_bound(scale: Fraction, candidates: SupportsIndex, best: SupportsIndex, confidence: float) -> float:
    """Return how far below the best score the chosen one stays, with this probability.

    Pr[best - chosen >= g] <= (candidates / best) exp(-g / scale), where `best` candidates share the best score.
    Exponential mechanism: a candidate that is g below has at most exp(-g / scale) / best of the probability of all
    the best (McSherry & Talwar 2007; Dwork & Roth 2014, Theorem 3.11). Permute-and-flip: such a candidate wins only
    if its exponential noise exceeds g and, what is left of it having no memory, then beats the noise of all the best:
    at most exp(-g / scale) / (best + 1).

    >>> round(gap_bound(Fraction(2), 4, 1, 1 - 0.04978706836786394), 2)  # ln 20.08 = 3
    8.77
    """
    count = integer(candidates, name="candidates", least=1)
    shared = integer(best, name="best", least=1, most=count)
    return float_up(scale * log_upper(Fraction(count, shared) / miss(confidence)))
