"""How curves become numbers: every answer is an interval that contains the truth.

`loss` says what a part must know about one direction of its dominating pair, `contour` integrates the log-moment
function, `lattice` does the same on a grid, `closed` holds single-mechanism formulas, `account` chooses.
"""

from __future__ import annotations

__all__: list[str] = []  # nothing here is for use from outside
