"""Changes that are noticed while elements keep coming: a sparse vector over a sliding window, then the place."""

from __future__ import annotations

import json
import math
from collections import deque
from dataclasses import dataclass, replace
from fractions import Fraction
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from discreet.errors import BudgetError, LedgerError, ParameterError
from discreet.exact import integer, rational, shown
from discreet.ledgers import Session
from discreet.ledgers.charging import charged
from discreet.ledgers.pricing import price
from discreet.mechanisms import AboveThreshold, Release
from discreet.mechanisms.inputs.parameters import assign, miss, read_positive
from discreet.mechanisms.promise import register
from discreet.mechanisms.words import promise_in_words
from discreet.methods.streaming.change_point import ChangePoint
from discreet.methods.streaming.likelihoods import read_numbers
from discreet.noise import SYSTEM, BitSource
from discreet.privacy import NeighborRelation, Pure

if TYPE_CHECKING:
    from collections.abc import Mapping
    from types import TracebackType
    from typing import Self, SupportsIndex

    from numpy.typing import NDArray

    from discreet.exact import Number
    from discreet.ledgers import Entry, Ledger
    from discreet.methods.streaming.change_point import Evidence
    from discreet.methods.streaming.likelihoods import Likelihoods
    from discreet.privacy import Curve
    from discreet.privacy.relations import Relation

__all__ = ["ChangeWatch", "KeptWatch", "Watched"]

_RATES = 200


