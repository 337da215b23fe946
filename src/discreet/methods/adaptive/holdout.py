"""A run of `Thresholdout` that a ledger keeps, over two sets of rows."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from fractions import Fraction
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias

import numpy as np

from discreet.errors import ParameterError
from discreet.exact import counted, shown
from discreet.mechanisms import Release
from discreet.methods.adaptive.kept import Barred, read_name
from discreet.privacy import NeighborRelation

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from discreet.ledgers import Entry, Ledger
    from discreet.methods.adaptive.thresholdout import Thresholdout

__all__ = ["Predictor", "ReusableHoldout", "Rows", "evaluated"]

Rows: TypeAlias = Any
"""An array of rows, a tuple of several with as many rows each, or a function of the session that gives one of them."""
Valued: TypeAlias = Callable[..., Any]
"""Gives each row a value in [0, 1]: one array for all rows, which may hold truth values."""

_STEPS = 1 << 20


class Predictor(Protocol):
    """A model as scikit-learn has it.

    >>> class Always:
    ...     def predict(self, x):
    ...         return [1] * len(x)
    >>> model: Predictor = Always()
    """

    def predict(self, x: Any, /) -> Any:  # noqa: ANN401  whatever the model takes and gives
        """Predict a label for each row."""


def _steps(raw: Any) -> NDArray[np.int64]:  # noqa: ANN401  whatever a function gives
    numbers = np.nan_to_num(np.asarray(raw, dtype=np.float64), nan=0.0, posinf=1.0, neginf=0.0)
    steps: NDArray[np.int64] = np.rint(np.clip(numbers, 0.0, 1.0) * _STEPS).astype(np.int64)
    return steps


def _row(array: Any, place: int) -> Any:  # noqa: ANN401  as above
    return array.iloc[place : place + 1] if hasattr(array, "iloc") else array[place : place + 1]


def _alone(function: Valued, arrays: tuple[Any, ...], place: int) -> int:
    """The value of one row by itself: 0 where the function fails or gives no single number."""
    try:
        raw = np.asarray(function(*(_row(array, place) for array in arrays)), dtype=np.float64)
    except Exception:  # noqa: BLE001 - whatever the function raises, as an error would tell of a row
        return 0
    return int(_steps(raw).item()) if raw.size == 1 else 0


def evaluated(function: Valued, arrays: tuple[Any, ...]) -> int:
    """Sum the values of private rows, in steps of 2**-20; no error and no warning depends on a row.

    Where the function fails for all rows at once, each is evaluated by itself, and counts as 0 where it still fails: so
    one row moves the sum by at most 2**20, whatever the function does with the others.

    >>> evaluated(lambda x: x > 1, (np.array([1.0, 2.0, 3.0]),)) / 2**20
    2.0
    >>> evaluated(lambda x: [1 / int(x[0])], ([0, 2, 4],)) / 2**20
    0.75
    """
    rows = len(arrays[0])
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        try:
            raw = np.asarray(function(*arrays), dtype=np.float64)
        except Exception:  # noqa: BLE001 - as above
            raw = None
        if raw is not None and raw.shape == (rows,):
            return int(_steps(raw).sum())
        return sum(_alone(function, arrays, place) for place in range(rows))


def _arrays(sample: Rows, name: str) -> tuple[Any, ...]:
    arrays = sample if isinstance(sample, tuple) else (sample,)
    sizes = {len(array) for array in arrays}
    if len(sizes) != 1:
        msg = f"{name} holds {counted(len(arrays), 'array')} of different lengths; give as many rows of each."
        raise ParameterError(msg)
    return arrays


class ReusableHoldout(Barred):
    """A holdout that is asked again and again, and says how many of its own answers are left.

    `Thresholdout.open` opens one.

    >>> ReusableHoldout.score.__doc__.splitlines()[0]
    'Give the share of rows that a model predicts right, from the training set or the holdout.'
    """

    def __init__(self, promise: Thresholdout, ledger: Ledger, entry: Entry, *, train: Rows, holdout: Rows) -> None:
        self._train, self._lent = _arrays(train, "train"), holdout
        if not callable(holdout):
            self._require_size(promise, _arrays(holdout, "holdout"))
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
        train = self._on_train(function)
        more = f"0 of {self.promise.answers} answers from the holdout are left. Open another one, which costs again."
        self.bits(left=self.left, more=more)  # refuses before anything is computed
        given = self._lent(self.session) if callable(self._lent) else self._lent
        arrays = _arrays(given, "holdout")
        self._require_size(self.promise, arrays)
        holdout = Fraction(evaluated(function, arrays), _STEPS * self.promise.holdout_size)
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

    def _on_train(self, function: Valued) -> Fraction:
        """The mean over the training set, whose errors are shown: its rows need no protection."""
        rows = len(self._train[0])
        raw = np.asarray(function(*self._train), dtype=np.float64)
        if raw.shape != (rows,):
            msg = f"the function gave an array of shape {raw.shape} for {rows} rows; give each row one value in [0, 1]."
            raise ParameterError(msg)
        return Fraction(int(_steps(raw).sum()), _STEPS * rows)

    def __repr__(self) -> str:
        asked, whole = len(self.answers), self.promise.answers
        return f"ReusableHoldout({self.promise.promise}, {asked} asked, {self.left} of {whole} holdout answers left)"
