"""What all estimators share: parameters, data with their public facts, charging, and a model that is a release."""

from __future__ import annotations

import inspect
import json
import sys
import zipfile
from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from discreet.engines import Loan
from discreet.engines.bounded_rows import BoundedRows
from discreet.errors import ParameterError
from discreet.exact import shown
from discreet.ledgers import Entry, charge
from discreet.ledgers.pricing import price
from discreet.mechanisms.release import Release
from discreet.methods.learning.tabular.features import Feature, Features, columns_of, declared
from discreet.methods.learning.tabular.training import Goal, Training
from discreet.noise import SYSTEM, BitSource
from discreet.privacy import NeighborRelation

if TYPE_CHECKING:
    from typing import Self

    from numpy.typing import NDArray

    from discreet.exact import Number
    from discreet.ledgers import Ledger, Reservation
    from discreet.privacy import Curve
    from discreet.privacy.relations import Relation
    from discreet.tables import Column

__all__ = ["Estimator", "Task", "load"]

_ARRAY_DELTA = "1e-6"
_VERSION = 1
KINDS: dict[str, type[Estimator]] = {}
"""Estimators by the name that a model's file carries."""


@dataclass(frozen=True, slots=True)
class Task:
    """What is public about a training: the features, the target, the price.

    >>> Task(Features((Feature("x", 0, 1),)), None, Goal.of(rho=1)).features.width
    2
    """

    features: Features
    target: Feature | None
    goal: Goal

    @property
    def names(self) -> list[str]:
        """The columns that are read."""
        return [feature.name for feature in (*self.features.columns, *filter(None, [self.target]))]


