"""Sums that keep coming: a stream in memory, one step at a time or in bulk."""

from __future__ import annotations

from collections import deque
from functools import partial
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import numpy as np

from discreet.errors import BudgetError, ParameterError
from discreet.exact import counted, integer
from discreet.mechanisms.inputs.rows import identity
from discreet.mechanisms.inputs.values import snapped
from discreet.mechanisms.release import Release
from discreet.methods.streaming.continual_sum import ContinualSum
from discreet.methods.streaming.elements import bounded, read_elements
from discreet.noise import SYSTEM

if TYPE_CHECKING:
    from collections.abc import Hashable, Sequence
    from typing import SupportsIndex

    from numpy.typing import ArrayLike, NDArray

    from discreet.exact import Number
    from discreet.mechanisms.prefix import Run
    from discreet.noise import BitSource

    Shown = float | NDArray[np.float64]

__all__ = ["PrefixSum", "Running", "Summing"]


class Running:
    """A stream of sums that runs: its private state, and the noisy sums that it gives.

    >>> Running(ContinualSum(2, 1, rho=9)).step
    0
    """

    def __init__(self, promise: ContinualSum) -> None:
        self.promise = promise
        self.step = 0
        self._before = np.zeros(promise.dimension)
        self._epoch = 0
        self._last = np.zeros(promise.dimension)
        self._now, self._run = self._begun()
        self._events: dict[str, list[int]] = {}

    def _begun(self) -> tuple[ContinualSum, Run]:
        """Begin the stream, or its next epoch."""
        now = self.promise if self.promise.factorization is not None else self.promise.epoch(self._epoch)
        return now, now.factorized.start(now.dimension)

    def require_room(self, count: int) -> None:
        """Refuse more steps than there are; the stream stays valid."""
        left = self.promise.longest - self.step
        if count > left:
            msg = (
                f"{counted(count, 'step')} more than fit: {left} of {self.promise.longest} are left, and the noise was "
                "made for that many. Nothing was added; open another stream, which costs again."
            )
            raise BudgetError(msg)

    def extend(self, rows: NDArray[np.int64], bits: BitSource) -> NDArray[np.float64]:
        """Take elements, and return the noisy sums after each, on the grid."""
        parts = []
        while len(rows):
            room = (self._now.horizon or 0) - self._run.step
            if not room:
                self._epoch += 1
                self._before = self._before + self._last
                self._now, self._run = self._begun()
                continue
            sums = self._run.extend(rows[:room], partial(self._now.draw, bits))
            self._last = np.rint(sums[-1])
            parts.append(self._before + np.rint(sums))
            self.step, rows = self.step + len(sums), rows[room:]
        return np.concatenate(parts) * float(self.promise.grid.step)

    def admitted(self, values: Any, units: Sequence[Hashable] | None) -> NDArray[np.int64]:  # noqa: ANN401
        """Add up events of one step, each bounded, and of each unit no more than its limit over the whole stream."""
        promise = self.promise
        if (promise.events is None) is not (units is None):
            need = "give units, whose each event is" if units is None else "say how many one has: events=3"
            msg = f"a stream that protects {'persons' if units is None else 'events'} takes {need}."
            raise ParameterError(msg)
        rows = bounded(_rows(values, promise), promise, whole=False)
        if units is not None:
            kept = self.kept([identity(unit) for unit in units], len(rows))
            rows = rows[kept]
        total = np.clip(rows.sum(axis=0, keepdims=True), -promise.reach, promise.reach)
        return np.asarray(total, dtype=np.int64)

    def kept(self, units: list[Hashable], count: int) -> list[int]:
        """Count the events of units, and say which are within the limit; those without a unit are dropped."""
        if len(units) != count:
            msg = f"there are {len(units)} units and {counted(count, 'event')}; give one unit for each."
            raise ParameterError(msg)
        limit, apart, kept = self.promise.events or 1, self.promise.separation, []
        for place, unit in enumerate(units):
            if unit is None:
                continue
            steps = self._events.setdefault(repr(unit), [])
            if len(steps) < limit and (not apart or not steps or self.step + 1 - steps[-1] >= apart):
                steps.append(self.step + 1)
                kept.append(place)
        return kept

    def state(self) -> dict[str, Any]:
        """All that goes on, as a JSON object: private."""
        events = self._events if self.promise.separation else {unit: len(each) for unit, each in self._events.items()}
        return {
            "step": self.step,
            "epoch": self._epoch,
            "before": self._before.tolist(),
            "last": self._last.tolist(),
            "run": self._run.state(),
            "events": events,
        }

    def load(self, state: dict[str, Any]) -> None:
        """Take what `state` returned."""
        self.step, self._epoch = state["step"], state["epoch"]
        self._before = np.array(state["before"], dtype=np.float64)
        self._now, self._run = self._begun()
        self._run.load(state["run"])
        self._last = np.array(state["last"])
        events = state["events"]
        self._events = {unit: each if isinstance(each, list) else [0] * each for unit, each in events.items()}


