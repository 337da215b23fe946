"""Factorizations of running sums: how noise is spread over a stream, each in its own file.

Streams add them up in `methods.streaming`; learning takes the same noise. None of them knows a ledger.

>>> from discreet.mechanisms.prefix import BinaryTree, SquareRoot
>>> [round(float(each(1024).deviations(rho="1/2").max()), 2) for each in (BinaryTree, SquareRoot)]
[10.49, 3.27]
"""

from __future__ import annotations

from discreet.mechanisms.prefix.banded import Banded
from discreet.mechanisms.prefix.binary_tree import BinaryTree
from discreet.mechanisms.prefix.buffered import Buffered
from discreet.mechanisms.prefix.choosing import read_factorization, recommended
from discreet.mechanisms.prefix.every_element import EveryElement
from discreet.mechanisms.prefix.every_output import EveryOutput
from discreet.mechanisms.prefix.factorization import Factorization, Run, draw_errors, lower_bound
from discreet.mechanisms.prefix.kary_tree import KaryTree
from discreet.mechanisms.prefix.square_root import SquareRoot
from discreet.mechanisms.prefix.weighted_tree import WeightedTree

__all__ = [
    "Banded",
    "BinaryTree",
    "Buffered",
    "EveryElement",
    "EveryOutput",
    "Factorization",
    "KaryTree",
    "Run",
    "SquareRoot",
    "WeightedTree",
    "draw_errors",
    "lower_bound",
    "read_factorization",
    "recommended",
]
