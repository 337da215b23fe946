"""What came of an attack: how often it was right, beside what guessing gets."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from discreet.exact import counted

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["Outcome"]


@dataclass(frozen=True, slots=True)
class Outcome:
    """How many guesses were right, of how many, and the share that an attacker gets who sees nothing of the release.

    `note` says what else came of it.

    >>> outcome = Outcome("homogeneity", tried=200, right=150, baseline=0.5, note="80 for certain")
    >>> print(outcome)
    homogeneity: 150 of 200 right (75.0 %); guessing gets 50.0 %; 80 for certain
    """

    attack: str
    tried: int
    right: int
    baseline: float
    note: str = ""

    @property
    def share(self) -> float:
        """The share of right guesses.

        >>> Outcome("linkage", tried=8, right=6, baseline=0.125).share
        0.75
        """
        return self.right / self.tried

    @property
    def advantage(self) -> float:
        """How much more of the guesses are right than without the release.

        >>> Outcome("linkage", tried=8, right=6, baseline=0.125).advantage
        0.625
        """
        return self.share - self.baseline

    def __str__(self) -> str:
        shares = f"({100 * self.share:.1f} %); guessing gets {100 * self.baseline:.1f} %"
        text = f"{self.attack}: {self.right} of {self.tried} right {shares}"
        return f"{text}; {self.note}" if self.note else text

    def record(self) -> dict[str, Any]:
        """Return the outcome as a JSON object.

        >>> Outcome("linkage", tried=8, right=6, baseline=0.125).record()["advantage"]
        0.625
        """
        names = ("attack", "tried", "right", "baseline", "note", "share", "advantage")
        return {name: getattr(self, name) for name in names}

    def plot(self, axes: Axes | None = None) -> Axes:
        """Draw the attack beside guessing (needs the extra `plot`).

        >>> Outcome("linkage", tried=8, right=6, baseline=0.125).plot().get_title()
        'linkage, 8 guesses'
        """
        if axes is None:
            from matplotlib.figure import Figure

            axes = Figure().subplots()
        axes.bar(["guessing", "attack"], [self.baseline, self.share], color=["gray", "C0"])
        axes.set_ylim(0, 1)
        axes.set_ylabel("share of right guesses")
        axes.set_title(f"{self.attack}, {counted(self.tried, 'guess') if self.tried == 1 else f'{self.tried} guesses'}")
        return axes