def _rows(values: Any, promise: ContinualSum) -> NDArray[np.int64]:  # noqa: ANN401  any numbers
    """Read events of one step, snapped, not bounded yet."""
    steps = np.asarray(snapped(values, promise.grid), dtype=np.int64)
    want = 1 if promise.dimension == 1 else 2
    if steps.ndim != want or (want == 2 and steps.shape[1] != promise.dimension):
        msg = f"the events have shape {steps.shape}; give a list of events, each of {promise.dimension} number(s)."
        raise ParameterError(msg)
    return steps.reshape(-1, promise.dimension)


class Summing:
    """What streams in memory and durable ones share: `add`, `extend`, `add_events`, `window`.

    >>> sorted(name for name in vars(Summing) if not name.startswith("_"))
    ['add', 'add_events', 'extend', 'step', 'window']
    """

    promise: ContinualSum
    _running: Running
    _recent: deque[NDArray[np.float64]]

    @property
    def step(self) -> int:
        """How many steps were taken."""
        return self._running.step

    def add(self, element: ArrayLike) -> Release[Any]:
        """Take one step: add an element, and release the sum of all so far.

        >>> stream = PrefixSum(3, sensitivity=1, epsilon=1000, grid=1, elements="totals")
        >>> [stream.add(count).value for count in (5, 0, 7)]
        [5, 5, 12]
        >>> stream.add(1)
        Traceback (most recent call last):
        ...
        discreet.errors.BudgetError: 1 step more than fit: 0 of 3 are left, and the noise was made for that many. ...
        """
        self._running.require_room(1)
        return self._one(read_elements(element, self.promise, many=False))

    def add_events(self, values: ArrayLike, units: Sequence[Hashable] | None = None) -> Release[Any]:
        """Take one step with any number of events, whose sum is the element.

        Each event is bounded by itself. With `units`, whose each event is, those of a unit beyond its `events` in the
        whole stream are left out, and so are those closer than `separation`: the limit is enforced, not believed.

        >>> stream = PrefixSum(9, sensitivity=1, epsilon=1000, grid=1, events=2)
        >>> stream.add_events([1, 1, 1, 1], units=["ann", "bob", "ann", "ann"]).value
        3
        >>> stream.add_events([1], units=["ann"]).value
        3
        """
        self._running.require_room(1)
        return self._one(self._running.admitted(values, units))

    def extend(self, elements: ArrayLike) -> Release[Any]:
        """Take many steps at once, and release the sums after each, as one array.

        >>> PrefixSum(1000, rho=1e9, grid=1).extend([1] * 1000).value.tolist()[-1]
        1000.0
        """
        rows = read_elements(elements, self.promise, many=True)
        if not len(rows):
            msg = "there are no elements; give at least one."
            raise ParameterError(msg)
        self._running.require_room(len(rows))
        first = self.step + 1
        details: dict[str, object] = {"first": first, "step": first + len(rows) - 1}
        return self._take(rows, details)

    def window(self, width: SupportsIndex) -> Release[Any]:
        """Release the sum of the last elements: the difference of two sums that were released, which costs nothing.

        The stream must have been made to keep so many: `keep=`.

        >>> stream = PrefixSum(9, rho=1e9, grid=1, keep=3)
        >>> _ = stream.extend([1, 1, 0, 1])
        >>> stream.window(3).value, stream.window(2).value
        (2, 1)
        """
        wide = integer(width, name="width", least=1)
        kept = self._recent.maxlen or 0
        if not self.step or wide >= kept:
            most = f"at most {kept - 1}" if self.step else "a window after the first step"
            msg = f"width is {wide}; this stream keeps what is needed for {most}. Make it with keep={wide}."
            raise ParameterError(msg)
        now = self._recent[-1]
        value = now - self._recent[-1 - wide] if wide < self.step else now
        return self._released(value[None], {"step": self.step, "window": min(wide, self.step)})

    def _one(self, row: NDArray[np.int64]) -> Release[Any]:
        return self._take(row, {"step": self.step + 1})

    def _take(self, rows: NDArray[np.int64], details: dict[str, object]) -> Release[Any]:
        raise NotImplementedError

    def _remember(self, sums: NDArray[np.float64]) -> None:
        self._recent.extend(sums[-(self._recent.maxlen or 1) :])

    def _released(self, sums: NDArray[np.float64], details: dict[str, object]) -> Release[Any]:
        """Make a release: a number, a vector, or arrays of them for many steps."""
        many, flat = "first" in details, self.promise.dimension == 1
        value: Any = sums if many else sums[0]
        if flat:
            value = value[..., 0]
        if not many and flat:
            whole = self.promise.grid.step.denominator == 1
            value = int(value) if whole else float(value)
        return Release(value, self.promise, MappingProxyType(details))


