"""Which oracle for how many items and which epsilon."""

from __future__ import annotations

from typing import TYPE_CHECKING

from discreet.errors import ParameterError
from discreet.methods.local.direct import Direct
from discreet.methods.local.hashing import Hadamard, LocalHashing
from discreet.methods.local.projective import ProjectiveGeometry
from discreet.methods.local.subset_selection import SubsetSelection

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import SupportsIndex

    from discreet.exact import Number
    from discreet.methods.local.oracle import Oracle

__all__ = ["frequency_oracle"]

_SHORT = 32
_AS_GOOD = 1.01


def frequency_oracle(items: SupportsIndex, *, epsilon: Number) -> Oracle:
    """Choose the oracle with the least variance for rare items; of those within one percent, the shortest report.

    Randomized response for few items, subset selection while its sets take up to 32 bytes, hashing and projective
    geometry for many: nothing but public numbers decides.

    >>> [type(frequency_oracle(items, epsilon=1)).__name__ for items in (2, 20, 1024)]
    ['Direct', 'SubsetSelection', 'LocalHashing']
    """
    kinds: tuple[Callable[..., Oracle], ...] = (Direct, SubsetSelection, LocalHashing, ProjectiveGeometry, Hadamard)
    some = []
    for kind in kinds:
        try:
            oracle = kind(items, epsilon=epsilon)
        except ParameterError:
            if kind is Direct:
                raise
            continue  # too many items for this kind of report
        if oracle.width <= _SHORT:
            some.append(oracle)
    least = min(oracle.variance() for oracle in some)
    return min((one for one in some if one.variance() <= _AS_GOOD * least), key=lambda one: one.width)
