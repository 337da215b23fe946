"""Basic composition: everything adds."""

from __future__ import annotations

from functools import reduce
from typing import TYPE_CHECKING

from discreet.errors import ParameterError
from discreet.exact.rational import read_list, require_kind
from discreet.privacy.currencies import Approximate

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["basic"]


def basic(promises: Sequence[Approximate]) -> Approximate:
    """Add the epsilons and the deltas; valid for any choice of mechanisms, also adaptive ones.

    Dwork, Kenthapadi, McSherry, Mironov & Naor 2006 (doi:10.1007/11761679_29); Dwork & Roth 2014
    (doi:10.1561/0400000042), Theorem 3.16.

    >>> basic([Approximate("0.1", 1e-8)] * 3)
    Approximate(epsilon=0.3, delta=3e-08)
    """
    listed = [require_kind(promise, Approximate, "promises") for promise in read_list(promises, "promises")]
    if not listed:
        msg = "promises is empty; basic composition needs at least one. Nothing released costs Approximate(0)."
        raise ParameterError(msg)
    return reduce(lambda left, right: left + right, listed)
