"""How often small graphs occur in a large one: triangles and stars, under edge privacy."""

from __future__ import annotations

import math
from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from discreet.errors import ParameterError
from discreet.exact import integer, shown
from discreet.exact.rational import read_choice
from discreet.mechanisms.data_dependent.local_sensitivity_bound import LocalSensitivityBound
from discreet.mechanisms.data_dependent.smooth_sensitivity import SmoothSensitivity
from discreet.mechanisms.inputs.parameters import assign, read_positive
from discreet.mechanisms.numbers.discrete_laplace import DiscreteLaplace
from discreet.mechanisms.sensitivity.spreads import reach, smooth_maximum
from discreet.methods.graphs.statistic import EDGES, GraphStatistic, read_nodes

if TYPE_CHECKING:
    from fractions import Fraction
    from typing import Any, SupportsIndex

    from discreet.exact import Number
    from discreet.mechanisms.mechanism import Mechanism
    from discreet.methods.graphs.graph import Graph
    from discreet.privacy.relations import Relation

__all__ = ["Fitting", "KStars", "Triangles"]

_MOST_VALUE = 1 << 62


class Fitting(Enum):
    """How noise is fit to the graph.

    >>> Fitting("bound") is Fitting.BOUND
    True
    """

    BOUND = "bound"
    """A private bound on the local sensitivity, with a delta; the release has a ±."""

    SMOOTH = "smooth"
    """A smooth bound on the local sensitivity; without a delta if none is given."""

    GLOBAL = "global"
    """Not at all: noise for the worst graph. A baseline."""


def _read_delta(delta: Number | None) -> Fraction | None:
    return None if delta is None else read_positive(delta, "delta", zero="leave it out for a pure promise")


@dataclass(frozen=True, slots=True, init=False)
class Triangles(GraphStatistic):
    r"""Release the number of triangles, with noise fit to the graph; edges are protected.

    Local sensitivity. An edge between two nodes makes as many triangles as they have common neighbors, so one edge more
    or less moves the count by at most L, the largest number of common neighbors of any two nodes; in some graphs that
    is n - 2, in most far less.

    - `bound`, the notes' method: an edge {u, w} changes the common neighbors of a pair by at most 1, as it can make at
      most one of u and w a common neighbor of the other and a third node; so L has steepness 1, and
      `LocalSensitivityBound` releases a bound on it first, and then the count with Laplace noise for that bound.
    - `smooth`: at k edges from the graph the local sensitivity is at most $U_k = \min(L + k, n - 2)$, and $U_k(G) \le
      U_{k+1}(G')$, so $\max_k e^{-tk} U_k$ is a smooth bound. (That of Nissim, Raskhodnikova & Smith 2007 grows with
      every second edge only for pairs that are next to few nodes; the difference is slight.)
    - `global`: noise for n - 2.

    With a delta the default is `bound`, without one `smooth`.

    >>> made = Triangles(4039, epsilon=1, delta="1e-6")
    >>> made.promise, made.inner.lift
    ('ε = 1, δ = 1e-06', 26)
    >>> Triangles(4039, epsilon=1).fitting.value
    'smooth'
    """

    kind: ClassVar[str] = "triangles"
    guarantee: ClassVar[str] = (
        "One edge makes as many triangles as its two nodes have common neighbors, and changes those of two nodes by at "
        "most 1."
    )
    accuracy: ClassVar[str] = "that of the mechanism that keeps the promise"
    source: ClassVar[str] = "Nissim, Raskhodnikova & Smith 2007, doi:10.1145/1250790.1250803"
    no_error_because: ClassVar[str] = SmoothSensitivity.no_error_because

    nodes: int
    epsilon: Fraction
    delta: Fraction | None
    fitting: Fitting

    def __init__(
        self,
        nodes: SupportsIndex,
        *,
        epsilon: Number,
        delta: Number | None = None,
        fitting: Fitting | str | None = None,
        neighbors: Relation | str = EDGES,
    ) -> None:
        self.protect(neighbors, only=EDGES)
        way = Fitting.SMOOTH if delta is None else Fitting.BOUND
        chosen = way if fitting is None else read_choice(Fitting, fitting, "fitting")
        if (chosen is Fitting.BOUND and delta is None) or (chosen is Fitting.GLOBAL and delta is not None):
            msg = f"delta is {shown(delta)} and fitting is {chosen.value!r}; a bound needs a delta, and global none."
            raise ParameterError(msg)
        assign(self, nodes=read_nodes(nodes, least=3), delta=_read_delta(delta), fitting=chosen)
        assign(self, epsilon=read_positive(epsilon, "epsilon", zero="no finite noise reaches it"))
        self.inner  # noqa: B018  refuses what no noise is made for

    @property
    def inner(self) -> Mechanism[Any, Any]:
        """The mechanism of the fitting."""
        if self.fitting is Fitting.GLOBAL:
            return DiscreteLaplace(self.nodes - 2, epsilon=self.epsilon, neighbors=self.neighbors)
        if self.fitting is Fitting.BOUND:
            return LocalSensitivityBound(1, epsilon=self.epsilon, delta=self.delta or 0, neighbors=self.neighbors)
        return _smooth(math.comb(self.nodes, 3), self.epsilon, self.delta, self.neighbors)

    def measured(self, graph: Graph) -> Any:  # noqa: ANN401  a number, or a number and its bound
        """Count triangles and common neighbors."""
        self.require_nodes(graph, self.nodes)
        count = graph.triangles()
        if self.fitting is Fitting.GLOBAL:
            return count
        common, inner = graph.common_neighbors(), self.inner
        if not isinstance(inner, SmoothSensitivity):
            return count, common
        bounds = np.minimum(common + np.arange(reach(inner.smoothing) + 1), self.nodes - 2).astype(np.float64)
        return count, smooth_maximum(bounds, float(self.nodes - 2), inner.smoothing)


