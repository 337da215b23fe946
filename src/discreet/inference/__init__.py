"""Constrained inference: noisy answers made consistent with what is known. Pure post-processing: free, and blind.

The theorem behind all of it: if the truth lies in a convex set, the nearest point of the set is at least as close to
the truth as the noisy point was, for every draw of the noise. For a truth t, a noisy point y and its projection p,
|y - t|^2 = |y - p|^2 + |p - t|^2 + 2 <y - p, p - t>, and the last term is not negative, as t is in the set.

>>> from discreet.inference import isotonic
>>> isotonic([3, 1, 2]).tolist()
[2.0, 2.0, 2.0]
"""

from __future__ import annotations

from discreet.inference.constraints import (
    Constraint,
    at_least,
    at_most,
    constrained,
    equal,
    ordered,
    projection_error,
    zero,
)
from discreet.inference.hierarchy import hierarchy
from discreet.inference.isotonic import isotonic
from discreet.inference.nonnegative import nonnegative, simplex
from discreet.inference.trees import tree

__all__ = [
    "Constraint",
    "at_least",
    "at_most",
    "constrained",
    "equal",
    "hierarchy",
    "isotonic",
    "nonnegative",
    "ordered",
    "projection_error",
    "simplex",
    "tree",
    "zero",
]
