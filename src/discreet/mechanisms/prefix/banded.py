"""The square root cut off after some coefficients: for units whose events are far apart."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from discreet.exact import integer
from discreet.mechanisms.prefix.factorization import read_horizon
from discreet.mechanisms.prefix.square_root import root_series
from discreet.mechanisms.prefix.toeplitz import MOST, Toeplitz, snapped_series

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["Banded"]


@dataclass(frozen=True, slots=True)
class Banded(Toeplitz):
    """The encoder of `SquareRoot` with its first coefficients alone; the decoder undoes that one exactly.

    An event moves so many encodings as there are bands. If the events of a unit are at least that many steps apart,
    they move different encodings, and k of them cost sqrt(k), not k.

    >>> from fractions import Fraction
    >>> from discreet.mechanisms import Norm
    >>> apart = [float(each.moved(Fraction(1), Norm.L2, events=4, separation=16)) / 2**20
    ...     for each in (Banded(64, 16), Banded(64, 64))]
    >>> [round(move, 2) for move in apart]
    [2.79, 3.96]
    """

    kind: ClassVar[str] = "banded"
    title: ClassVar[str] = "banded square root"
    source: ClassVar[str] = (
        "Kalinin & Lampert 2024, arXiv:2405.13763; Choquette-Choo et al. 2023, arXiv:2306.08153 (events apart)"
    )

    horizon: int
    bands: int

    def __post_init__(self) -> None:
        """Refuse what is no horizon, or too long a one, and more bands than steps."""
        integer(self.bands, name="bands", least=1, most=read_horizon(self.horizon, MOST))

    def coefficients(self) -> NDArray[np.int64]:
        """The coefficients of the encoder, in steps of the lattice."""
        return _coefficients(self.horizon, self.bands)


@lru_cache(maxsize=8)
def _coefficients(horizon: int, bands: int) -> NDArray[np.int64]:
    coefficients = np.zeros(horizon, dtype=np.int64)
    coefficients[:bands] = snapped_series(root_series(bands))
    coefficients.setflags(write=False)
    return coefficients
