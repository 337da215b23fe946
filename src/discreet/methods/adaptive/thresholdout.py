"""A holdout that may be asked again and again: it answers from the training set until that overfits."""

from __future__ import annotations

import math
from dataclasses import dataclass
from enum import Enum
from fractions import Fraction
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from discreet.errors import ParameterError
from discreet.exact import counted, integer, rational, shown, sqrt_upper
from discreet.exact.rational import read_choice
from discreet.mechanisms import AboveThreshold, Gaussian, Laplace, Release
from discreet.mechanisms.inputs.parameters import assign, exactly_one, read_positive
from discreet.mechanisms.inputs.parameters import miss as missed
from discreet.mechanisms.promise import register
from discreet.mechanisms.words import movers, promise_in_words
from discreet.methods.adaptive.generalization import SLACKS, transferred
from discreet.methods.adaptive.kept import Barred, read_name
from discreet.methods.adaptive.row_functions import STEPS, evaluated, mean_of_public, read_arrays
from discreet.noise import SYSTEM, BitSource
from discreet.privacy import ZCDP, NeighborRelation, Pure
from discreet.privacy.convert import convert
from discreet.privacy.relations import require_relation

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping
    from typing import Self, SupportsIndex

    from discreet.exact import Grid, Number
    from discreet.ledgers import Entry, Ledger
    from discreet.mechanisms.adding.grids import Inputs
    from discreet.methods.adaptive.row_functions import Predictor, Rows, Valued
    from discreet.privacy import Curve
    from discreet.privacy.relations import Relation

__all__ = ["AnswerNoise", "ReusableHoldout", "Thresholdout"]


class AnswerNoise(Enum):
    """Which noise the answers from the holdout carry, and with it in which currency they are paid.

    >>> AnswerNoise("gaussian")
    <AnswerNoise.GAUSSIAN: 'gaussian'>
    """

    LAPLACE = "laplace"
    """As in the paper: a pure promise, which grows with the number of answers."""
    GAUSSIAN = "gaussian"
    """Concentrated: a promise in rho, whose noise grows with the square root of their number."""


