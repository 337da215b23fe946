"""How a random sample of the units is drawn."""

from __future__ import annotations

from enum import Enum

__all__ = ["FixedSize", "Poisson", "Scheme"]


class Scheme(Enum):
    """How the sample is drawn.

    >>> Scheme.POISSON.value
    'poisson'
    """

    POISSON = "poisson"
    """Each unit independently with probability `rate`. The sample's size is random and private. For add/remove."""

    FIXED_SIZE = "fixed_size"
    """A uniformly random subset of public size rate * n, n public. For change-one."""


Poisson = Scheme.POISSON
"""Each unit independently; for add/remove neighbors."""

FixedSize = Scheme.FIXED_SIZE
"""A subset of public size; for change-one neighbors."""
