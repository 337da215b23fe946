"""Streams: sums that keep coming, decisions that follow them, changes that are noticed.

>>> from discreet.methods.streaming import PrefixSum
>>> PrefixSum(365, sensitivity=1, epsilon=1)
PrefixSum(ε = 1, step 0 of 365)
"""

from __future__ import annotations

from discreet.methods.streaming.change_point import ChangePoint, Evidence
from discreet.methods.streaming.change_watch import ChangeWatch, KeptWatch, Watched
from discreet.methods.streaming.continual_sum import ContinualSum, Elements, Outside
from discreet.methods.streaming.kept_sum import KeptSum
from discreet.methods.streaming.leader import FollowTheLeader, Leader, ball, regret
from discreet.methods.streaming.likelihoods import Bernoulli, Gaussian, Given, Likelihoods, Poisson
from discreet.methods.streaming.prefix_sum import PrefixSum
from discreet.methods.streaming.rank_change_point import RankChangePoint
from discreet.methods.streaming.table_stream import TableStream

__all__ = [
    "Bernoulli",
    "ChangePoint",
    "ChangeWatch",
    "ContinualSum",
    "Elements",
    "Evidence",
    "FollowTheLeader",
    "Gaussian",
    "Given",
    "KeptSum",
    "KeptWatch",
    "Leader",
    "Likelihoods",
    "Outside",
    "Poisson",
    "PrefixSum",
    "RankChangePoint",
    "TableStream",
    "Watched",
    "ball",
    "regret",
]
