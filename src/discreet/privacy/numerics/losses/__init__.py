"""What one mechanism knows about its privacy loss, in one direction of its dominating pair.

`loss` says what that is; one file for each kind of law; `product` writes a short composition as one law.
"""

from __future__ import annotations

__all__: list[str] = []  # nothing here is for use from outside