@register
@dataclass(frozen=True, slots=True, init=False)
class ChangeWatch:
    r"""Notice a change while elements keep coming, and say where in the last window it was.

    At each step the largest log-likelihood ratio of "from k on" over the last `window` elements is compared with a
    threshold by `AboveThreshold`; steps below are free. The first step above ends the watch, and `ChangePoint` finds
    the place in that window (Cummings, Krehbiel, Mei, Tuo & Zhang 2018, arXiv:1808.10056: OnlinePCPD). Each has half
    of epsilon: the place is found after, and because of, the comparisons, so their costs add up.

    An element is in many windows; the sparse vector pays once for all of them. One unit moves each maximum by at most
    `evidence.moved`, under add/remove (one event) all of them the same way.

    Without a `threshold` it is the lowest at which false alarms in `horizon` steps have a chance of at most
    `false_alarm`, if nothing changes: for every x, a window has m last elements that speak so much with a chance of at
    most E_0[exp(x r)]^m e^(-xT) times the moments of both noises.

    >>> from discreet.methods.streaming import Bernoulli
    >>> watch = ChangeWatch(Bernoulli("0.1", "0.9"), window=200, epsilon=4, horizon=2000)
    >>> noticed, place = watch.release([0] * 1000 + [1] * 1000).value
    >>> 1000 < noticed < 1100, abs(place - 1000) < 60
    (True, True)
    """

    kind: ClassVar[str] = "change_watch"
    accuracy: ClassVar[str] = "false alarms as stated; the place as in ChangePoint, for half of epsilon"

    window: int
    epsilon: Fraction
    threshold: Fraction
    locate: ChangePoint

    def __init__(  # noqa: PLR0913  each is a public fact of the watch
        self,
        likelihoods: Likelihoods | Mapping[str, Any],
        *,
        window: SupportsIndex,
        epsilon: Number,
        threshold: Number | None = None,
        horizon: SupportsIndex | None = None,
        false_alarm: Number = "1/20",
        **how: Any,  # noqa: ANN401  as ChangePoint has it
    ) -> None:
        whole = read_positive(epsilon, "epsilon", zero="no finite noise reaches it")
        assign(self, window=integer(window, name="window", least=1, most=1 << 20), epsilon=whole)
        assign(self, locate=ChangePoint(likelihoods, epsilon=whole / 2, **how))
        if (threshold is None) == (horizon is None):
            msg = "give the threshold, or the horizon, for which one is found that gives few false alarms."
            raise ParameterError(msg)
        if threshold is not None:
            assign(self, threshold=rational(threshold, name="threshold"))
        else:
            steps = integer(horizon, name="horizon", least=1)  # type: ignore[arg-type]
            assign(self, threshold=_lowest(self, steps, float(rational(false_alarm, name="false_alarm"))))

    @property
    def evidence(self) -> Evidence:
        """The ratios of elements."""
        return self.locate.evidence

    @property
    def neighbors(self) -> Relation:
        """Whom it protects."""
        return self.locate.neighbors

    @property
    def core(self) -> AboveThreshold:
        """The comparisons, in steps of the grid."""
        return _core(self, Fraction(round(self.threshold / self.evidence.grid.step)))

    @property
    def claim(self) -> Pure:
        """Epsilon of both parts."""
        return Pure(self.core.claim.epsilon + self.locate.claim.epsilon, neighbors=self.neighbors)

    @property
    def privacy(self) -> Curve:
        """Both parts' curves, composed."""
        return self.core.privacy + self.locate.privacy

    @property
    def promise(self) -> str:
        """The claim in words."""
        return promise_in_words(self.claim)

    @property
    def argument(self) -> tuple[str, ...]:
        """Why it is private: two parts, whose costs add up."""
        return (*self.core.argument, *self.locate.argument, "Their costs add up. (Dwork & Roth 2014, Theorem 3.16)")

    @property
    def assumed(self) -> tuple[str, ...]:
        """As of the place."""
        return self.locate.assumed

    @property
    def no_error_because(self) -> str:
        """As of the place."""
        return self.locate.no_error_because

    def false_alarms(self, steps: int, threshold: Number | None = None) -> float:
        """Bound the chance of an alarm within so many steps if nothing changes.

        >>> from discreet.methods.streaming import Bernoulli
        >>> ChangeWatch(Bernoulli("0.1", "0.9"), window=200, epsilon=4, horizon=2000).false_alarms(2000) <= 0.05
        True
        """
        bar = float(self.threshold if threshold is None else rational(threshold))
        found = self.evidence.likelihoods.law(after=False)
        if found is None:
            msg = "the laws behind given ratios are not known; state the threshold."
            raise ParameterError(msg)
        ratios, chances = found
        first, rest = (float(scale * self.evidence.grid.step) for scale in _core(self, Fraction(0)).scales)
        rates = np.arange(1, _RATES) / _RATES * min(2.0, 1 / first, 1 / rest)
        psi = np.exp(rates[:, None] * ratios[None]) @ chances
        with np.errstate(over="ignore"):
            windows = np.array([float(np.sum(rate ** np.arange(1, self.window + 1))) for rate in psi])
            noise = 1 / ((1 - (rates * first) ** 2) * (1 - (rates * rest) ** 2))
            bound = steps * windows * noise * np.exp(-rates * bar)
        return min(float(np.min(bound)), 1.0)

    def error_of(
        self, value: tuple[int | None, int | None], details: Mapping[str, object], confidence: float = 0.95
    ) -> float | None:
        """Return how far off the place is, if the change lies in the window; None while nothing was noticed."""
        del value, details
        miss(confidence)
        return self.locate.error(confidence)

    def start(self, *, bits: BitSource = SYSTEM) -> Watched:
        """Begin a watch in memory.

        >>> from discreet.methods.streaming import Bernoulli
        >>> run = ChangeWatch(Bernoulli("0.1", "0.9"), window=50, epsilon=4, threshold=40).start()
        >>> run.add(0).value
        (None, None)
        """
        return Watched(self, bits)

    def release(self, values: object, *, bits: BitSource = SYSTEM) -> Release[tuple[int | None, int | None]]:
        """Run through a series: when a change was noticed, counted from 1, and where, from 0; or (None, None)."""
        run = self.start(bits=bits)
        for step in self.evidence.steps(read_numbers(values)).tolist():
            found = run.take(step)
            if run.over:
                return found
        return Release((None, None), self, MappingProxyType({"step": run.step}))

    def record(self) -> dict[str, Any]:
        """Return the promise as a JSON object."""
        return {
            "kind": self.kind,
            "window": self.window,
            "epsilon": str(self.epsilon),
            "threshold": str(self.threshold),
            "locate": self.locate.record(),
        }

    @classmethod
    def read(cls, record: Mapping[str, Any]) -> Self:
        """Read what `record` wrote."""
        locate = ChangePoint.read(record["locate"])
        evidence = locate.evidence
        return cls(
            evidence.likelihoods,
            window=record["window"],
            epsilon=record["epsilon"],
            threshold=record["threshold"],
            noise=locate.noise,
            grid=evidence.grid,
            events=evidence.events,
            neighbors=evidence.relation,
        )


def _core(watch: ChangeWatch, threshold: Fraction) -> AboveThreshold:
    """Compare maxima: with one event under add/remove, all of them move the same way."""
    evidence = watch.evidence
    return AboveThreshold(
        threshold,
        sensitivity=evidence.moved,
        epsilon=watch.epsilon - watch.locate.epsilon,
        monotone=evidence.relation is NeighborRelation.ADD_REMOVE and (evidence.events or 1) == 1,
        grid=1,
        inputs="snapped",
        neighbors=watch.neighbors,
    )


def _lowest(watch: ChangeWatch, steps: int, chance: float) -> Fraction:
    """Find the lowest threshold with so few false alarms, to a thousandth."""
    if not 0 < chance < 1:
        msg = f"false_alarm is {shown(chance)}; it must lie between 0 and 1."
        raise ParameterError(msg)
    high = 1.0
    while watch.false_alarms(steps, Fraction(high)) > chance:
        high *= 2
    low = high / 2
    while high - low > 1e-3 * high:
        middle = (low + high) / 2
        low, high = (middle, high) if watch.false_alarms(steps, Fraction(middle)) > chance else (low, middle)
    return Fraction(math.ceil(high * 1024), 1024)