class PrefixSum(Summing):
    """A stream of sums in memory: each step adds an element and releases the sum so far, for one price in all.

    `epsilon` or `rho` is the price of the whole stream, whatever its length. It charges nothing and says so, as
    mechanisms do; `ContinualSum.open` makes one that a ledger keeps.

    - `horizon`: the most steps; None for no end, at about twice the error.
    - `sensitivity`: how far one event moves its element, in the `norm`: "l1" (the default for epsilon) or "l2" (rho).
    - `elements`: "events" (each element is one event, whose norm is enforced) or "totals" (sums of events).
    - `outside`: "clip" an element beyond its bound, or "refuse" it.
    - `events`: without it each event is protected; with `events=k` each person with at most k of them.
    - `grid`: 1 for whole numbers; without it a thousandth of the sensitivity.
    - `keep`: the widest window that will be asked for.

    >>> stream = PrefixSum(365, sensitivity=1, epsilon=1, grid=1, elements="totals")
    >>> answer = stream.add(40)
    >>> answer.mechanism.neighbors.value, answer.error(confidence=0.95) < 20, answer.details["step"]
    ('add_remove/event', True, 1)
    """

    def __init__(
        self,
        horizon: SupportsIndex | None,
        sensitivity: Number = 1,
        *,
        keep: SupportsIndex = 0,
        bits: BitSource = SYSTEM,
        **how: Any,  # noqa: ANN401  as ContinualSum has it
    ) -> None:
        self.promise = ContinualSum(horizon, sensitivity, **how)
        self._running = Running(self.promise)
        self._recent = deque([np.zeros(self.promise.dimension)], maxlen=integer(keep, name="keep", least=0) + 1)
        self._bits = bits

    def _take(self, rows: NDArray[np.int64], details: dict[str, object]) -> Release[Any]:
        sums = self._running.extend(rows, self._bits)
        self._remember(sums)
        return self._released(sums, details)

    def __repr__(self) -> str:
        return f"PrefixSum({self.promise.promise}, step {self.step} of {self.promise.longest})"
