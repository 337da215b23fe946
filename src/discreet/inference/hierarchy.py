"""Nested totals of any shape: regions of states of a country, with noise on each."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from discreet.errors import ParameterError
from discreet.exact import shown

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["hierarchy"]


def hierarchy(
    values: Mapping[str, float],
    parents: Mapping[str, str],
    *,
    variances: Mapping[str, float] | None = None,
) -> dict[str, float]:
    """Make noisy totals consistent: each total the sum of its parts, by weighted least squares.

    `values` holds a noisy number for each name, `parents` says for each part what it is a part of. What was not
    measured is left out of `values`, or has an infinite variance; a part without a number must follow from the others.

    The two passes of `tree`, for nodes with unequal variances: up, each total is combined with the sum of its parts by
    inverse variance; down, what is left is spread over the parts in proportion to their variances.

    >>> hierarchy({"country": 10, "north": 4, "south": 3}, {"north": "country", "south": "country"})
    {'country': 9.0, 'north': 5.0, 'south': 4.0}
    """
    order = _downwards(values, parents)
    spread = {name: 1.0 if name in values else np.inf for name in order} | dict(variances or {})
    if wrong := [name for name in spread if name not in order or not spread[name] > 0]:
        msg = f"variances has {shown(wrong[0])}; each name of values has a variance above 0."
        raise ParameterError(msg)
    parts: dict[str, list[str]] = {name: [] for name in order}
    for part, whole in parents.items():
        parts[whole].append(part)
    mean: dict[str, float] = {}
    left: dict[str, float] = {}
    for name in reversed(order):
        own = (float(values.get(name, 0.0)), spread[name])
        below = (sum(mean[part] for part in parts[name]), sum(left[part] for part in parts[name]))
        mean[name], left[name] = _combined(own, below) if parts[name] else own
    if not np.isfinite(left[order[0]]) or any(sum(not np.isfinite(left[p]) for p in parts[n]) > 1 for n in order):
        msg = "some totals are not determined: give a number for every part, or for all but one of a total with one."
        raise ParameterError(msg)
    for name in order:
        excess = mean[name] - sum(mean[part] for part in parts[name])
        spread_below = sum(left[part] for part in parts[name])
        for part in parts[name]:
            unknown = float(not np.isfinite(left[part]))
            mean[part] += excess * (left[part] / spread_below if np.isfinite(spread_below) else unknown)
    return {name: mean[name] for name in order}


def _combined(own: tuple[float, float], below: tuple[float, float]) -> tuple[float, float]:
    """Combine two numbers by inverse variance."""
    if not np.isfinite(own[1]):
        return below
    if not np.isfinite(below[1]):
        return own
    share = below[1] / (below[1] + own[1])
    return below[0] + share * (own[0] - below[0]), share * own[1]


def _downwards(values: Mapping[str, float], parents: Mapping[str, str]) -> list[str]:
    """Order all names so that each whole comes before its parts; refuse several roots and circles."""
    names = list(dict.fromkeys([*values, *parents, *parents.values()]))
    roots = [name for name in names if name not in parents]
    if len(roots) != 1:
        msg = f"parents leaves {len(roots)} totals that are part of nothing: {shown(roots[:3])}; there must be one."
        raise ParameterError(msg)
    order, reached = list(roots), set(roots)
    for whole in order:  # grows while it is walked
        present = [part for part in names if parents.get(part) == whole and part not in reached]
        order += present
        reached |= set(present)
    if len(order) < len(names):
        circle = next(name for name in names if name not in reached)
        msg = f"parents has a circle around {shown(circle)}; a total is no part of its own parts."
        raise ParameterError(msg)
    return order
