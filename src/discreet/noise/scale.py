"""The check that every sampler makes of its scale."""

from __future__ import annotations

from fractions import Fraction

from discreet.errors import ParameterError
from discreet.exact import Number, rational, shown

__all__ = ["LARGEST_SCALE", "SMALLEST_SCALE", "checked_scale"]

LARGEST_SCALE = Fraction(144 * 10**15)  # just below 2**57, whose float prints as a decimal that is smaller than it
SMALLEST_SCALE = Fraction(1, 1024)


def checked_scale(value: Number, *, name: str = "scale") -> Fraction:
    """Read a noise scale that 64-bit integers can carry: from 2**-10 to below 1.44e17, about 2**57.

    Above, the noise would leave the 64-bit range too often; below, Pr[noise is not 0] < 2 exp(-1024), which is no
    noise.
    """
    scale = rational(value, name=name)
    if scale <= 0:
        msg = f"{name} is {shown(value)}; it must be above 0, as noise of scale 0 protects nobody."
        raise ParameterError(msg)
    if scale < SMALLEST_SCALE:
        msg = f"{name} is {shown(value)}; it must be at least 2**-10: below that the noise is practically always 0."
        raise ParameterError(msg)
    if scale >= LARGEST_SCALE:
        msg = (
            f"{name} is {shown(value)}; it must be below 1.44e17, just under 2**57, so that 64 bits hold the noise. "
            "A larger epsilon, closer bounds or larger units need less noise."
        )
        raise ParameterError(msg)
    return scale
