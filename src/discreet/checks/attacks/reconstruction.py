"""Reconstruction: enough counts, even noisy ones, tell everybody's secret bit."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from discreet.checks.attacks.asking import answer_to
from discreet.checks.attacks.outcome import Outcome
from discreet.errors import ParameterError
from discreet.exact import integer
from discreet.noise import SYSTEM, BitSource, uniform_integer

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from matplotlib.axes import Axes
    from numpy.typing import NDArray

__all__ = ["Count", "Method", "Reconstruction", "reconstruct"]

Count: TypeAlias = "Callable[[NDArray[np.bool_]], float]"
"""Answers, for a subset of the people, how many of them have the secret; exactly, with noise, or with BudgetError."""

MOST_SUBSETS = 16
MOST_AT_ONCE = 1 << 22
MOST_STEPS = 2000
STILL = 1e-6


class Method(StrEnum):
    """How the answers become guesses.

    >>> Method("least-squares") is Method.LEAST_SQUARES
    True
    """

    ALL_SUBSETS = "all-subsets"
    """Ask every subset, and find bits whose counts come nearest to all answers; up to 16 people."""
    LEAST_SQUARES = "least-squares"
    """Ask random subsets, find weights in [0, 1] with the smallest sum of squared deviations, round."""
    LINEAR_PROGRAM = "linear-program"
    """Ask random subsets, find weights in [0, 1] with the smallest largest deviation, round."""


@dataclass(frozen=True)
class Reconstruction:
    """What is guessed of everybody, and how good the guesses are.

    `estimates` are weights from about 0 to 1; above 1/2 the guess is yes. `deviation` is how far the answers are, at
    most, from the counts of what is guessed.

    >>> found = Reconstruction(np.array([0.1, 0.9]), np.array([False, True]), answered=8, refused=0, deviation=0.5)
    >>> print(found.outcome)
    reconstruction: 2 of 2 right (100.0 %); guessing gets 50.0 %; 8 answers
    """

    estimates: NDArray[np.float64]
    secrets: NDArray[np.bool_]
    answered: int
    refused: int
    deviation: float

    @property
    def guesses(self) -> NDArray[np.bool_]:
        """What the attacker says of everybody.

        >>> Reconstruction(np.array([0.1, 0.9]), np.array([True, True]), 8, 0, 0.5).guesses.tolist()
        [False, True]
        """
        return np.asarray(self.estimates > 0.5)

    @property
    def outcome(self) -> Outcome:
        """How many guesses are right; guessing is to say of everybody what most are.

        >>> Reconstruction(np.array([0.1, 0.9]), np.array([True, True]), 8, 0, 0.5).outcome.share
        0.5
        """
        share = float(self.secrets.mean())
        refused = f", {self.refused} refused" if self.refused else ""
        return Outcome(
            "reconstruction",
            tried=len(self.secrets),
            right=int((self.guesses == self.secrets).sum()),
            baseline=max(share, 1 - share),
            note=f"{self.answered} answers{refused}",
        )

    def plot(self, axes: Axes | None = None) -> Axes:
        """Draw the estimates of those who have the secret and of those who have not (needs the extra `plot`).

        >>> Reconstruction(np.array([0.1, 0.9]), np.array([False, True]), 8, 0, 0.5).plot().get_xlabel()
        'estimate'
        """
        if axes is None:
            from matplotlib.figure import Figure

            axes = Figure().subplots()
        both = [self.estimates[~self.secrets], self.estimates[self.secrets]]
        axes.hist(both, bins=40, label=["without the secret", "with it"])
        axes.axvline(0.5, linestyle=":", color="gray")
        axes.set_xlabel("estimate")
        axes.set_ylabel("people")
        axes.set_title(str(self.outcome).partition(";")[0])
        axes.legend()
        return axes


def reconstruct(
    count: Count,
    secrets: Sequence[bool] | NDArray[np.bool_],
    *,
    method: Method | str = Method.LEAST_SQUARES,
    queries: int | None = None,
    bits: BitSource = SYSTEM,
) -> Reconstruction:
    """Ask for counts of subsets, and guess everybody's secret from the answers.

    `count` is whatever answers: a function of exact or noisy counts, or a question to a live database that raises
    BudgetError when nothing is left; what it refuses is left out. `secrets` judge the attack; the attacker uses only
    how many people there are. 4 n random subsets are asked unless `queries` says otherwise.

    Dinur & Nissim 2003, "Revealing information while preserving privacy", PODS, https://doi.org/10.1145/773153.773173.

    - All subsets (theorem 2 there, theorem 1 of most lectures): if every answer is within E of the truth, any bits
      whose counts are within E of all answers are wrong for at most 4 E people: where they say 1 and the truth is 0,
      the counts of just these people are both within E of one answer, so they are at most 2 E, and likewise the
      others. The bits with the least deviation are found exactly.
    - Random subsets: with error o(sqrt(n)) all but o(n) people are told, in polynomial time (theorem 5 there by a
      linear program; least squares as in Dwork & Yekhanin 2008). With 4 n subsets and independent errors of standard
      deviation s, an estimate's is at most about s * sqrt(4 / (3 n)): a row of 0s and 1s tells its entries to +-1/2,
      and n of the 4 n dimensions are used up; that weights lie in [0, 1] helps further. So noise of sqrt(n) leaves
      little to tell, and noise of n / 10 leaves guessing.

    >>> secrets = np.array([True, False, False, True, True, False] * 4)
    >>> exact = lambda subset: secrets[subset].sum()
    >>> print(reconstruct(exact, secrets).outcome)
    reconstruction: 24 of 24 right (100.0 %); guessing gets 50.0 %; 96 answers
    """
    way = _method(method)
    truth = np.asarray(secrets, dtype=np.bool_)
    people = len(truth)
    if truth.ndim != 1 or not people:
        msg = "secrets must be a list of True and False, one for each person, and not empty."
        raise ParameterError(msg)
    if way is Method.ALL_SUBSETS:
        if people > MOST_SUBSETS or queries is not None:
            msg = (
                f"method all-subsets asks all subsets of at most {MOST_SUBSETS} people, and takes no number of queries."
            )
            raise ParameterError(msg)
        subsets = (np.arange(1 << people)[:, None] >> np.arange(people) & 1).astype(np.bool_)
    else:
        asked = integer(4 * people if queries is None else queries, name="queries", least=1)
        subsets = uniform_integer(2, size=(asked, people), bits=bits).astype(np.bool_)
    answers = np.array([answer_to(count, subset, name="count") for subset in subsets])
    known = ~np.isnan(answers)
    if known.any():
        solve = {
            Method.ALL_SUBSETS: _nearest_bits,
            Method.LEAST_SQUARES: _least_squares,
            Method.LINEAR_PROGRAM: _linear_program,
        }[way]
        estimates = solve(subsets[known], answers[known])
        deviation = float(np.abs(subsets[known] @ (estimates > 0.5).astype(float) - answers[known]).max())
    else:  # nothing to go by
        estimates, deviation = np.zeros(people), 0.0
    return Reconstruction(estimates, truth, int(known.sum()), int((~known).sum()), deviation)


def _method(method: Method | str) -> Method:
    try:
        return Method(method)
    except ValueError:
        msg = f"method is {str(method)[:40]!r}; it must be one of {', '.join(Method)}."
        raise ParameterError(msg) from None


def _least_squares(subsets: NDArray[np.bool_], answers: NDArray[np.float64]) -> NDArray[np.float64]:
    """Minimize |S x - a|^2 over weights from 0 to 1, from 1/2 on: of what no answer determines nothing is said.

    Projected gradient steps with momentum (Beck & Teboulle 2009, "A fast iterative shrinkage-thresholding algorithm",
    section 4), as long as they move anybody.
    """
    weights = subsets.astype(np.float64)
    gram, aim = weights.T @ weights, weights.T @ answers
    largest = float(np.linalg.eigvalsh(gram)[-1]) or 1.0
    estimates = ahead = np.full(len(aim), 0.5)
    momentum = 1.0
    for _ in range(MOST_STEPS):
        before, estimates = estimates, np.clip(ahead - (gram @ ahead - aim) / largest, 0.0, 1.0)
        faster = (1 + (1 + 4 * momentum**2) ** 0.5) / 2
        ahead = estimates + (momentum - 1) / faster * (estimates - before)
        momentum = faster
        if np.abs(estimates - before).max() < STILL:
            break
    return np.asarray(estimates)


def _linear_program(subsets: NDArray[np.bool_], answers: NDArray[np.float64]) -> NDArray[np.float64]:
    """Minimize t with -t <= S x - a <= t and 0 <= x <= 1."""
    from scipy.optimize import linprog

    weights, t = subsets.astype(np.float64), -np.ones((len(answers), 1))
    people = weights.shape[1]
    solved = linprog(
        c=[0.0] * people + [1.0],
        A_ub=np.block([[weights, t], [-weights, t]]),
        b_ub=np.concatenate([answers, -answers]),
        bounds=[(0, 1)] * people + [(0, None)],
        method="highs",
    )
    return np.array(solved.x)[:people]


def _nearest_bits(subsets: NDArray[np.bool_], answers: NDArray[np.float64]) -> NDArray[np.float64]:
    """Find the bits whose largest deviation is smallest, trying all; those beyond what is known to do are dropped."""
    people = subsets.shape[1]
    powers = 1 << np.arange(people)
    asked = subsets @ powers
    order = np.argsort(asked * 40503 % (1 << people))  # as if shuffled: an odd factor visits each subset once
    asked, answers = asked[order], answers[order]
    alive = np.arange(1 << people)
    worst = np.zeros(len(alive))
    rounded = int((_least_squares(subsets[order], answers) > 0.5) @ powers)
    limit = np.abs(np.bitwise_count(asked & rounded) - answers).max()
    start = 0
    while start < len(asked):
        stop = start + max(1, min(64, MOST_AT_ONCE // len(alive)) if len(alive) > 64 else len(asked))
        part = np.bitwise_count(alive[:, None] & asked[None, start:stop]) - answers[start:stop]
        worst = np.maximum(worst, np.abs(part).max(axis=1))
        kept = worst <= limit
        alive, worst, start = alive[kept], worst[kept], stop
    best = alive[worst.argmin()]
    return np.asarray(best >> np.arange(people) & 1, dtype=np.float64)
