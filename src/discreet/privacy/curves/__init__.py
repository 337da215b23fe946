"""One mechanism's curve per file, found by walking the folder.

Each module offers the constructor that carries its name, and `examples()`: curves on which laws, documents and the
command line are tried.

>>> [curve.neighbors.value for curve in examples()["pure"]]
['add_remove', 'add_remove', 'add_remove']
"""

from __future__ import annotations

import importlib
import pkgutil
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
from discreet.privacy.curves.sparse_vector import sparse_vector
from discreet.privacy.curves.staircase import staircase
from discreet.privacy.curves.zcdp import zcdp
from discreet.privacy.part import Part
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
    "sparse_vector",
    "staircase",
    "subsample",
    "zcdp",
]


@cache
def modules() -> tuple[str, ...]:
    """Return the names of all files of this folder.

    >>> "gaussian" in modules()
    True
    """
    return tuple(sorted(item.name for item in pkgutil.iter_modules(__path__)))


def examples() -> dict[str, tuple[Curve, ...]]:
    """Return the examples of every file, by its name.

    >>> sorted(examples())[:2]
    ['approximate', 'discrete_gaussian']
    """
    return {name: importlib.import_module(f"{__name__}.{name}").examples() for name in modules()}


def parts() -> dict[str, type[Part]]:
    """Return every kind of part, by the name it has in JSON.

    >>> parts()["gaussian"].__name__
    'Gaussian'
    """
    for name in modules():
        importlib.import_module(f"{__name__}.{name}")
    return Part.kinds
