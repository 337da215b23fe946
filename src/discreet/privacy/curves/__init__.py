"""One mechanism's curve per file: the constructor that carries its name, and the part that a curve keeps of it.

>>> [curve.neighbors.value for curve in examples()["pure"]]
['add_remove', 'add_remove', 'add_remove']
"""

from __future__ import annotations

from functools import cache

from discreet.privacy.curve import Curve
from discreet.privacy.curves.approximate import approximate
from discreet.privacy.curves.discrete_gaussian import discrete_gaussian
from discreet.privacy.curves.discrete_laplace import discrete_laplace
from discreet.privacy.curves.exponential import exponential
from discreet.privacy.curves.finite_pair import finite_pair
from discreet.privacy.curves.gaussian import gaussian
from discreet.privacy.curves.grouped import group
from discreet.privacy.curves.laplace import laplace
from discreet.privacy.curves.parallel import parallel
from discreet.privacy.curves.partition_selection import partition_selection
from discreet.privacy.curves.permute_and_flip import permute_and_flip
from discreet.privacy.curves.pure import pure
from discreet.privacy.curves.randomized_response import randomized_response
from discreet.privacy.curves.rdp import rdp
from discreet.privacy.curves.sampled import subsample
from discreet.privacy.curves.shuffled import shuffled, shuffled_epsilon
from discreet.privacy.curves.sparse_vector import sparse_vector
from discreet.privacy.curves.staircase import staircase
from discreet.privacy.curves.zcdp import zcdp
from discreet.privacy.part import Part
from discreet.privacy.relations import NeighborRelation
from discreet.privacy.schemes import FixedSize, Poisson, Scheme

__all__ = [
    "Curve",
    "FixedSize",
    "Poisson",
    "Scheme",
    "approximate",
    "discrete_gaussian",
    "discrete_laplace",
    "examples",
    "exponential",
    "finite_pair",
    "gaussian",
    "group",
    "laplace",
    "parallel",
    "partition_selection",
    "parts",
    "permute_and_flip",
    "pure",
    "randomized_response",
    "rdp",
    "shuffled",
    "shuffled_epsilon",
    "sparse_vector",
    "staircase",
    "subsample",
    "zcdp",
]


@cache
def examples() -> dict[str, tuple[Curve, ...]]:
    """Return curves of every file on which laws are tested, from much noise to little.

    >>> sorted(examples())[:2]
    ['approximate', 'discrete_gaussian']
    """
    changed = NeighborRelation.CHANGE_ONE
    return {
        "approximate": (approximate("0.1", "1e-9"), approximate(1, "1e-6")),
        "discrete_gaussian": (discrete_gaussian(100), discrete_gaussian(10, sensitivity=3), discrete_gaussian(1)),
        "discrete_laplace": (discrete_laplace(100), discrete_laplace(10, sensitivity=3), discrete_laplace(1)),
        "exponential": (exponential("0.05"), exponential(1), exponential(4)),
        "finite_pair": (
            finite_pair(["0.5", "0.3", "0.2"], ["0.45", "0.33", "0.22"]),
            finite_pair(["0.7", "0.2", "0.09999", "0.00001"], ["0.2", "0.3", "0.5", "0"]),
        ),
        "gaussian": (gaussian(20), gaussian(3), gaussian("1/2", sensitivity=2)),
        "grouped": (
            gaussian(20).group(2),
            laplace(5).subsample("0.1").group(2),
            gaussian(4, neighbors=changed).group(3),
        ),
        "laplace": (laplace(100), laplace(10), laplace("1/2")),
        "parallel": (pure(1).parallel(pure(2)), gaussian(3).parallel(laplace(4))),
        "partition_selection": (partition_selection(1, 30), partition_selection(4, 90, keys=3)),
        "permute_and_flip": (permute_and_flip("0.05"), permute_and_flip(2)),
        "pure": (pure(0), pure("0.1"), pure(2)),
        "randomized_response": (
            randomized_response("0.01"),
            randomized_response("0.5", answers=5),
            randomized_response(3),
        ),
        "rdp": (rdp([2, 8, 32], ["0.01", "0.04", "0.16"]), rdp([4, 16], [1, 5])),
        "sampled": (
            gaussian(4).subsample("0.01"),
            gaussian(1).subsample("0.1"),
            laplace(2).subsample("0.05"),
            randomized_response(1).subsample("0.2"),
            gaussian(4, neighbors=changed).subsample("0.01"),
        ),
        "shuffled": (shuffled(1, 2000), shuffled(2, 50)),
        "sparse_vector": (sparse_vector("0.1"), sparse_vector(1)),
        "staircase": (staircase("0.1", "0.4"), staircase(1), staircase(2, "0.8")),
        "zcdp": (zcdp("0.001"), zcdp("0.5"), zcdp("0.5", "1e-9")),
    }


def parts() -> dict[str, type[Part]]:
    """Return every kind of part, by the name it has in JSON.

    >>> parts()["gaussian"].__name__
    'GaussianPair'
    """
    return Part.kinds
