"""Differencing: two harmless questions whose answers differ by one person."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from discreet.checks.attacks.asking import answer_to
from discreet.checks.attacks.outcome import Outcome
from discreet.errors import ParameterError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from matplotlib.axes import Axes

__all__ = ["Differencing", "Target", "differencing"]


@dataclass(frozen=True, slots=True)
class Target:
    """A person, and two questions: one that counts everybody with a secret, one that leaves this person out.

    `secret` is the truth, by which the attack is judged; the attacker does not use it.

    >>> Target("anna", whole="flu", rest="flu, without anna", secret=True).secret
    True
    """

    name: str
    whole: str
    rest: str
    secret: bool


@dataclass(frozen=True, slots=True)
class Differencing:
    """How often the difference of two answers told a secret.

    >>> str(Differencing(targets=8, right=8, refused=0, baseline=0.5))
    'differencing: 8 of 8 secrets told (100%)'
    """

    targets: int
    right: int
    refused: int
    baseline: float
    """The share of right guesses of who says of everybody what is so of most."""

    @property
    def accuracy(self) -> float:
        """The share of secrets that were guessed right.

        >>> Differencing(targets=8, right=6, refused=0, baseline=0.5).accuracy
        0.75
        """
        return self.right / self.targets

    @property
    def outcome(self) -> Outcome:
        """How many secrets were guessed right, beside guessing.

        >>> Differencing(targets=8, right=6, refused=0, baseline=0.5).outcome.advantage
        0.25
        """
        note = f"{self.refused} refused" if self.refused else ""
        return Outcome("differencing", self.targets, self.right, self.baseline, note)

    def plot(self, axes: Axes | None = None) -> Axes:
        """Draw the attack beside guessing (needs the extra `plot`).

        >>> Differencing(targets=8, right=6, refused=0, baseline=0.5).plot().get_title()
        'differencing, 8 guesses'
        """
        return self.outcome.plot(axes)

    def __str__(self) -> str:
        refused = f", {self.refused} refused" if self.refused else ""
        return f"differencing: {self.right} of {self.targets} secrets told ({self.accuracy:.0%}{refused})"


def differencing(ask: Callable[[str], float], targets: Iterable[Target]) -> Differencing:
    """Attack each target: ask how many have the secret, with and without the target, and subtract.

    With exact answers the difference is the secret: 1 or 0. With noisy ones the attacker guesses "yes" above 1/2, the
    best threshold for noise that is symmetric about 0. If secrets are as often yes as no, and the two answers together
    promise epsilon e, she is right with a chance of at most e^e / (1 + e^e): `discreet.privacy.meanings`. Where `ask`
    raises BudgetError she has nothing to go by, and says "no".

    The attack is as old as statistical databases: Denning, Denning & Schwartz 1979, "The tracker: a threat to
    statistical database security", ACM TODS 4(1), https://doi.org/10.1145/320064.320069.

    >>> counts = {"flu": 7, "flu, without anna": 6, "flu, without bert": 7}
    >>> anna = Target("anna", "flu", "flu, without anna", secret=True)
    >>> bert = Target("bert", "flu", "flu, without bert", secret=False)
    >>> differencing(counts.__getitem__, [anna, bert]).accuracy
    1.0
    """
    listed = list(targets)
    if not listed:
        msg = "targets is empty; the attack needs somebody to attack."
        raise ParameterError(msg)
    right = refused = 0
    for target in listed:
        gap = answer_to(ask, target.whole) - answer_to(ask, target.rest)
        refused += math.isnan(gap)
        right += (gap > 0.5) == target.secret
    share = sum(target.secret for target in listed) / len(listed)
    return Differencing(len(listed), right, refused, max(share, 1 - share))
