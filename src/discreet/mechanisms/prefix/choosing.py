"""Which factorization to take, and how one is read again."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from discreet.errors import ParameterError
from discreet.exact import shown
from discreet.exact.rational import read_choice
from discreet.mechanisms.adding.grids import Norm
from discreet.mechanisms.prefix.banded import Banded
from discreet.mechanisms.prefix.binary_tree import BinaryTree
from discreet.mechanisms.prefix.buffered import Buffered
from discreet.mechanisms.prefix.every_element import EveryElement
from discreet.mechanisms.prefix.every_output import EveryOutput
from discreet.mechanisms.prefix.kary_tree import KaryTree
from discreet.mechanisms.prefix.square_root import SquareRoot
from discreet.mechanisms.prefix.weighted_tree import WeightedTree

if TYPE_CHECKING:
    from collections.abc import Mapping

    from discreet.mechanisms.prefix.factorization import Factorization

__all__ = ["FACTORIZATIONS", "read_factorization", "recommended"]

FACTORIZATIONS: dict[str, type[Factorization]] = {
    factorization.kind: factorization
    for factorization in (EveryOutput, EveryElement, BinaryTree, WeightedTree, KaryTree, SquareRoot, Buffered, Banded)
}

_IN_MEMORY = 1 << 16
_SEALED = 1 << 10


def recommended(horizon: int, norm: Norm | str, *, durable: bool = False) -> Factorization:
    """Return the one to take: for moves in L1 (epsilon) or L2 (rho), kept in memory or sealed at every step.

    >>> [recommended(365, "l1").kind, recommended(365, "l2").kind, recommended(10**6, "l2").kind]
    ['kary_tree', 'square_root', 'buffered']
    """
    if read_choice(Norm, norm, "norm") is Norm.L1:
        return KaryTree(horizon)
    return SquareRoot(horizon) if horizon <= (_SEALED if durable else _IN_MEMORY) else Buffered(horizon, 4)


def read_factorization(record: Mapping[str, Any]) -> Factorization:
    """Read what `record` of a factorization wrote.

    >>> read_factorization(BinaryTree(8).record())
    BinaryTree(horizon=8)
    """
    given = dict(record)
    kind = given.pop("kind", None)
    if kind not in FACTORIZATIONS:
        msg = f"kind is {shown(kind)}, which is no factorization; there are {', '.join(FACTORIZATIONS)}."
        raise ParameterError(msg)
    try:
        return FACTORIZATIONS[kind](**given)
    except TypeError as error:
        msg = f"this is no {kind} ({error}); take what .record() wrote."
        raise ParameterError(msg) from None
