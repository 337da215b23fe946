"""Ledgers: durable, shared, adaptive-safe accounts of what was spent, by whom, on what.

>>> from discreet.ledgers import MemoryLedger
>>> from discreet.tables import Policy
>>> MemoryLedger(Policy([], epsilon=1)).remaining
Pure(epsilon=1)
"""

from __future__ import annotations

from discreet.ledgers.charging import Spend, charge, charge_all
from discreet.ledgers.heads import Head, HeadFile
from discreet.ledgers.ledger import Ledger
from discreet.ledgers.line import Line
from discreet.ledgers.memory import MemoryLedger
from discreet.ledgers.opening import export_ledger, ledger_beside, open_ledger, verify_ledger
from discreet.ledgers.postgres import PostgresLedger
from discreet.ledgers.purse import Entry, Purse, Released, Repeat, Reservation
from discreet.ledgers.session import Session
from discreet.ledgers.sqlite import SQLiteLedger
from discreet.ledgers.statement import Account, Statement
from discreet.ledgers.verification import Verification

__all__ = [
    "Account",
    "Entry",
    "Head",
    "HeadFile",
    "Ledger",
    "Line",
    "MemoryLedger",
    "PostgresLedger",
    "Purse",
    "Released",
    "Repeat",
    "Reservation",
    "SQLiteLedger",
    "Session",
    "Spend",
    "Statement",
    "Verification",
    "charge",
    "charge_all",
    "export_ledger",
    "ledger_beside",
    "open_ledger",
    "verify_ledger",
]
