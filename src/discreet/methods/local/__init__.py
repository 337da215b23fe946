"""The local model: clients randomize what they send, and a server that nobody needs to trust estimates.

>>> from discreet.methods.local import frequency_oracle
>>> frequency_oracle(1024, epsilon=1)
LocalHashing(1024 items, ε = 1)
"""

from __future__ import annotations

from discreet.methods.local.choosing import frequency_oracle
from discreet.methods.local.direct import Direct
from discreet.methods.local.grids import DistanceScores, Heatmap
from discreet.methods.local.hashing import Hadamard, LocalHashing
from discreet.methods.local.layers import Found, FoundStrings, HeavyHitters, RangeEstimates, Ranges
from discreet.methods.local.means import LocalMean, Means
from discreet.methods.local.oracle import Frequencies, Oracle
from discreet.methods.local.places import PlanarLaplace
from discreet.methods.local.projective import ProjectiveGeometry
from discreet.methods.local.purse import Purse
from discreet.methods.local.randomizer import Randomizer, Reports
from discreet.methods.local.subset_selection import SubsetSelection
from discreet.methods.local.unary import OptimizedUnary, Unary

__all__ = [
    "Direct",
    "DistanceScores",
    "Found",
    "FoundStrings",
    "Frequencies",
    "Hadamard",
    "Heatmap",
    "HeavyHitters",
    "LocalHashing",
    "LocalMean",
    "Means",
    "OptimizedUnary",
    "Oracle",
    "PlanarLaplace",
    "ProjectiveGeometry",
    "Purse",
    "Randomizer",
    "RangeEstimates",
    "Ranges",
    "Reports",
    "SubsetSelection",
    "Unary",
    "frequency_oracle",
]
