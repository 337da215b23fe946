"""Promises as exact values that add only with their own kind.

>>> from discreet.privacy.currencies import Pure
>>> Pure(0.1) + Pure(0.2)
Pure(epsilon=0.3)
"""

from __future__ import annotations

from discreet.privacy.currencies.approximate import Approximate
from discreet.privacy.currencies.budget import Budget
from discreet.privacy.currencies.currency import Currency, from_json
from discreet.privacy.currencies.gdp import GDP
from discreet.privacy.currencies.pure import Pure
from discreet.privacy.currencies.rdp import RDP
from discreet.privacy.currencies.zcdp import ZCDP

__all__ = ["GDP", "RDP", "ZCDP", "Approximate", "Budget", "Currency", "Pure", "from_json"]
