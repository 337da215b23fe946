"""K-ary randomized response as a frequency oracle: the report is an item."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from discreet.mechanisms.responses.randomized_response import RandomizedResponse
from discreet.methods.local.oracle import Oracle
from discreet.methods.local.randomizer import truth_chance
from discreet.privacy import curves

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from discreet.noise import BitSource
    from discreet.privacy import Curve

__all__ = ["Direct"]


@dataclass(frozen=True, slots=True, init=False, repr=False)
class Direct(Oracle):
    r"""Report the item itself, or another one: randomized response, binary for two items.

    Privacy. That of `RandomizedResponse`: the item with chance $p = e^\varepsilon / (e^\varepsilon + k - 1)$, each
    other one with $q = p e^{-\varepsilon}$. A report supports the item that it is. Best for few items, $k < 3
    e^\varepsilon + 2$; beyond, the variance grows with k.

    Warner 1965; Kairouz, Bonawitz & Ramage 2016 (arXiv:1602.07387).

    >>> round(Direct(1024, epsilon=1).variance(), 1)
    347.1
    """

    kind: ClassVar[str] = "direct"
    guarantee: ClassVar[str] = (
        "An item that is kept with probability e^epsilon / (e^epsilon + k - 1) and otherwise replaced by one of the "
        "k - 1 others, all equally likely, is epsilon-locally differentially private."
    )
    source: ClassVar[str] = "Warner 1965, doi:10.1080/01621459.1965.10480775; Kairouz et al. 2016, arXiv:1602.07387"

    @property
    def privacy(self) -> Curve:
        """The exact curve of one unit's report."""
        return curves.randomized_response(self.epsilon, self.items, neighbors=self.neighbors)

    @property
    def chances(self) -> tuple[float, float]:
        """The chance of the item itself, and of any other one."""
        p = truth_chance(self.epsilon, self.items - 1)
        return p, (1 - p) / (self.items - 1)

    @property
    def messages(self) -> int:
        """One for each item."""
        return self.items

    def randomized(self, items: NDArray[np.int64], bits: BitSource) -> NDArray[np.int64]:
        """Keep each item or replace it."""
        return np.asarray(RandomizedResponse(self.items, epsilon=self.epsilon).release(items, bits=bits).value)

    def supported(self, messages: NDArray[np.int64]) -> NDArray[np.int64]:
        """Count the items."""
        return np.bincount(messages, minlength=self.items)