@register
@dataclass(frozen=True, slots=True, init=False)
class Thresholdout:
    r"""Answer questions about means from the training set, and from the holdout only where the two differ.

    A question is a function of one row with values in [0, 1]; what leaves [0, 1] is clipped, and NaN counts as 0. If
    its mean over the holdout, of n rows, is within a noisy threshold of its mean over the training set, the answer is
    the latter, which costs nothing. Otherwise the training set overfits: the answer is the holdout's mean with noise,
    and one of the `answers` that were paid for is gone. **Only the holdout is protected**: the training set's means are
    shown as they are.

    Privacy. One row moves a mean over the holdout by at most 1/n: it is the sum of the values, divided by the stated
    n. Between two answers from the holdout runs one `AboveThreshold` with threshold noise Lap(4τ) and question noise
    Lap(8τ), which is 1/(4τn) + 2/(8τn) = 1/(2τn)-differentially private. With Laplace noise of scale 2τ on an
    answer, 1/(2τn) more, B answers cost ε = B/(τn) (Dwork, Feldman, Hardt, Pitassi, Reingold & Roth 2015,
    arXiv:1506.02629, where σ = 2τ). With Gaussian noise of standard deviation 2τ each run costs ρ = 1/(8τ²n²), as each
    ε-differentially private one costs ε²/2 (Bun & Steinke 2016, arXiv:1605.02065), each answer as much again, and all
    of it ρ = B/(2τn)². After each answer from the holdout a new noisy threshold is drawn.

    Give the tolerance τ, or the price: `epsilon` for Laplace noise, `rho` for Gaussian.

    >>> Thresholdout(10_000, threshold="0.04", tolerance="0.01", answers=50).promise
    'ε = 0.5'
    >>> gaussian = Thresholdout(10_000, threshold="0.04", rho="0.005", answers=50)
    >>> 0.0049 < gaussian.claim.rho <= Fraction("0.005"), float(gaussian.tolerance)
    (True, 0.005)
    """

    kind: ClassVar[str] = "thresholdout"
    accuracy: ClassVar[str] = (
        "2τ ln(1 / miss) or 2τ Φ⁻¹(1 − miss / 2) from the holdout; T + 4τ ln(2 / miss) + 8τ ln(2k / miss) from the "
        "training set, k questions since the last answer from the holdout"
    )
    no_error_because: ClassVar[str] = ""

    holdout_size: int
    threshold: Fraction
    tolerance: Fraction
    answers: int
    noise: AnswerNoise
    neighbors: Relation
    run: AboveThreshold
    number: Laplace | Gaussian

    def __init__(  # noqa: PLR0913  each is a public fact of the release
        self,
        holdout_size: SupportsIndex,
        *,
        threshold: Number,
        answers: SupportsIndex,
        tolerance: Number | None = None,
        epsilon: Number | None = None,
        rho: Number | None = None,
        noise: AnswerNoise | str | None = None,
        grid: Grid | Number | None = None,
        inputs: Inputs | str = "raw",
        neighbors: Relation = NeighborRelation.CHANGE_ONE,
    ) -> None:
        given = exactly_one(tolerance=tolerance, epsilon=epsilon, rho=rho)
        rows = integer(holdout_size, name="holdout_size", least=1, most=1 << 40)
        count = integer(answers, name="answers", least=1, most=1 << 40)
        bar = rational(threshold, name="threshold")
        if not 0 < bar < 1:
            msg = f"threshold is {shown(threshold)}; two means in [0, 1] differ by more than 0 and less than 1."
            raise ParameterError(msg)
        law = _law(given, noise)
        none = "no finite noise reaches it"
        if given == "tolerance":
            tau = read_positive(tolerance, "tolerance", zero=none)
        elif given == "epsilon":
            tau = count / (read_positive(epsilon, "epsilon", zero=none) * rows)
        else:
            tau = sqrt_upper(count / read_positive(rho, "rho", zero=none)) / (2 * rows)
        relation = require_relation(neighbors)
        moved, rate = Fraction(1, rows), 1 / (2 * tau * rows)
        rest: dict[str, Any] = {"grid": grid, "inputs": inputs, "neighbors": relation}
        run = AboveThreshold(bar, sensitivity=moved, epsilon=rate, share="1/2", **rest)
        number: Laplace | Gaussian
        if law is AnswerNoise.LAPLACE:
            number = Laplace(moved, epsilon=rate, **rest)
        else:
            number = Gaussian(moved, rho=rate**2 / 2, **rest)
        assign(self, holdout_size=rows, threshold=bar, tolerance=tau, answers=count, noise=law, neighbors=relation)
        assign(self, run=run, number=number)

    @classmethod
    def for_accuracy(  # noqa: PLR0913  each is a public fact of the release
        cls,
        holdout_size: SupportsIndex,
        *,
        error: Number,
        questions: SupportsIndex,
        answers: SupportsIndex,
        confidence: float = 0.95,
        neighbors: Relation = NeighborRelation.CHANGE_ONE,
    ) -> Self:
        r"""Choose threshold and tolerance so that all answers are within an error of the population, by a theorem.

        With probability 1 − s no threshold noise passes $x = 4\tau\ln(4B/s)$, no question's passes
        $y = 8\tau\ln(4m/s)$, and no answer's passes $2\tau\ln(2B/s)$, for m questions and B answers from the holdout.
        With T = x + y a question that does not overfit at all is answered from the training set, and every answer is
        within 2(x + y) of the holdout's mean. But for a chance s/c that is within $\tanh(\varepsilon/4) + c$ of the
        population's (`transferred`), ε = B/(τn). The best τ and c are taken; what is left of the error goes to T.

        >>> made = Thresholdout.for_accuracy(10**6, error="0.1", questions=1000, answers=10)
        >>> made.bound(0.95, questions=1000) <= 0.1
        True
        >>> Thresholdout.for_accuracy(10_000, error="0.1", questions=1000, answers=10)
        Traceback (most recent call last):
        ...
        discreet.errors.ParameterError: holdout_size is 10,000; for 10 answers from the holdout among 1000 questions...
        """
        rows = integer(holdout_size, name="holdout_size", least=1, most=1 << 40)
        asked = integer(questions, name="questions", least=1)
        count = integer(answers, name="answers", least=1)
        wide, wrong = float(rational(error, name="error")), float(missed(confidence))
        if not 0 < wide < 1:
            msg = f"error is {shown(error)}; it must lie strictly between 0 and 1, as the answers do."
            raise ParameterError(msg)
        needed, rate, slack = min(_needs(wide, asked, count, wrong))
        if needed > rows:
            msg = (
                f"holdout_size is {rows:,}; for {count} answers from the holdout among {asked} questions, all within "
                f"{wide:g} of the population with probability {1 - wrong:.10g}, the theorem needs {needed:,} rows. "
                "Allow a larger error or fewer answers, or state threshold and tolerance; .bound() tells what they are "
                "worth."
            )
            raise ParameterError(msg)
        tolerance = Fraction(count / (rate * rows))
        room = wide - slack - math.tanh(rate / 4) - float(tolerance) * _noises(slack * wrong, asked, count)
        for lower in range(64):  # a few steps of the grids and floats lower than the formula has it
            bar = Fraction(math.floor(room * 2**16) - lower, 2**16)
            made = cls(rows, threshold=bar, tolerance=tolerance, answers=count, neighbors=neighbors)
            if made.bound(confidence, questions=asked) <= wide:
                break
        return made

    @property
    def claim(self) -> Pure | ZCDP:
        """Epsilon or rho of all runs and all answers."""
        stage, number = self.run.claim, self.number.claim
        if isinstance(number, Pure):
            return (stage + number) * self.answers
        return (convert(stage, to=ZCDP) + convert(number, to=ZCDP)) * self.answers

    @property
    def privacy(self) -> Curve:
        """The curve of the whole session."""
        return self.run.privacy * self.answers + self.number.privacy * self.answers

    @property
    def promise(self) -> str:
        """The claim in words."""
        return promise_in_words(self.claim)

    @property
    def argument(self) -> tuple[str, ...]:
        """What it stands on."""
        ways = "Epsilons" if self.noise is AnswerNoise.LAPLACE else "Rhos (of a pure run: ε²/2)"
        adds = f"{ways} of {self.answers} runs and {self.answers} answers add up. (Dwork et al. 2015, arXiv:1506.02629)"
        return (*self.run.argument, *self.number.argument, adds)

    @property
    def assumed(self) -> tuple[str, ...]:
        """What functions are, and whom nobody protects."""
        return (
            f"{movers(self.neighbors)} of the holdout is one of its rows, and {self.holdout_size} is public.",
            "a question's value for a row depends on this row alone; outside [0, 1] it is clipped, NaN counts as 0.",
            "the training set need not be protected: its means are shown as they are.",
        )

    def error_of(self, value: object, details: Mapping[str, object], confidence: float = 0.95) -> float:
        """Return how far an answer may lie from the holdout's mean; of several, how far each may lie."""
        chance = missed(confidence)
        if details.get("from_holdout") is True:
            return float(self.number.error(confidence))
        asked = int(str(details.get("place", len(value) if isinstance(value, tuple) else 1)))
        near = self._below(float(chance), max(1, asked), 1)
        return near if "place" in details else max(near, float(self.number.error(confidence)))

    def _below(self, chance: float, questions: int, runs: int) -> float:
        """Bound how far all answers from the training set are from the holdout's means; each noise gets half."""
        first, rest = (float(scale * self.run.grid.step) for scale in self.run.scales)
        noise = first * math.log(2 * runs / chance) + rest * math.log(2 * questions / chance)
        return float(self.threshold) + noise + 3 * float(self.run.grid.step)

    def bound(self, confidence: float = 0.95, *, questions: SupportsIndex) -> float:
        """Bound how far all answers to so many questions may lie from the population's means, until it is over.

        The rows of the holdout are drawn independently. 1 says that the holdout is too small for any statement.

        >>> made = Thresholdout(10_000, threshold="0.04", tolerance="0.001", answers=1)
        >>> small = Thresholdout(99, threshold="0.1", epsilon=1, answers=9)
        >>> round(made.bound(questions=100), 2), small.bound(questions=9)
        (0.22, 1.0)
        """
        asked, wrong = integer(questions, name="questions", least=1), float(missed(confidence))

        def sample_error(s: float) -> float:
            tail = Fraction(s) / (2 * self.answers)
            return max(self._below(s / 2, asked, self.answers), float(self.number.error(float(1 - tail))))

        return transferred(sample_error, self._pairs, wrong)

    def _pairs(self) -> Iterator[tuple[float, float]]:
        """Which (ε, δ) all answers keep: exactly with Laplace noise, at a list of ε with Gaussian noise."""
        claim = self.claim
        if isinstance(claim, Pure):
            return iter([(float(claim.epsilon), 0.0)])
        curve = claim.curve()
        return iter([(float(e), float(curve.delta(float(e)))) for e in np.geomspace(0.01, 0.6, 12)])

    def told(self, train: Fraction, holdout: Fraction, bar: int, bits: BitSource) -> tuple[bool, float]:
        """Compare two means with a noisy threshold; tell whether they are apart, and what is answered."""
        if not self.run.is_above(abs(train - holdout), bar, bits):
            return False, float(train)
        noisy = float(self.number.release(holdout, bits=bits).value)
        return True, min(1.0, max(0.0, noisy))

    def release(
        self, value: Iterable[tuple[Number, Number]], *, bits: BitSource = SYSTEM
    ) -> Release[tuple[float, ...]]:
        """Run through pairs of means, over the training set and the holdout, that the caller holds.

        >>> made = Thresholdout(10**6, threshold="0.1", tolerance="0.001", answers=1)
        >>> [round(answer, 1) for answer in made.release([(0.5, 0.5), (0.9, 0.5), (0.9, 0.5)]).value]
        [0.5, 0.5]
        """
        answers: list[float] = []
        seen: list[bool] = []
        bar: int | None = None
        for train, holdout in value:
            if sum(seen) == self.answers:
                break
            bar = self.run.bar(bits) if bar is None else bar
            apart, told = self.told(rational(train), rational(holdout), bar, bits)
            bar = None if apart else bar
            answers.append(told)
            seen.append(apart)
        return Release(tuple(answers), self, MappingProxyType({"from_holdout": tuple(seen)}))

    def open(self, ledger: Ledger, entry: Entry, *, train: Rows, holdout: Rows) -> ReusableHoldout:
        """Take the whole price, and begin; or go on with what was begun under this entry's name.

        Each of the two is an array of rows, or several arrays of the same length, which functions get one after the
        other. The holdout may be a function of the session, which lends its rows.

        >>> import numpy as np
        >>> from discreet.ledgers import Entry, MemoryLedger
        >>> from discreet.tables import Policy
        >>> made = Thresholdout(1000, threshold="0.1", tolerance="0.01", answers=2)
        >>> ledger = MemoryLedger(Policy([], epsilon=1, neighbors=NeighborRelation.CHANGE_ONE))
        >>> rows = np.arange(1000) / 1000
        >>> with made.open(ledger, Entry("my holdout", ("t",), kind="session"), train=rows, holdout=rows) as holdout:
        ...     holdout.ask(lambda x: x < 0.25).value, holdout.left, ledger.remaining
        (0.25, 2, Pure(epsilon=0.8, neighbors=change_one))
        """
        return ReusableHoldout(self, ledger, entry, train=train, holdout=holdout)

    def record(self) -> dict[str, Any]:
        """Return the parameters as a JSON object."""
        exact = {"threshold": str(self.threshold), "tolerance": str(self.tolerance)}
        sizes = {"holdout_size": self.holdout_size, "answers": self.answers}
        law = {"noise": self.noise.value, "neighbors": self.neighbors.value, "inputs": self.run.inputs.value}
        law |= {} if self.number.grid != self.run.grid else {"grid": str(self.run.grid.step)}
        return {"kind": self.kind, **sizes, **exact, **law}

    @classmethod
    def read(cls, record: Mapping[str, Any]) -> Self:
        """Read what `record` wrote."""
        rest = {name: value for name, value in record.items() if name not in {"kind", "holdout_size", "neighbors"}}
        return cls(record["holdout_size"], neighbors=NeighborRelation(record["neighbors"]), **rest)