@dataclass(frozen=True, slots=True, init=False)
class KStars(GraphStatistic):
    r"""Release the number of k-stars, $\sum_v \binom{d_v}{k}$, with noise by a smooth bound; edges are protected.

    Local sensitivity. An edge {i, j} is in $\binom{a}{k-1} + \binom{b}{k-1}$ stars, where a and b count the other
    edges of i and j. With the two largest degrees $d_1 \ge d_2$ that is at most $U_0 = \binom{d_1}{k-1} +
    \binom{d_2}{k-1}$. An edge moves each of the ordered degrees by at most 1, and a node has at most n - 2 edges
    besides the one, so $U_s = \binom{\min(d_1+s, n-2)}{k-1} + \binom{\min(d_2+s, n-2)}{k-1}$ bounds it s edges away,
    and $U_s(G) \le U_{s+1}(G')$.

    Karwa, Raskhodnikova, Smith & Yaroslavtsev 2011 (doi:10.14778/3402707.3402749), with a simpler bound.

    >>> KStars(2, 100, epsilon=1).promise
    'ε = 1'
    """

    kind: ClassVar[str] = "k_stars"
    guarantee: ClassVar[str] = (
        "One edge is in as many k-stars as there are k - 1 of the other edges of either node, at most those of the two "
        "largest degrees, which an edge changes by at most 1."
    )
    accuracy: ClassVar[str] = "that of noise in proportion to a smooth bound"
    source: ClassVar[str] = "Karwa, Raskhodnikova, Smith & Yaroslavtsev 2011, doi:10.14778/3402707.3402749"
    no_error_because: ClassVar[str] = SmoothSensitivity.no_error_because

    k: int
    nodes: int
    epsilon: Fraction
    delta: Fraction | None

    def __init__(
        self,
        k: SupportsIndex,
        nodes: SupportsIndex,
        *,
        epsilon: Number,
        delta: Number | None = None,
        neighbors: Relation | str = EDGES,
    ) -> None:
        self.protect(neighbors, only=EDGES)
        size = integer(k, name="k", least=2, most=64)
        assign(self, k=size, nodes=read_nodes(nodes, least=size + 1), delta=_read_delta(delta))
        assign(self, epsilon=read_positive(epsilon, "epsilon", zero="no finite noise reaches it"))
        self.inner  # noqa: B018  refuses what no noise is made for

    @property
    def inner(self) -> SmoothSensitivity:
        """Noise in proportion to a smooth bound."""
        return _smooth(self.nodes * math.comb(self.nodes - 1, self.k), self.epsilon, self.delta, self.neighbors)

    def measured(self, graph: Graph) -> tuple[int, Fraction]:
        """Count stars, and bound how many an edge is in."""
        self.require_nodes(graph, self.nodes)
        degrees, sizes = np.unique(graph.degrees, return_counts=True)
        both = list(zip(degrees.tolist(), sizes.tolist(), strict=True))
        count = sum(size * math.comb(degree, self.k) for degree, size in both)
        second, first = np.sort(graph.degrees)[-2:].tolist()
        smoothing, cap = self.inner.smoothing, self.nodes - 2

        def bound(away: int) -> int:
            return sum(math.comb(min(degree + away, cap), self.k - 1) for degree in (first, second))

        bounds = np.array([float(bound(away)) for away in range(min(reach(smoothing), cap) + 1)])
        return count, smooth_maximum(bounds, float(2 * math.comb(cap, self.k - 1)), smoothing)


def _smooth(most: int, epsilon: Fraction, delta: Fraction | None, neighbors: Relation) -> SmoothSensitivity:
    """Smooth noise on a count from 0 to `most`, in whole numbers."""
    if most >= _MOST_VALUE:
        msg = f"nodes allow counts up to {most:.3g}, beyond 2**62; take fewer nodes, or smaller stars."
        raise ParameterError(msg)
    return SmoothSensitivity(lower=0, upper=most, grid=1, epsilon=epsilon, delta=delta, neighbors=neighbors)
