r"""Scores on private rows: a release like any other, with an error bar, charged before rows are read.

Privacy. A row becomes a vector of whole numbers: (right, wrong) for a class, of length 1, or $(1, e^2/4, t, t^2)$ for a
target t between -1 and 1 that is missed by e, of length at most 2; it counts 1/m where its unit has m rows. One unit
more moves the sum of all by at most that in L2, under change-one by twice that. The score is computed from noisy sums.

In cross-validation each unit is in one of k folds, which random bits choose for each unit by itself. One unit more
takes part in the k - 1 trainings that leave other folds out, and in the score of its own fold: that is what is charged.
"""

from __future__ import annotations

import hashlib
import json
from fractions import Fraction
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from discreet.engines import Loan
from discreet.engines.bounded_rows import BoundedRows
from discreet.errors import ParameterError
from discreet.exact import integer
from discreet.ledgers import charge
from discreet.ledgers.pricing import price
from discreet.mechanisms.release import Release
from discreet.methods.learning.tabular.features import SCALE
from discreet.methods.learning.tabular.sums import noisy_sums, shares
from discreet.methods.learning.tabular.training import Goal, Step, Training, composed
from discreet.noise import SYSTEM, BitSource, uniform_integer
from discreet.privacy import ZCDP, Approximate, NeighborRelation

if TYPE_CHECKING:
    from typing import SupportsIndex

    from numpy.typing import NDArray

    from discreet.exact import Number
    from discreet.ledgers import Reservation

__all__ = ["cross_val_score", "right_and_wrong", "score_of"]

Trained: TypeAlias = Any
"""An estimator, and what is public about its training (`Told`): their module imports this one."""
Told: TypeAlias = Any


