"""Many counting queries at once: what to measure so that all answers together err least, and by how much.

>>> from discreet.methods.workloads import Prefix
>>> Prefix(3).answers([4, 0, 1]).tolist()
[4.0, 4.0, 5.0]
"""

from __future__ import annotations

from discreet.methods.workloads.algebra.compounds import Kron, Marginals, Union, Weighted
from discreet.methods.workloads.algebra.lines import AllRange, Identity, Predicates, Prefix, Ranges, Total, Width
from discreet.methods.workloads.algebra.workload import Workload
from discreet.methods.workloads.answered import Answered
from discreet.methods.workloads.planning import Considered, WorkloadPlan, plan
from discreet.methods.workloads.questions import WorkloadPreview, WorkloadQuestion
from discreet.methods.workloads.tables import WorkloadAnswer, WorkloadTable
from discreet.methods.workloads.tallies import Records

__all__ = [
    "AllRange",
    "Answered",
    "Considered",
    "Identity",
    "Kron",
    "Marginals",
    "Predicates",
    "Prefix",
    "Ranges",
    "Records",
    "Total",
    "Union",
    "Weighted",
    "Width",
    "Workload",
    "WorkloadAnswer",
    "WorkloadPlan",
    "WorkloadPreview",
    "WorkloadQuestion",
    "WorkloadTable",
    "plan",
]