@dataclass(eq=False, repr=False)
class Estimator(ABC):
    """A model in scikit-learn's way, whose training is one charged release.

    `epsilon` with `delta`, or `rho`, is the price of the whole training. Without a delta it is the policy's
    `release_delta` on a loan, and 1e-6 on arrays. Bounds and keys come from the policy, or are given: `bounds` for the
    numbers of an array, or `columns`, a list of `Column`. Nothing about them is read from the data.

    >>> sorted(Estimator.__abstractmethods__)
    ['_fitted', '_target']
    """

    kind: ClassVar[str]
    supervised: ClassVar[bool] = True
    sort: ClassVar[str | None] = None
    """What scikit-learn calls such an estimator: classifier, regressor, clusterer, transformer."""

    epsilon: Number | None = None
    delta: Number | None = None
    rho: Number | None = field(default=None, kw_only=True)
    bounds: object = field(default=None, kw_only=True)
    columns: object = field(default=None, kw_only=True)
    neighbors: Relation = field(default=NeighborRelation.ADD_REMOVE, kw_only=True)
    release_: Release[Any] = field(init=False)

    def __init_subclass__(cls) -> None:
        """Register the kind, so that a model's file finds its class."""
        if "kind" in cls.__dict__:
            KINDS[cls.kind] = cls

    @abstractmethod
    def _target(self, facts: Feature | None) -> Feature | None:
        """Return what is public about the target, from a policy's facts or, without them, the parameters."""

    @abstractmethod
    def _fitted(self, rows: BoundedRows, task: Task, bits: BitSource) -> tuple[dict[str, Any], Training]:
        """Train; return what is released, and what it promises."""

    # What scikit-learn asks of an estimator.

    @classmethod
    def _names(cls) -> list[str]:
        return [name for name in inspect.signature(cls.__init__).parameters if name != "self"]

    def get_params(self, deep: bool = True) -> dict[str, Any]:  # noqa: FBT001, FBT002, ARG002 - scikit-learn's signature
        """Return the parameters by name."""
        return {name: getattr(self, name) for name in self._names()}

    def set_params(self, **params: Any) -> Self:  # noqa: ANN401 - as they are given
        """Set parameters by name."""
        for name, value in params.items():
            if name not in self._names():
                msg = f"there is no parameter {shown(name)}; there are {', '.join(self._names())}."
                raise ParameterError(msg)
            setattr(self, name, value)
        return self

    def __sklearn_tags__(self) -> Any:  # noqa: ANN401 - scikit-learn asks, and so is there
        """Tell scikit-learn what kind of estimator this is."""
        from sklearn.utils import ClassifierTags, InputTags, RegressorTags, Tags, TargetTags, TransformerTags

        return Tags(
            estimator_type=self.sort if self.sort != "transformer" else None,
            target_tags=TargetTags(required=self.supervised),
            transformer_tags=TransformerTags() if hasattr(self, "transform") else None,
            classifier_tags=ClassifierTags() if self.sort == "classifier" else None,
            regressor_tags=RegressorTags() if self.sort == "regressor" else None,
            input_tags=InputTags(allow_nan=True),
            non_deterministic=True,
        )

    def __sklearn_is_fitted__(self) -> bool:
        """Tell scikit-learn whether the model was trained."""
        return hasattr(self, "release_")

    def __repr__(self) -> str:
        defaults = inspect.signature(type(self).__init__).parameters
        told = [f"{name}={value!r}" for name, value in self.get_params().items() if value is not defaults[name].default]
        return f"{type(self).__name__}({', '.join(told)})"

    # Training.

    def fit(  # noqa: PLR0913 - each is a thing of its own
        self,
        X: Any,  # noqa: ANN401, N803 - scikit-learn's name; a loan, an array or a data frame
        y: Any = None,  # noqa: ANN401 - an array
        *,
        target: str | None = None,
        units: object = None,
        rows_per_unit: int = 1,
        ledger: Ledger | None = None,
    ) -> Self:
        """Train on a loan of a database, which is charged, or on arrays, which charge `ledger` if there is one.

        `target` names the column that is learned, of a loan or of a data frame. `units` says whose each row is; without
        it, each row is a unit of its own. A unit weighs 1, however many rows it has.
        """
        if isinstance(X, Loan):
            return self._fit_loan(X, target, given=(y, units, ledger))
        task, table = self._read(X, y, target)
        neighbors = self.neighbors

        def run(paid: Reservation | None) -> Release[Any]:
            del paid
            columns = [feature.column for feature in (*task.features.columns, *filter(None, [task.target]))]
            rows = BoundedRows.of(table, columns, units=units, rows_per_unit=rows_per_unit, neighbors=neighbors)
            return self._released(rows, task, SYSTEM)

        if ledger is None:
            self.release_ = run(None)
        else:
            entry = Entry(
                "", tuple(table.name for table in ledger.policy.tables), kind="method", asked=f"{self.kind} on arrays"
            )
            self.release_ = charge(ledger, price(ledger, self._plan(task)), entry, run)
        return self._learned()

    def _fit_loan(self, loan: Loan, target: str | None, given: tuple[object, ...]) -> Self:
        if any(thing is not None for thing in given):
            msg = "a loan brings its target, units and ledger; give fit(loan, target='income') alone."
            raise ParameterError(msg)
        if self.bounds is not None or self.columns is not None:
            msg = "bounds and columns of a loan are those of its policy; leave them out."
            raise ParameterError(msg)
        task = self.task_of(loan, target)
        entry = loan.entry(json.dumps([self.kind, self.described(), target]))

        def run(paid: Reservation) -> Release[Any]:
            return self._released(loan.read(paid), task, SYSTEM)

        self.release_ = charge(loan.ledger, price(loan.ledger, self._plan(task)), entry, run)
        return self._learned()

    def task_of(self, loan: Loan, target: str | None) -> Task:
        """Return what is public about a training on a loan."""
        listed = {name: Feature.of(name, facts) for name, facts in loan.schema.items()}
        aim = self._aim(listed, target)
        features = Features(tuple(feature for name, feature in listed.items() if name != target or aim is None))
        return Task(features, aim, self._goal(loan.release_delta, loan.neighbors))

    def described(self) -> str:
        """Return all parameters as text: what makes two trainings on the same rows the same."""
        return repr(self)

    def _aim(self, listed: dict[str, Feature], target: str | None) -> Feature | None:
        if not self.supervised:
            return None
        if target is None or target not in listed:
            msg = f"target is {shown(target)}; it must name one of the columns: {', '.join(listed)}."
            raise ParameterError(msg)
        return self._target(listed[target])

    def _goal(self, delta: object, neighbors: Relation) -> Goal:
        chance = self.delta if self.delta is not None or self.rho is not None else delta
        return Goal.of(epsilon=self.epsilon, delta=chance, rho=self.rho, neighbors=neighbors)  # type: ignore[arg-type]

    def _read(self, X: Any, y: Any, target: str | None) -> tuple[Task, dict[str, object]]:  # noqa: ANN401, N803
        """Read arrays, or a data frame with its target in it."""
        features = declared(self.bounds, self.columns, X if target is None else _without(X, target))
        features = tuple(feature for feature in features if feature.name != target)
        table = columns_of(X if target is None else {f.name: X[f.name] for f in features}, features)
        aim = None
        if self.supervised:
            if (y is None) == (target is None):
                msg = (
                    "training requires y to be passed, but the target y is None; or name the column of X that is the "
                    "target: exactly one of them."
                )
                raise ParameterError(msg)
            named = [column for column in self.columns or () if column.name == target]  # type: ignore[attr-defined]
            aim = self._target(_declared_target(named[0]) if named else None)
            assert aim is not None  # noqa: S101 - a supervised estimator has one
            aim = Feature(_free(aim.name if target is None else target, table), aim.lower, aim.upper, aim.keys)
            table[aim.name] = y if target is None else X[target]
        return Task(Features(features), aim, self._goal(_ARRAY_DELTA, self.neighbors)), table

    def _released(self, rows: BoundedRows, task: Task, bits: BitSource) -> Release[Any]:
        value, training = self._fitted(rows, task, bits)
        public = {"model": self.kind, "version": _VERSION, "features": task.features.record()}
        if task.target is not None:
            public["target"] = task.target.record()
        return Release({**public, **value}, training)

    def _plan(self, task: Task) -> Training:
        """Return what a training will promise: that of no rows at all, as it depends on public facts alone."""
        return self._fitted(self.empty(task), task, SYSTEM)[1]

    def empty(self, task: Task) -> BoundedRows:
        """Return no rows at all, of the columns of a task."""
        columns = [feature.column for feature in (*task.features.columns, *filter(None, [task.target]))]
        return BoundedRows.of({column.name: [] for column in columns}, columns, neighbors=task.goal.claim.neighbors)

    def trained(self, rows: BoundedRows, task: Task) -> Self:
        """Return a copy that is trained on bounded rows; whoever has them charges for it."""
        model = type(self)(**self.get_params())
        model.release_ = self._released(rows, task, SYSTEM)
        return model._learned()  # noqa: SLF001 - of its own kind

    def _learned(self) -> Self:
        """Set what is learned from the released value; scikit-learn's names end in _."""
        self.n_features_in_ = len(self.features.columns)
        self.feature_names_in_ = np.array([feature.name for feature in self.features.columns], dtype=object)
        return self

    # The fitted model.

    @property
    def features(self) -> Features:
        """The columns that the model reads."""
        return Features.read(self._value["features"])

    @property
    def target(self) -> Feature | None:
        """The column that the model predicts."""
        record = self._value.get("target")
        return None if record is None else Feature.read(record)

    @property
    def _value(self) -> dict[str, Any]:
        if not hasattr(self, "release_"):
            msg = f"this {type(self).__name__} was not trained; call fit first."
            raise _untrained()(msg)
        value: dict[str, Any] = self.release_.value
        return value

    def _matrix(self, X: object) -> NDArray[np.float64]:  # noqa: N803 - scikit-learn's name
        """Return the rows to predict for as the model sees them: vectors of length 1."""
        features = self.features
        rows = _plain(features, X)
        lengths = np.sqrt((rows**2).sum(axis=1))
        scaled: NDArray[np.float64] = rows / np.maximum(lengths, 1e-300)[:, None]
        return scaled

    @property
    def privacy(self) -> Curve:
        """What the training promises."""
        _ = self._value
        return self.release_.privacy

    def explain(self) -> str:
        """Say what is promised, why, what was assumed and what was charged."""
        _ = self._value
        return self.release_.explain()

    def score(  # noqa: PLR0913 - each is a parameter of its own
        self,
        X: object,  # noqa: N803 - scikit-learn's name
        y: object = None,
        *,
        target: str | None = None,
        epsilon: Number | None = None,
        delta: Number | None = None,
        rho: Number | None = None,
    ) -> Any:  # noqa: ANN401 - a number, or a release of one
        """Return the share of rows whose class is predicted, or of the variance that is explained (R²).

        Of rows that you hold it is a plain number, and free. Of a loan it is a release with a ±, for the price that is
        given; `target` names the column.
        """
        if isinstance(X, Loan):
            from discreet.methods.learning.tabular.scoring import score_on_loan

            return score_on_loan(self, X, target, {"epsilon": epsilon, "delta": delta, "rho": rho})
        if y is None or any(given is not None for given in (target, epsilon, delta, rho)):
            msg = "give score(X, y); a target and a price belong to a loan."
            raise ParameterError(msg)
        return self._plain_score(X, y)

    def _plain_score(self, X: object, y: object) -> float:  # noqa: N803
        raise NotImplementedError

    def card(self) -> dict[str, Any]:
        """Return what whoever uses the model should know: the promise, the bounds, about how many units there were."""
        value = self._value
        return {
            "model": type(self).__name__,
            "promise": self.release_.mechanism.promise,
            "neighbors": self.release_.mechanism.neighbors.value,
            "charged": None if self.release_.charged is None else repr(self.release_.charged),
            "features": value["features"],
            "target": value.get("target"),
            "units, with noise": value.get("size"),
            "assumed": list(self.release_.mechanism.assumed),
            "error": "score it on rows that it was not trained on; a score on private rows is a release of its own.",
        }

    def to_json(self) -> str:
        """Write the model with its promise; `load` reads it."""
        _ = self._value
        return self.release_.to_json()

    def save(self, path: str | Path) -> None:
        """Write the model to a file: as JSON, or where its name ends in .npz compressed, as an archive of NumPy's."""
        text, file = self.to_json(), Path(path)
        if file.suffix == ".npz":
            np.savez_compressed(file, release=np.frombuffer(text.encode(), dtype=np.uint8))
        else:
            file.write_text(text, encoding="utf-8")


