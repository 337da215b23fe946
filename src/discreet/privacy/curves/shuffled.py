"""Reports of a local randomizer that were shuffled, so that nobody knows whose is whose."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from discreet.errors import ParameterError
from discreet.exact import exp_upper, float_up, integer, log_upper, shown, sqrt_upper
from discreet.exact.rational import read_delta
from discreet.privacy.curve import Curve
from discreet.privacy.part import Symmetric, as_float, read_positive, require_size, require_whole
from discreet.privacy.relations import NeighborRelation, Relation

if TYPE_CHECKING:
    from collections.abc import Iterator
    from fractions import Fraction
    from typing import SupportsIndex

    import numpy as np
    from numpy.typing import NDArray

    from discreet.exact import Number
    from discreet.privacy.numerics.losses.loss import Loss

__all__ = ["ShuffledPair", "shuffled", "shuffled_epsilon"]

_MOST_USERS = 1 << 20
_TAIL = 2.0**-60
_CELLS = 1 << 15
_FINE = 1 << 14
_LARGEST = 12


@dataclass(frozen=True, slots=True)
class ShuffledPair(Symmetric):
    r"""How many of n shuffled reports say 0, and how many 1, where one of them is likelier to say one than the other.

    Let two inputs of one user give reports with laws $R_0, R_1$ at most a factor $e^{\varepsilon_0}$ apart, and let
    every other user's law R be within that factor of both. Then $R_0 = p Q_0 + (1-p) Q_1$ and $R_1 = (1-p) Q_0 + p
    Q_1$ for $p = e^{\varepsilon_0} / (e^{\varepsilon_0} + 1)$ and two laws $Q_0, Q_1$, and $R \ge \frac12
    e^{-\varepsilon_0} (R_0 + R_1) = \frac12 e^{-\varepsilon_0} (Q_0 + Q_1)$. So with chance $e^{-\varepsilon_0}$
    another user's report is drawn from $Q_0$ or $Q_1$, each as likely, and the shuffled reports are a function of how
    many are drawn from either: Feldman, McMillan & Talwar 2021 (arXiv:2012.12803), Theorem 3.2.

    Where $R_0$ and $R_1$ have a part M in common, more clones can be had of the rest (Feldman, McMillan & Talwar 2023,
    arXiv:2208.04591). Then it must be known who drew from M: counts alone are refuted by three answers and everybody
    else at the first, which a test shows. With that known the bound is smaller for two answers alone, by a fifth.

    Of more than 2^20 users the rest is taken to be known: it only helps who looks.
    """

    kind: ClassVar[str] = "shuffled"

    epsilon: Fraction
    users: int

    def check(self) -> None:
        """An epsilon that floats can exponentiate, and at least one user."""
        require_whole(self.users, "users")
        if not 0 < require_size(self.epsilon, "epsilon") <= _LARGEST:
            msg = f"epsilon is {shown(self.epsilon)}; reports with an epsilon above 0, up to {_LARGEST}, are shuffled."
            raise ParameterError(msg)

    def pure(self) -> Fraction:
        """What each report keeps by itself."""
        return self.epsilon

    def loss(self) -> Loss:
        r"""Sum over all counts of 0 and 1; losses are rounded up onto a grid.

        With a and b of them, and one of them the user's, $\tanh(L/2) = \frac{a-b}{a+b} \tanh(\varepsilon_0 / 2)$.
        """
        import numpy as np

        from discreet.privacy.numerics.losses.finite import FiniteLoss

        epsilon = as_float(self.epsilon)
        fine = epsilon / _FINE
        rise = np.arcsinh(_FINE) / _CELLS  # places are close to each other near 0, where nearly all of the mass is
        told = 1 / (1 + np.exp(-epsilon))
        masses = np.zeros(2 * _CELLS + 1)
        for said, zeros, mass in _others(min(self.users, _MOST_USERS) - 1, float(np.exp(-epsilon))):
            for share, more in ((told, 1), (1 - told, 0)):
                angle = (2 * (zeros + more) - said - 1) / (said + 1) * np.tanh(epsilon / 2)
                place = np.ceil(np.arcsinh(2 * np.arctanh(angle) / fine) / rise + 1e-6)
                cells = np.clip(place, -_CELLS, _CELLS).astype(np.int64) + _CELLS
                masses += np.bincount(cells.ravel(), (share * mass).ravel(), 2 * _CELLS + 1)
        masses[-1] += 4 * _TAIL  # what was cut off loses no more than a report by itself
        values = fine * np.sinh(np.arange(-_CELLS, _CELLS + 1) * rise)
        return FiniteLoss(values, masses, accuracy=1e-8, ceiling=epsilon)


def _others(users: int, chance: float) -> Iterator[tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.float64]]]:
    """Give blocks of how many others say something, how many of them 0, and the chances of both.

    The first is binomial with this chance, the second given the first with one half; both are cut where at most
    2**-60 is left (Bernstein's and Hoeffding's inequalities), and what is kept is scaled to 1.
    """
    import math

    import numpy as np
    from scipy.special import gammaln, xlog1py, xlogy

    far = -math.log(_TAIL / 2)
    variance = users * chance * (1 - chance)
    reach = math.ceil(far / 3 + math.sqrt((far / 3) ** 2 + 2 * far * variance))
    middle = round(users * chance)
    said = np.arange(max(0, middle - reach), min(users, middle + reach) + 1)
    logs = xlogy(said, chance) + xlog1py(users - said, -chance) - gammaln(said + 1) - gammaln(users - said + 1)
    weights = np.exp(logs - logs.max())
    weights /= weights.sum()
    step = max(1, (1 << 20) // (2 * math.isqrt(int(far * (users + 1))) + 2))
    for start in range(0, said.size, step):
        some = said[start : start + step, None]
        half = math.ceil(math.sqrt(float(some.max()) * far / 2)) + 1
        zeros = some // 2 + np.arange(-half, half + 1)
        inside = (zeros >= 0) & (zeros <= some)
        kept = np.clip(zeros, 0, some)
        logs = np.where(inside, -gammaln(kept + 1) - gammaln(some - kept + 1), -np.inf)
        chances = np.exp(logs - logs.max(axis=1, keepdims=True))
        chances *= weights[start : start + step, None] / chances.sum(axis=1, keepdims=True)
        yield np.broadcast_to(some, kept.shape), kept, chances


def shuffled(epsilon: Number, users: SupportsIndex, *, neighbors: Relation = NeighborRelation.CHANGE_ONE) -> Curve:
    """Return the curve of reports of `users` people, each epsilon-locally private, in an order that tells nothing.

    Whoever shuffles is trusted
    to do so, and to show nothing else. One who joins or leaves changes the number of reports, which is public:
    neighbors exchange one person's data.

    >>> curve = shuffled(1, 10_000)
    >>> 0.02 < curve.epsilon(delta=1e-6) < 0.15, curve.epsilon(delta=0)
    (True, 1.0)
    """
    if neighbors not in {NeighborRelation.CHANGE_ONE, NeighborRelation.CHANGE_ONE_ORDERED}:
        msg = f"neighbors is {shown(neighbors)}; how many reports there are is public: change_one."
        raise ParameterError(msg)
    count = integer(users, name="users", least=1)
    part = ShuffledPair(read_positive(epsilon, "epsilon", "what each report promises"), count)
    return Curve(((part, 1),), neighbors)


def shuffled_epsilon(epsilon: Number, users: SupportsIndex, *, delta: Number) -> float:
    r"""Return the closed form: what shuffled reports of so many people promise at a delta.

    $\ln\left(1 + \frac{e^{\varepsilon_0} - 1}{e^{\varepsilon_0} + 1} \left(\frac{8 \sqrt{e^{\varepsilon_0} \ln(4 /
    \delta)}}{\sqrt n} + \frac{8 e^{\varepsilon_0}}{n}\right)\right)$ where $\varepsilon_0 \le \ln \frac{n}{16 \ln(2 /
    \delta)}$, and $\varepsilon_0$ beyond (Feldman, McMillan & Talwar 2021, arXiv:2012.12803, Theorem 3.1). The curve of
    `shuffled` is several times smaller.

    >>> round(shuffled_epsilon(1, 10**6, delta="1e-6"), 4)
    0.0235
    """
    rate, count = read_positive(epsilon, "epsilon", "what each report promises"), integer(users, name="users", least=1)
    chance = read_delta(delta)
    if not chance or rate > _LARGEST or exp_upper(rate) * 16 * log_upper(2 / chance) > count:
        return float_up(rate)
    grown = exp_upper(rate)
    first = 8 * sqrt_upper(grown * log_upper(4 / chance) / count)
    share = 1 - 2 / (grown + 1)
    return min(float_up(log_upper(1 + share * (first + 8 * grown / count))), float_up(rate))
