"""How curves become numbers: every answer is an interval that contains the truth.

`losses` says what mechanisms know about one direction of their dominating pairs, `solvers` compose them. Here lie what
both need (`search`, `elementary`, `transform`) and the losses that are themselves answers of solvers: `composed` and
`envelope`.
"""

from __future__ import annotations

__all__: list[str] = []  # nothing here is for use from outside