def load(path: str | Path) -> Estimator:
    """Read a model that `save` wrote, or the text of `to_json`.

    >>> load("{}")
    Traceback (most recent call last):
    ...
    discreet.errors.ParameterError: this text is no release (KeyError: 'mechanism'); take what to_json wrote.
    """
    release = Release.from_json(_text(path))
    value = release.value
    kind = value.get("model") if isinstance(value, dict) else None
    if kind not in KINDS:
        msg = f"this release is no model of a kind that is known here ({', '.join(KINDS)}); a newer version wrote it."
        raise ParameterError(msg)
    if value.get("version") != _VERSION:
        written = shown(value.get("version"))
        msg = f"the model is written in version {written}; this version of discreet reads {_VERSION}. Update discreet."
        raise ParameterError(msg)
    model = KINDS[kind]()
    model.release_ = release
    return model._learned()  # noqa: SLF001 - of its own family


def _untrained() -> type[ParameterError]:
    """Return an error that scikit-learn, where it is used, takes for its own."""
    if "sklearn" not in sys.modules:
        return ParameterError
    from sklearn.exceptions import NotFittedError

    return type("NotFittedError", (ParameterError, NotFittedError), {})


def _text(path: str | Path) -> str:
    """Read a file, or take the text that is given; nothing is ever unpickled."""
    if str(path).lstrip().startswith("{"):
        return str(path)
    try:
        if Path(path).suffix == ".npz":
            with np.load(path, allow_pickle=False) as archive:
                return bytes(archive["release"]).decode()
        return Path(path).read_text(encoding="utf-8")
    except (KeyError, ValueError, zipfile.BadZipFile):
        msg = f"{str(path)!r} is no model; take a file that `save` wrote."
        raise ParameterError(msg) from None


def _plain(features: Features, X: object) -> NDArray[np.float64]:  # noqa: N803
    return features.matrix(features.rows(X))


def _without(X: Any, target: str) -> Any:  # noqa: ANN401, N803
    if hasattr(X, "columns") or isinstance(X, dict):
        return {str(name): X[name] for name in X if name != target}
    msg = "target names a column of a data frame or of a mapping; give y beside an array."
    raise ParameterError(msg)


def _declared_target(column: Column) -> Feature:
    """Read a declared target."""
    if column.keys is not None:
        return Feature(column.name, keys=tuple(column.keys))
    return Feature(column.name, column.bounds.lower, column.bounds.upper)


def _free(name: str, table: dict[str, object]) -> str:
    while name in table:
        name += "_"
    return name
