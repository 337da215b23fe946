"""The square root of summation: the default under zCDP while a horizon fits in memory."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from discreet.mechanisms.prefix.factorization import read_horizon
from discreet.mechanisms.prefix.toeplitz import MOST, Toeplitz, snapped_series

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["SquareRoot", "root_series"]


def root_series(count: int) -> NDArray[np.float64]:
    """Return the coefficients of 1 / sqrt(1 - z): c_k = c_(k-1) (2k - 1) / (2k).

    >>> root_series(3).tolist()
    [1.0, 0.5, 0.375]
    """
    places = np.arange(1, count)
    return np.concatenate([[1.0], np.cumprod((2 * places - 1) / (2 * places))])


@dataclass(frozen=True, slots=True)
class SquareRoot(Toeplitz):
    """B = C = the square root of A: both have the coefficients of 1 / sqrt(1 - z), here snapped to 2**-20.

    The largest deviation is that of the best factorization up to a term that does not grow with T; it keeps all
    elements and noisy encodings.

    >>> root = SquareRoot(65536).deviations(rho="1/2")
    >>> round(float(np.sqrt(np.mean(root**2))), 2), bool(root.max() <= 4.60)
    (4.43, True)
    """

    kind: ClassVar[str] = "square_root"
    title: ClassVar[str] = "square root"
    source: ClassVar[str] = (
        "Henzinger, Upadhyay & Upadhyay 2023, arXiv:2211.05006; Fichtenberger, Henzinger & Upadhyay 2023"
    )

    horizon: int

    def __post_init__(self) -> None:
        """Refuse what is no horizon, or too long a one."""
        read_horizon(self.horizon, MOST)

    def coefficients(self) -> NDArray[np.int64]:
        """The coefficients of the encoder, in steps of the lattice."""
        return _coefficients(self.horizon)


@lru_cache(maxsize=8)
def _coefficients(horizon: int) -> NDArray[np.int64]:
    coefficients = snapped_series(root_series(horizon))
    coefficients.setflags(write=False)
    return coefficients
