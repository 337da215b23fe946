"""Integers, fractions, intervals and directed rounding: the only place that turns exact into float.

>>> from discreet.exact import rational, log_upper
>>> log_upper(rational("1.5")) >= log_upper(rational(1))
True
"""

from __future__ import annotations

from discreet.exact.grid import Grid
from discreet.exact.interval import Box, Interval
from discreet.exact.rational import Number, counted, exact_text, integer, rational, shown
from discreet.exact.rounding import (
    exp_lower,
    exp_upper,
    float_down,
    float_up,
    log_lower,
    log_upper,
    sqrt_lower,
    sqrt_upper,
)

__all__ = [
    "Box",
    "Grid",
    "Interval",
    "Number",
    "counted",
    "exact_text",
    "exp_lower",
    "exp_upper",
    "float_down",
    "float_up",
    "integer",
    "log_lower",
    "log_upper",
    "rational",
    "shown",
    "sqrt_lower",
    "sqrt_upper",
]
