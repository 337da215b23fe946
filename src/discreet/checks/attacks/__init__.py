"""Attacks on answers and on published tables, and what came of them as values.

An attack on answers is handed a function that answers questions. It succeeds against exact answers and against noise
that nobody keeps count of, and fails against a database; `discreet demo` shows two of them.

>>> from discreet.checks.attacks import averaging
>>> averaging(lambda question: 12.0, ["how many?"] * 5, truth=12.0).told
True
"""

from __future__ import annotations

from discreet.checks.attacks.averaging import Averaging, averaging
from discreet.checks.attacks.differencing import Differencing, Target, differencing
from discreet.checks.attacks.disclosure import background_knowledge, composition, homogeneity
from discreet.checks.attacks.downcoding import Downcoding, downcode
from discreet.checks.attacks.linkage import Linkage, link
from discreet.checks.attacks.membership import Estimator, Inference, Membership, infer_membership
from discreet.checks.attacks.outcome import Outcome
from discreet.checks.attacks.reconstruction import Method, Reconstruction, reconstruct
from discreet.checks.attacks.search_logs import SearchLogs, generate_search_logs, identify_searchers
from discreet.checks.attacks.synthetic import infer_from_synthesis
from discreet.checks.attacks.tracing import Tracing, draw_tracing, predicted_tracing, trace_mean

__all__ = [
    "Averaging",
    "Differencing",
    "Downcoding",
    "Estimator",
    "Inference",
    "Linkage",
    "Membership",
    "Method",
    "Outcome",
    "Reconstruction",
    "SearchLogs",
    "Target",
    "Tracing",
    "averaging",
    "background_knowledge",
    "composition",
    "differencing",
    "downcode",
    "draw_tracing",
    "generate_search_logs",
    "homogeneity",
    "identify_searchers",
    "infer_from_synthesis",
    "infer_membership",
    "link",
    "predicted_tracing",
    "reconstruct",
    "trace_mean",
]
