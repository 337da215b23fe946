"""The sparse vector technique: which of many questions have answers above a threshold."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from discreet.errors import BudgetError, ParameterError
from discreet.exact import Grid, float_up, integer, rational, shown
from discreet.exact.rational import read_choice
from discreet.mechanisms.adding.grids import Inputs, added, steps_moved, unbounded_laplace
from discreet.mechanisms.choosing.scores import require_monotone
from discreet.mechanisms.inputs.parameters import assign, miss, read_grid, read_positive
from discreet.mechanisms.inputs.values import FARTHEST, limited, snapped
from discreet.mechanisms.mechanism import Mechanism
from discreet.mechanisms.release import Release
from discreet.mechanisms.words import movers
from discreet.noise import SYSTEM, BitSource, discrete_laplace
from discreet.noise.bits import checked_scale
from discreet.privacy import NeighborRelation, Pure, curves
from discreet.privacy.relations import require_relation

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import SupportsIndex

    from numpy.typing import ArrayLike

    from discreet.exact import Number
    from discreet.privacy import Curve
    from discreet.privacy.relations import Relation

__all__ = ["AboveThreshold", "Watch"]


@dataclass(frozen=True, slots=True, init=False)
class AboveThreshold(Mechanism["ArrayLike", "tuple[bool, ...]"]):
    r"""Tell of one answer after another whether it is above a threshold, and stop after the first few that are.

    Privacy. The threshold gets noise $\mathrm{Lap}(D/\varepsilon_1)$ once, each answer
    $\mathrm{Lap}(2cD/\varepsilon_2)$, and the run ends after c answers above; then it is $(\varepsilon_1 +
    \varepsilon_2)$-differentially private, however many answers below it gives. Sketch: compare a run on x with
    noisy threshold t with one on x' with t + D. Answers below stay below, which costs nothing; each of the c
    answers above needs its noise to be larger by at most 2D, a factor of at most $e^{\varepsilon_2/c}$; and the
    threshold's move costs $e^{\varepsilon_1}$. If for each pair of neighbors all answers move in the same direction
    (`monotone`), D instead of 2D suffices. Here noise and answers are whole numbers of steps of a grid, D counts
    how many of them a unit can move an answer, and the noise is discrete Laplace noise, for which each step of the
    argument holds as it stands.

    Lyu, Su & Li 2017 (arXiv:1603.01699), Algorithm 7; of the variants in the literature that
    they examine, several are not private at all. The threshold's share of epsilon is 1 / (1 + (2c)^(2/3)), or
    1 / (1 + c^(2/3)) if monotone, which makes the variance of their difference least (their optimal allocation).

    The numbers behind the answers above are not released: ask for them with a budget of their own.

    >>> mechanism = AboveThreshold(threshold=100, sensitivity=1, epsilon=1)
    >>> mechanism.promise, mechanism.above
    ('ε = 1', 1)
    """

    kind: ClassVar[str] = "above_threshold"
    guarantee: ClassVar[str] = (
        "With noise Lap(D / e1) on the threshold and Lap(2 c D / e2) on each answer (c D / e2 if all answers move the "
        "same way), a run that ends after c answers above is (e1 + e2)-differentially private, however long it is."
    )
    accuracy: ClassVar[str] = (
        "s1 ln((s1 + s2) / (s1 miss)) + s2 ln(k (s1 + s2) / (s2 miss)) for k questions, s1 and s2 the two scales"
    )
    source: ClassVar[str] = "Lyu, Su & Li 2017, arXiv:1603.01699, Algorithm 7"

    threshold: Fraction
    sensitivity: Fraction
    epsilon: Fraction
    above: int
    share: Fraction
    monotone: bool
    grid: Grid
    inputs: Inputs
    neighbors: Relation

    def __init__(  # noqa: PLR0913  each is a public fact of the release
        self,
        threshold: Number,
        *,
        sensitivity: Number,
        epsilon: Number,
        above: SupportsIndex = 1,
        share: Number | None = None,
        monotone: bool = False,
        grid: Grid | Number | None = None,
        inputs: Inputs | str = Inputs.RAW,
        neighbors: Relation = NeighborRelation.ADD_REMOVE,
    ) -> None:
        distance = read_positive(sensitivity, "sensitivity", zero="what no unit can move needs no noise")
        rate = read_positive(epsilon, "epsilon", zero="no finite noise reaches it")
        count = integer(above, name="above", least=1, most=1 << 40)
        relation = require_relation(neighbors)
        same_way = require_monotone(relation, monotone=monotone)
        part = _best_share(count, monotone=same_way) if share is None else rational(share, name="share")
        if not 0 < part < 1:
            msg = f"share is {shown(share)}; the threshold's part of epsilon lies strictly between 0 and 1."
            raise ParameterError(msg)
        points = Grid.below(distance, bits=16) if grid is None else read_grid(grid)
        assign(self, threshold=rational(threshold, name="threshold"), sensitivity=distance, epsilon=rate, above=count)
        assign(self, share=part, monotone=same_way, grid=points, inputs=read_choice(Inputs, inputs, "inputs"))
        assign(self, neighbors=relation)
        integer(steps_moved(distance, points, self.inputs), name="sensitivity in steps of the grid", least=1)
        for scale in self.scales:
            checked_scale(scale, name="the noise in steps of the grid")

    @property
    def scales(self) -> tuple[Fraction, Fraction]:
        """The scales of the noise on the threshold and on each answer, in steps."""
        moved = steps_moved(self.sensitivity, self.grid, self.inputs)
        ways = 1 if self.monotone else 2
        first, rest = self.epsilon * self.share, self.epsilon * (1 - self.share)
        return moved / first, ways * self.above * moved / rest

    @property
    def claim(self) -> Pure:
        """Epsilon, exactly."""
        return Pure(self.epsilon, neighbors=self.neighbors)

    @property
    def privacy(self) -> Curve:
        """The curve of the whole run."""
        return curves.sparse_vector(self.epsilon, neighbors=self.neighbors)

    @property
    def assumed(self) -> tuple[str, ...]:
        """The sensitivity, and the direction of moves."""
        said = (f"{movers(self.neighbors)} moves each answer by at most {self.sensitivity}.",)
        return (*said, "it moves all of them in the same direction.") if self.monotone else said

    def error(self, confidence: float = 0.95, *, questions: int = 1) -> float:
        """Return a such that, with this probability, all answers more than a from the threshold are told apart.

        The difference of the two noises exceeds x + y only if one exceeds its part: the chance of a miss is at most
        exp(-x / s1) + k exp(-y / s2) for whole x and y, and x + y is least where the parts are in proportion to the
        scales. Half a step is added for the snap of the threshold, and half a step for that of an answer.

        >>> mechanism = AboveThreshold(threshold=0, sensitivity=1, epsilon=1, share="1/2")
        >>> notes = 8 * (math.log(100) + math.log(2 / 0.05))
        >>> mechanism.error(0.95, questions=100) < notes
        True
        """
        chance, count = miss(confidence), integer(questions, name="questions", least=1)
        first, rest = (float(scale) for scale in self.scales)
        both = first + rest
        reach = math.ceil(first * math.log(both / (first * float(chance))))
        reach += math.ceil(rest * math.log(count * both / (rest * float(chance))))
        snap = Fraction(1) if self.inputs is Inputs.RAW else Fraction(1, 2)
        return float_up((reach + snap) * self.grid.step)

    def error_of(self, value: tuple[bool, ...], details: Mapping[str, object], confidence: float = 0.95) -> float:
        """Return the error for as many questions as were answered, which is public by then."""
        del details
        return self.error(confidence, questions=max(1, len(value)))

    def start(self, *, bits: BitSource = SYSTEM) -> Watch:
        """Begin a run in which the next question may depend on the answers so far.

        >>> watch = AboveThreshold(threshold=100, sensitivity=1, epsilon=20).start()
        >>> watch.ask(0), watch.ask(200), watch.over
        (False, True, True)
        """
        return Watch(self, bits)

    def release(self, value: ArrayLike, *, bits: BitSource = SYSTEM) -> Release[tuple[bool, ...]]:
        """Run through a list of answers: one truth value for each, up to the last answer above that is allowed."""
        answers = np.atleast_1d(np.asarray(snapped(value, self.grid))).ravel()
        bar, scale = self.bar(bits), self.scales[1]
        if -FARTHEST < bar <= FARTHEST:  # then clamping the sums changes no comparison
            seen = added(answers, discrete_laplace(scale, size=answers.shape, bits=bits)) >= bar
        else:  # the noise alone may take it there, once in exp(2**62 / scale) runs
            seen = np.array([int(answer) + unbounded_laplace(scale, bits) >= bar for answer in answers], dtype=bool)
        ends = np.flatnonzero(seen)[: self.above]
        shown_until = int(ends[-1]) + 1 if ends.size == self.above else seen.size
        return Release(tuple(bool(answer) for answer in seen[:shown_until]), self)

    def bar(self, bits: BitSource) -> int:
        """Draw a noisy threshold, in steps: private, and drawn once per run."""
        return limited(self.grid.steps(self.threshold)) + unbounded_laplace(self.scales[0], bits)

    def is_above(self, value: float | Fraction, bar: int, bits: BitSource) -> bool:
        """Tell whether one answer with fresh noise is above a noisy threshold; whoever asks counts the answers above.

        >>> AboveThreshold(threshold=100, sensitivity=1, epsilon=20).is_above(200, 100 << 16, SYSTEM)
        True
        """
        steps = np.asarray(snapped(value, self.grid))
        if steps.size != 1:
            msg = f"value holds {steps.size} numbers; ask about one answer at a time, or give `release` all of them."
            raise ParameterError(msg)
        return int(steps.item()) + unbounded_laplace(self.scales[1], bits) >= bar


class Watch:
    """One run of `AboveThreshold`, question by question.

    >>> watch = AboveThreshold(threshold=100, sensitivity=1, epsilon=20).start()
    >>> watch.ask(200)
    True
    >>> watch.ask(0)
    Traceback (most recent call last):
    ...
    discreet.errors.BudgetError: this run told of 1 answer above, all that it may; start another, which costs again.
    """

    def __init__(self, mechanism: AboveThreshold, bits: BitSource) -> None:
        self.mechanism = mechanism
        self._bits, self._bar, self._left = bits, mechanism.bar(bits), mechanism.above

    @property
    def over(self) -> bool:
        """Whether the run has told of all the answers above that it may."""
        return self._left == 0

    def ask(self, value: float | Fraction) -> bool:
        """Tell whether one more answer is above the threshold, up to noise."""
        count = self.mechanism.above
        if self.over:
            msg = (
                f"this run told of {count} answer{'s' if count > 1 else ''} above, all that it may; start another, "
                "which costs again."
            )
            raise BudgetError(msg)
        above = self.mechanism.is_above(value, self._bar, self._bits)
        self._left -= above
        return above


def _best_share(above: int, *, monotone: bool) -> Fraction:
    """Return 1 / (1 + w**(2/3)), w the factor of the answers' noise, to 20 bits; any share keeps the promise.

    With e = e1 + e2 the variances 2 / e1**2 + 2 (w / e2)**2 have their minimum where e2 / e1 = w**(2/3).
    """
    ways = above * (1 if monotone else 2)
    return Fraction(round((1 << 20) / (1 + float(ways) ** (2 / 3))) or 1, 1 << 20)
