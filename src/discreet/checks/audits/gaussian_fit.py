"""A lower bound on the distance of two Gaussian laws of one width, from samples of both: where a caller vouches for it.

Of n outputs on either input the two-sample statistic T = (mean - mean')/(s sqrt(2/n)), s^2 the pooled variance, follows
a noncentral t law with 2n - 2 degrees of freedom and noncentrality mu sqrt(n/2), where mu is the distance in standard
deviations. All outputs count at once: no threshold is chosen, so there is no selection to pay for. (Fitting mu at
the best of many thresholds, as if it had been fixed beforehand, gives "lower bounds" that lie above the truth.)
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from discreet.errors import ParameterError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

__all__ = ["distance_at_least", "require_gaussian"]

FALSE_ALARM = 1e-9
HALVINGS = 60


def distance_at_least(over: NDArray[np.float64], under: NDArray[np.float64], error: float) -> float:
    """Return a lower bound on how many standard deviations two laws are apart, wrong with chance at most `error`.

    Both directions are tried, each with half of the error.

    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> 0.8 < distance_at_least(rng.normal(1, 1, 2000), rng.normal(0, 1, 2000), 0.05) < 1
    True
    """
    from scipy.special import nctdtr

    many, other = len(over), len(under)
    width = math.sqrt(((many - 1) * over.var(ddof=1) + (other - 1) * under.var(ddof=1)) / (many + other - 2))
    unit = math.sqrt(1 / many + 1 / other)
    gap = abs(float(over.mean() - under.mean()))
    if not width:
        return 0.0 if not gap else math.inf
    statistic, freedom = gap / (width * unit), many + other - 2

    def above(noncentrality: float) -> float:
        return float(1 - nctdtr(freedom, noncentrality, statistic))

    if above(0.0) > error / 2:
        return 0.0
    low, high = 0.0, statistic + 1
    for _ in range(HALVINGS):
        middle = (low + high) / 2
        low, high = (middle, high) if above(middle) <= error / 2 else (low, middle)
    return low * unit


def require_gaussian(*samples: NDArray[np.float64]) -> None:
    """Refuse what is clearly not Gaussian, by its skewness and kurtosis (Jarque & Bera 1987), at a false alarm of 1e-9.

    >>> import numpy as np
    >>> require_gaussian(np.random.default_rng(0).laplace(0, 1, 2000))
    Traceback (most recent call last):
    ...
    discreet.errors.ParameterError: assuming is 'gaussian', and the outputs are not: their tails or sides differ. ...
    """
    from scipy.stats import jarque_bera

    if any(sample.std() and float(jarque_bera(sample).pvalue) < FALSE_ALARM for sample in samples):
        msg = (
            "assuming is 'gaussian', and the outputs are not: their tails or sides differ. Leave it out; the bound "
            "then holds for any mechanism."
        )
        raise ParameterError(msg)