def right_and_wrong(model: Trained, rows: BoundedRows, task: Told) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Return the vector of each row that has a target, before it is scaled, and the places of these rows.

    >>> from discreet.methods.learning import LogisticRegression
    >>> from discreet.methods.learning.tabular.estimator import Task
    >>> x = np.linspace(-1, 1, 2000)[:, None]
    >>> model = LogisticRegression(epsilon=5, classes=["no", "yes"], bounds=(-1, 1))
    >>> model = model.fit(x, np.where(x[:, 0] > 0, "yes", "no"))
    >>> task = Task(model.features, model.target, Goal.of(rho=1))
    >>> declared = [feature.column for feature in (*task.features.columns, task.target)]
    >>> rows = BoundedRows.of({"x0": [0.9, 0.9], "y": ["yes", "no"]}, declared)
    >>> right_and_wrong(model, rows, task)[0].tolist()
    [[1.0, 0.0], [0.0, 1.0]]
    """
    target = task.target
    assert target is not None  # noqa: S101 - only what is supervised is scored
    predicted = model.predict(rows)
    if target.keys is not None:
        classes = model.classes_.tolist()
        places = np.array([classes.index(key) if key in classes else -1 for key in target.keys] + [-1])
        truth = places[rows.columns[target.name]]
        there = np.flatnonzero(truth >= 0)
        right = (np.array([classes.index(label) for label in predicted.tolist()], dtype=np.int64) == truth)[there]
        return np.column_stack([right, ~right]).astype(np.float64), there
    scaled = np.zeros((rows.units.size, 2))
    target.written(rows.columns[target.name], rows.missing[target.name], scaled[:, :1])
    target.written(predicted, np.zeros(predicted.size, dtype=bool), scaled[:, 1:])
    there = np.flatnonzero(~rows.missing[target.name])
    truth, guess = scaled[there].T
    return np.column_stack([np.ones(truth.size), (truth - guess) ** 2 / 4, truth, truth**2]), there


def _quotient(sums: NDArray[np.float64]) -> float:
    """Return the share that is right, or R²."""
    if sums.size == 2:
        return float(sums[0] / max(sums.sum(), 1.0))
    size = max(sums[0], 1.0)
    return float(1 - 4 * sums[1] / max(sums[3] - sums[2] ** 2 / size, 1e-3 * size))


def score_of(  # noqa: PLR0913 - each is a thing of its own
    model: Trained, rows: BoundedRows, task: Told, goal: Goal, *, share: Fraction, bits: BitSource
) -> tuple[float, float, Step]:
    """Return a noisy score, its standard deviation by the noise, and the step."""
    cells, there = right_and_wrong(model, rows, task)
    own = shares(rows.units[there])
    whole = np.trunc(np.trunc(cells * SCALE) * own[:, None])
    told: dict[str, Any] = {"length": SCALE * (1 if cells.shape[1] == 2 else 2), "goal": goal, "share": share}
    noisy, step = noisy_sums(whole, np.zeros(len(whole), dtype=np.int64), 1, **told, times=1, bits=bits, name="score")
    sums = noisy[0] / SCALE
    sigma = float(step.mechanism.sigma) / SCALE  # type: ignore[attr-defined]  # Gaussian
    moves = [(_quotient(sums + sigma * axis) - _quotient(sums - sigma * axis)) / 2 for axis in np.eye(sums.size)]
    least = 0.0 if sums.size == 2 else -1.0
    return min(max(_quotient(sums), least), 1.0), float(np.linalg.norm(moves)), step


def score_on_loan(model: Trained, loan: Loan, target: str | None, paid: dict[str, Number | None]) -> Release[float]:
    """Release the score of a trained model on a loan: R² or the share that is right, with its error by the noise."""
    task = model.task_of(loan, target)
    _same(model, task, loan)
    goal = _goal(loan, paid)
    empty = model.empty(task)

    def run(reservation: Reservation | None) -> Release[float]:
        rows = empty if reservation is None else loan.read(reservation)
        value, deviation, step = score_of(model, rows, task, goal, share=Fraction(1), bits=SYSTEM)
        return Release(value, Training("score", goal.claim, [step]), MappingProxyType({"deviation": deviation}))

    entry = loan.entry(
        json.dumps(["score", hashlib.sha256(model.to_json().encode()).hexdigest(), target, repr(goal.claim)])
    )
    return charge(loan.ledger, price(loan.ledger, run(None).mechanism), entry, run)


def cross_val_score(  # noqa: PLR0913 - each is a parameter of its own
    model: Trained,
    loan: Loan,
    *,
    target: str,
    cv: SupportsIndex = 5,
    epsilon: Number | None = None,
    delta: Number | None = None,
    rho: Number | None = None,
) -> Release[Any]:
    """Release how well a model does on rows that it was not trained on: one score for each of so many folds.

    Each training costs what the model's own parameters say, and the scores together what is given here. The release
    says what all of it costs one unit, which is in all trainings but one: the price of tuning by hand. Its ± is that of
    the mean of the scores.

    >>> import pyarrow as pa
    >>> from discreet.database import Database
    >>> from discreet.methods.learning import LogisticRegression
    >>> from discreet.tables import Column, Policy, Table
    >>> columns = [Column("age", lower=0, upper=100), Column("ill", keys=["no", "yes"])]
    >>> people = Table("people", unit="id", rows_per_unit=1, columns=columns)
    >>> age = np.arange(4000) % 100
    >>> data = {"people": pa.table({"id": np.arange(4000), "age": age, "ill": np.where(age > 50, "yes", "no")})}
    >>> with Database(Policy([people], epsilon=20, delta="1e-3"), data) as db:
    ...     loan = db.table("people").select("age", "ill").rows()
    ...     scores = cross_val_score(LogisticRegression(epsilon=3), loan, target="ill", cv=3, epsilon=1)
    >>> len(scores.value), min(scores.value) > 0.8
    (3, True)
    """
    folds = integer(cv, name="cv", least=2, most=100)
    if not isinstance(loan, Loan):
        msg = "cross_val_score pays for rows on loan; of rows that you hold scikit-learn's own is free."
        raise ParameterError(msg)
    if loan.neighbors is not NeighborRelation.ADD_REMOVE:
        msg = "cross-validation is proved here for units that are there or not; the policy's neighbors change a unit."
        raise ParameterError(msg)
    task, goal = model.task_of(loan, target), _goal(loan, {"epsilon": epsilon, "delta": delta, "rho": rho})
    empty = model.empty(task)

    def run(reservation: Reservation | None) -> Release[Any]:
        rows = empty if reservation is None else loan.read(reservation)
        return _folded(model, rows, task, goal, folds)

    entry = loan.entry(json.dumps(["cross_val_score", model.kind, model.described(), target, folds, repr(goal.claim)]))
    return charge(loan.ledger, price(loan.ledger, run(None).mechanism), entry, run)


def _folded(model: Trained, rows: BoundedRows, task: Told, goal: Goal, folds: int) -> Release[Any]:
    units = int(rows.units.max(initial=-1)) + 1
    fold = uniform_integer(folds, size=units)[rows.units] if units else np.zeros(0, dtype=np.int64)
    scores, deviations = [], []
    for number in range(folds):
        trained = model.trained(_part(rows, fold != number), task)
        score, deviation, step = score_of(
            trained, _part(rows, fold == number), task, goal, share=Fraction(1), bits=SYSTEM
        )
        scores.append(score)
        deviations.append(deviation)
    training = trained.release_.mechanism
    assert isinstance(training, Training)  # noqa: S101 - as of every estimator
    steps = [Step(one.name, one.mechanism, one.times * (folds - 1), one.rate) for one in training.steps] + [step]
    details = {"deviation": float(np.linalg.norm(deviations) / folds), "folds": folds}
    promise = Training("cross_val_score", _claim(task.goal, goal, steps), steps)
    return Release(scores, promise, MappingProxyType(details))


def _claim(training: Goal, scoring: Goal, steps: list[Step]) -> Approximate | ZCDP:
    """Return what steps cost together: as rho where both prices are, else at the sum of the deltas."""
    curve, neighbors = composed(steps), training.claim.neighbors
    if isinstance(training.claim, ZCDP) and isinstance(scoring.claim, ZCDP):
        return ZCDP(Fraction(curve.zcdp()), neighbors=neighbors)
    delta = sum((goal.claim.delta for goal in (training, scoring) if isinstance(goal.claim, Approximate)), Fraction(0))
    return Approximate(Fraction(curve.epsilon(delta)), delta, neighbors=neighbors)


def _part(rows: BoundedRows, chosen: NDArray[np.bool_]) -> BoundedRows:
    """Return the rows of some units."""
    _, units = np.unique(rows.units[chosen], return_inverse=True)
    cells = {name: (rows.columns[name][chosen], rows.missing[name][chosen]) for name in rows.schema}
    return BoundedRows(
        cells,
        rows.schema,
        units.astype(np.int64),
        rows_per_unit=rows.rows_per_unit,
        unit_kind=rows.unit_kind,
        neighbors=rows.neighbors,
    )


def _goal(loan: Loan, paid: dict[str, Number | None]) -> Goal:
    delta = paid["delta"] if paid["delta"] is not None or paid["rho"] is not None else loan.release_delta
    return Goal.of(epsilon=paid["epsilon"], delta=delta, rho=paid["rho"], neighbors=loan.neighbors)


def _same(model: Trained, task: Told, loan: Loan) -> None:
    """Refuse a loan on which the model means something else."""
    model.features.require(loan.schema)
    if model.target != task.target:
        msg = "the target of the loan has other bounds or keys than the one that the model was trained for."
        raise ParameterError(msg)
