"""Levels of a tree over an axis: what trees and wavelets share."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from discreet.errors import ParameterError

if TYPE_CHECKING:
    from discreet.methods.workloads.algebra.workload import Floats, Workload

__all__ = ["depth_of", "needed", "require_line", "spread"]


def require_line(workload: Workload) -> int:
    """Return the number of cells of a workload over one axis.

    >>> from discreet.methods.workloads import Prefix
    >>> require_line(Prefix(8))
    8
    """
    if len(workload.shape) != 1:
        msg = f"the workload has {len(workload.shape)} axes; a tree is over one. Take `plan`, which chooses by axis."
        raise ParameterError(msg)
    return workload.shape[0]


def depth_of(cells: int, branching: int) -> int:
    """How many levels a complete tree has above its leaves.

    >>> depth_of(9, 2), depth_of(8, 2), depth_of(1, 2)
    (4, 3, 0)
    """
    depth = 0
    while branching**depth < cells:
        depth += 1
    return depth


def needed(workload: Workload, branching: int) -> Floats:
    """Return, for each level, how much of the workload lies there.

    The space over the padded axis splits into orthogonal parts: for each level j the vectors that are constant on
    blocks of b**j cells and add up to 0 in each block of b**(j+1), and at the top the constants. The Gram matrix's
    trace on part j is t_j / b**j - t_(j+1) / b**(j+1), where t_j sums the squares of what each query counts in each
    block.

    >>> from discreet.methods.workloads import Identity
    >>> needed(Identity(4), 2).tolist()
    [2.0, 1.0, 1.0]
    """
    depth = depth_of(require_line(workload), branching)
    traces = np.array([workload.block_trace(branching**level) / branching**level for level in range(depth + 1)])
    wanted: Floats = np.maximum(traces - np.append(traces[1:], 0.0), 0.0)
    return wanted


def spread(workload: Workload, branching: int, left: Floats) -> Floats:
    """Return the variance of each query, where the estimate has the variance `left` on each level's part.

    >>> from discreet.methods.workloads import Total
    >>> spread(Total(4), 2, np.array([9.0, 9.0, 1.0])).tolist()
    [4.0]
    """
    depth = len(left) - 1
    lengths = [workload.block_squares(branching**level) / branching**level for level in range(depth + 1)]
    below = [*lengths[1:], np.zeros_like(lengths[0])]
    variances: Floats = np.sum([each * (a - b) for each, a, b in zip(left, lengths, below, strict=True)], axis=0)
    return variances