def _law(given: str, noise: AnswerNoise | str | None) -> AnswerNoise:
    """Which noise answers carry: epsilon means Laplace, rho Gaussian, and a tolerance either."""
    implied = AnswerNoise.GAUSSIAN if given == "rho" else AnswerNoise.LAPLACE
    law = implied if noise is None else read_choice(AnswerNoise, noise, "noise")
    if given != "tolerance" and law is not implied:
        msg = f"noise is {shown(noise)}; with {given} it is {implied.value!r}. State tolerance, or the other price."
        raise ParameterError(msg)
    return law


def _noises(s: float, questions: int, answers: int) -> float:
    """Bound both noises of a comparison but for a chance s / 2, in tolerances; each gets half of that."""
    return 4 * math.log(4 * answers / s) + 8 * math.log(4 * questions / s)


def _needs(wide: float, questions: int, answers: int, wrong: float) -> Iterator[tuple[int, float, float]]:
    """How many rows a theorem needs, for a list of rates and of slacks: 2 * noise <= error - slack - tanh(rate / 4)."""
    for slack in (c for c in SLACKS if c < wide):
        twice = 2.01 * answers * _noises(slack * wrong, questions, answers)  # one in 200 for the steps of grids
        for part in range(1, 50):
            rate = 4 * math.atanh((wide - slack) * part / 50)
            yield math.ceil(twice / (rate * (wide - slack) * (1 - part / 50))) + 1, rate, slack