class Watched:
    """One run of a `ChangeWatch`, element by element.

    >>> from discreet.methods.streaming import Bernoulli
    >>> run = ChangeWatch(Bernoulli("0.1", "0.9"), window=50, epsilon=40, threshold=20).start()
    >>> while not run.over:
    ...     noticed = run.add(int(run.step >= 30))
    >>> 30 < noticed.value[0] < 60
    True
    """

    def __init__(self, promise: ChangeWatch, bits: BitSource) -> None:
        self.promise = promise
        self.step = 0
        self.over = False
        self._bits = bits
        self._bar: int | None = None
        self._window: deque[int] = deque(maxlen=promise.window)
        self._core = promise.core

    def add(self, value: object) -> Release[tuple[int | None, int | None]]:
        """Take one element: (None, None) below; when a change was noticed, that step, and where it was."""
        return self.take(int(self.promise.evidence.steps(read_numbers([value]))[0]))

    def take(self, ratio: int) -> Release[tuple[int | None, int | None]]:
        """The same from a ratio in steps."""
        if self.over:
            msg = "this watch has noticed a change, all that it may; start another, which costs again."
            raise BudgetError(msg)
        bits = self._bits
        if self._bar is None:
            self._bar = self._core.bar(bits)
        self._window.append(ratio)
        self.step += 1
        sums = np.cumsum(np.array(self._window, dtype=np.int64)[::-1])
        noticed: tuple[int | None, int | None] = (None, None)
        if self._core.is_above(int(sums.max()), self._bar, bits):
            self.over = True
            ratios: NDArray[np.int64] = np.array(self._window, dtype=np.int64)
            place = self.promise.locate.locate(ratios, bits=bits).value
            noticed = (self.step, self.step - len(ratios) + place)
        return Release(noticed, self.promise, MappingProxyType({"step": self.step}))

    def state(self) -> dict[str, Any]:
        """All that goes on, as a JSON object: private."""
        return {"step": self.step, "over": self.over, "bar": self._bar, "window": list(self._window)}

    def load(self, state: dict[str, Any], bits: BitSource) -> None:
        """Take what `state` returned, and the bits of the next step."""
        self.step, self.over, self._bar, self._bits = state["step"], state["over"], state["bar"], bits
        self._window = deque(state["window"], maxlen=self.promise.window)


class KeptWatch:
    """A `ChangeWatch` that a ledger keeps: each step is in the ledger before it is shown, with the state after it.

    >>> from discreet.ledgers import Entry, MemoryLedger
    >>> from discreet.methods.streaming import Bernoulli
    >>> from discreet.tables import Policy
    >>> ledger = MemoryLedger(Policy([], epsilon=50))
    >>> watch = ChangeWatch(Bernoulli("0.1", "0.9"), window=50, epsilon=40, threshold=20, events=1)
    >>> for values in ([0] * 20, [1] * 30):
    ...     with KeptWatch(watch, ledger, Entry("fever by day", ("visits",), kind="stream")) as run:
    ...         for value in values:
    ...             told = told if run.over else run.add(value)
    >>> 20 < told.value[0] < 45
    True
    """

    def __init__(self, promise: ChangeWatch, ledger: Ledger, entry: Entry) -> None:
        self.promise = promise
        whole = replace(entry, promise=promise.promise, details={**entry.details, "watch": promise.record()})
        self.session = Session.open(ledger, price(ledger, promise), whole)
        self._run = Watched(promise, SYSTEM)
        try:
            self._state = json.loads(self.session.state) if self.session.state else self._run.state()
        except BaseException:
            self.session.leave()
            raise

    @property
    def over(self) -> bool:
        """Whether a change was noticed."""
        return bool(self._state["over"])

    @property
    def releases(self) -> list[Release[Any]]:
        """All that was shown so far, in order."""
        return self.session.releases

    def add(self, value: object) -> Release[Any]:
        """Take one element, as `Watched.add`."""
        if why := self.session.over:
            msg = f"the watch of entry {self.session.number} {why}; nothing was added."
            raise LedgerError(msg)
        try:
            self._run.load(self._state, self.session.bits())
            released = self._run.add(value)
            state = self._run.state()
            self.session.append([released], state=json.dumps(state).encode())
        except BudgetError:
            raise
        except BaseException:
            self.session.leave()  # its bits are used: who goes on opens it again
            raise
        self._state = state
        return charged(released, self.session.cost)

    def close(self) -> None:
        """Give the watch back, so that somebody else may go on with it."""
        self.session.leave()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()
