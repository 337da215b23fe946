"""What data would give away if they were published as they stand: exact facts, for their owner.

>>> import pyarrow as pa
>>> from discreet.checks.anonymity import anonymity
>>> anonymity(pa.table({"zip": ["130", "130", "148"]}), ["zip"]).k
1
"""

from __future__ import annotations

from discreet.checks.anonymity.anonymizing import Anonymized, by_prefix, by_steps, mondrian, recode
from discreet.checks.anonymity.measures import Anonymity, Class, Hierarchy, anonymity
from discreet.checks.anonymity.uniqueness import Known, Uniqueness, uniqueness

__all__ = [
    "Anonymity",
    "Anonymized",
    "Class",
    "Hierarchy",
    "Known",
    "Uniqueness",
    "anonymity",
    "by_prefix",
    "by_steps",
    "mondrian",
    "recode",
    "uniqueness",
]
