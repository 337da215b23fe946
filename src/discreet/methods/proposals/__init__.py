"""A first policy for data: `propose`, from names and types alone, or for a price from the rows, privately.

>>> from discreet.methods.proposals import propose
>>> import pyarrow as pa
>>> propose(pa.table({"patient_id": [7], "age": [31]})).fill
('tables.data.rows_per_unit',)
"""

from __future__ import annotations

from discreet.methods.proposals.dictionaries import Described, Dictionary, read_dictionary
from discreet.methods.proposals.given import Proposal
from discreet.methods.proposals.proposal import propose

__all__ = ["Described", "Dictionary", "Proposal", "propose", "read_dictionary"]