class ReusableHoldout(Barred):
    """A holdout that is asked again and again, and says how many of its own answers are left.

    `Thresholdout.open` opens one.

    >>> ReusableHoldout.score.__doc__.splitlines()[0]
    'Give the share of rows that a model predicts right, from the training set or the holdout.'
    """

    def __init__(self, promise: Thresholdout, ledger: Ledger, entry: Entry, *, train: Rows, holdout: Rows) -> None:
        self._train, self._lent = read_arrays(train, "train"), holdout
        if not callable(holdout):
            self._require_size(promise, read_arrays(holdout, "holdout"))
        if not len(self._train[0]):
            msg = "train holds no rows; its means answer all questions that do not overfit."
            raise ParameterError(msg)
        super().__init__(promise, promise.run, ledger, entry)
        self.promise = promise

    @staticmethod
    def _require_size(promise: Thresholdout, arrays: tuple[Any, ...]) -> None:
        """Refuse another number of rows than was stated, where it is public."""
        if promise.neighbors is NeighborRelation.CHANGE_ONE and len(arrays[0]) != promise.holdout_size:
            msg = (
                f"holdout holds {len(arrays[0])} rows, and holdout_size is {promise.holdout_size}: under change-one "
                "the number is public, and the noise is made for it. State the number that there are."
            )
            raise ParameterError(msg)

    @property
    def left(self) -> int:
        """How many answers from the holdout are left."""
        return self.promise.answers - sum(answer.details["from_holdout"] is True for answer in self.answers)

    @property
    def _run(self) -> list[Release[Any]]:
        """The answers since the last one from the holdout."""
        places = [place for place, answer in enumerate(self.answers) if answer.details["from_holdout"] is True]
        return self.answers[places[-1] + 1 :] if places else self.answers

    def ask(self, function: Valued, name: str | None = None) -> Release[float]:
        """Answer with the mean of a function of rows, from the training set or the holdout.

        The function gets the arrays of rows and gives each row a value; outside [0, 1] it is clipped, NaN counts as 0,
        and a row of the holdout for which it fails counts as 0. With a name, the answer is found again by it, in this
        process or another; without one, each call is a question of its own.
        """
        before = None if name is None else self.find(read_name(name))
        if before is not None:
            return before
        train = mean_of_public(function, self._train)
        more = f"0 of {self.promise.answers} answers from the holdout are left. Open another one, which costs again."
        self.bits(left=self.left, more=more)  # refuses before anything is computed
        given = self._lent(self.session) if callable(self._lent) else self._lent
        arrays = read_arrays(given, "holdout")
        self._require_size(self.promise, arrays)
        holdout = Fraction(evaluated(function, arrays), STEPS * self.promise.holdout_size)
        with self._thread_lock:
            before, left = None if name is None else self.find(name), self.left  # others may have asked meanwhile
            return before if before is not None else self._answered(train, holdout, name, left, more)

    def _answered(self, train: Fraction, holdout: Fraction, name: str | None, left: int, more: str) -> Release[float]:
        bits = self.bits(left=left, more=more)
        bar = self.bar(bits)
        apart, told = self.promise.told(train, holdout, bar, bits)
        details: dict[str, object] = {"from_holdout": apart, "left": left - apart, "place": len(self._run) + 1}
        if name is not None:
            details["question"] = name
        answer = Release(told, self.promise, MappingProxyType(details))
        return self.keep_under(bar, answer, used_up=apart, last=apart and left == 1)

    def score(
        self,
        model: Predictor,
        name: str | None = None,
        *,
        loss: Callable[[Any, Any], Any] | None = None,
    ) -> Release[float]:
        """Give the share of rows that a model predicts right, from the training set or the holdout.

        Rows are given as two arrays, features and labels. With `loss` it is the mean of loss(labels, predictions), a
        value in [0, 1] for each row.
        """
        if not hasattr(model, "predict"):
            msg = f"model is {shown(model)}; it must have a method predict(rows), as a model of scikit-learn has."
            raise ParameterError(msg)
        if len(self._train) != 2:
            msg = f"train holds {counted(len(self._train), 'array')}; to score models give (features, labels)."
            raise ParameterError(msg)

        def right(features: Any, labels: Any) -> Any:  # noqa: ANN401  as the model takes and gives them
            predicted = model.predict(features)
            return np.asarray(labels) == np.asarray(predicted) if loss is None else loss(labels, predicted)

        return self.ask(right, name)

    def __repr__(self) -> str:
        asked, whole = len(self.answers), self.promise.answers
        return f"ReusableHoldout({self.promise.promise}, {asked} asked, {self.left} of {whole} holdout answers left)"
