"""Attacks on answers, and what came of them as values.

An attack is handed a function that answers questions. It succeeds against exact answers and against noise that nobody
keeps count of, and fails against a database; `discreet demo` shows both.

>>> from discreet.checks.attacks import averaging
>>> averaging(lambda question: 12.0, ["how many?"] * 5, truth=12.0).told
True
"""

from __future__ import annotations

from discreet.checks.attacks.averaging import Averaging, averaging
from discreet.checks.attacks.differencing import Differencing, Target, differencing

__all__ = ["Averaging", "Differencing", "Target", "averaging", "differencing"]
