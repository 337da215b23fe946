"""Membership inference: tell from a trained model who was in its training set."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
from scipy.special import log_ndtr

from discreet.checks.attacks.outcome import Outcome
from discreet.errors import ParameterError
from discreet.exact import integer, shown
from discreet.noise import SYSTEM, BitSource, subset

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from matplotlib.axes import Axes
    from numpy.typing import ArrayLike, NDArray

__all__ = ["Estimator", "Inference", "Membership", "infer_membership"]

LEAST_CHANCE = 1e-12
LEAST_SPREAD = 1e-3
FEW_SHADOWS = 64


class Estimator(Protocol):
    """What is attacked: a classifier with `fit` and `predict_proba`, as scikit-learn's.

    >>> hasattr(Estimator, "predict_proba")
    True
    """

    def fit(self, X: Any, y: Any) -> Any:  # noqa: ANN401, N803 - scikit-learn's names
        """Train on examples and their classes."""

    def predict_proba(self, X: Any) -> Any:  # noqa: ANN401, N803 - likewise
        """Give each example's chances, a column for each class in sorted order."""


class Inference(StrEnum):
    """How an example's score is made.

    >>> Inference("lira-online") is Inference.ONLINE
    True
    """

    LOSS = "loss"
    """Small loss means in; no shadow models. Yeom et al. 2018 (arXiv:1709.01604), section 3.3."""
    ONLINE = "lira-online"
    """The likelihood ratio of models with and without the example. Carlini et al. 2022, algorithm 1."""
    OFFLINE = "lira-offline"
    """How unlikely the model is among those without the example. Carlini et al. 2022, section V-C."""


@dataclass(frozen=True)
class Membership:
    """A score for each example, larger where it was rather in, and whether it was.

    >>> found = Membership(Inference.LOSS, np.array([3.0, 2.0, 1.0, 0.0]), np.array([True, True, False, False]))
    >>> found.tpr(0), found.auc
    (1.0, 1.0)
    """

    inference: Inference
    scores: NDArray[np.float64]
    members: NDArray[np.bool_]

    def __post_init__(self) -> None:
        if len(self.scores) != len(self.members) or not self.members.any() or self.members.all():
            msg = "scores and members must be equally many, some of them members and some not."
            raise ParameterError(msg)
        if np.isnan(self.scores).any():
            msg = "scores must be numbers; a model without scores cannot be attacked this way."
            raise ParameterError(msg)

    @property
    def roc(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """False and true positive rates of all thresholds, from none in to all in; equal scores go together.

        >>> scores, members = np.array([1.0, 1.0, 0.0]), np.array([True, False, False])
        >>> [rates.tolist() for rates in Membership(Inference.LOSS, scores, members).roc]
        [[0.0, 0.5, 1.0], [0.0, 1.0, 1.0]]
        """
        order = np.argsort(-self.scores, kind="stable")
        ends = np.append(np.flatnonzero(np.diff(self.scores[order])), len(order) - 1)
        hits = np.cumsum(self.members[order])[ends]
        alarms = ends + 1 - hits
        rates = (alarms / (~self.members).sum(), hits / self.members.sum())
        return np.append(0.0, rates[0]), np.append(0.0, rates[1])

    def tpr(self, fpr: float) -> float:
        """Return the largest true positive rate of a threshold whose false positive rate is at most `fpr`.

        >>> Membership(Inference.LOSS, np.array([1.0, 0.5, 0.0]), np.array([True, False, True])).tpr(0.001)
        0.5
        """
        if not 0 <= fpr <= 1:
            msg = f"fpr is {shown(fpr)}; it must be a rate from 0 to 1, such as 0.001."
            raise ParameterError(msg)
        alarms, hits = self.roc
        return float(hits[alarms <= fpr].max())

    @property
    def auc(self) -> float:
        """The area under the curve: the chance that a member's score is above another's, ties counted half.

        >>> Membership(Inference.LOSS, np.array([1.0, 1.0]), np.array([True, False])).auc
        0.5
        """
        alarms, hits = self.roc
        return float(np.sum(np.diff(alarms) * (hits[1:] + hits[:-1]) / 2))

    @property
    def outcome(self) -> Outcome:
        """How many are told right if as many are said to be in as were, and what is told nearly for certain.

        >>> Membership(Inference.LOSS, np.array([1.0, 0.0]), np.array([True, False])).outcome.share
        1.0
        """
        many = int(self.members.sum())
        said = np.zeros(len(self.scores), dtype=np.bool_)
        said[np.argsort(-self.scores, kind="stable")[:many]] = True
        share = many / len(self.scores)
        note = f"area {self.auc:.3f}, true positives at 1 % false ones {100 * self.tpr(0.01):.1f} %"
        right = int((said == self.members).sum())
        return Outcome(f"membership by {self.inference}", len(said), right, max(share, 1 - share), note)

    def outliers(self, many: int = 10) -> NDArray[np.int64]:
        """Return the examples with the largest scores: as a rule only what is unlike the rest is found for certain.

        >>> Membership(Inference.LOSS, np.array([1.0, 7.0]), np.array([True, False])).outliers(1).tolist()
        [1]
        """
        return np.argsort(-self.scores, kind="stable")[:many]

    def plot(self, axes: Axes | None = None) -> Axes:
        """Draw true against false positive rates, both on a log scale, beside guessing (needs the extra `plot`).

        >>> Membership(Inference.LOSS, np.array([1.0, 0.0]), np.array([True, False])).plot().get_xscale()
        'log'
        """
        if axes is None:
            from matplotlib.figure import Figure

            axes = Figure().subplots()
        alarms, hits = self.roc
        least = 0.5 / len(self.scores)
        axes.plot(np.maximum(alarms, least), np.maximum(hits, least), drawstyle="steps-post", label=str(self.inference))
        axes.plot([least, 1], [least, 1], linestyle=":", color="gray", label="guessing")
        axes.set_xscale("log")
        axes.set_yscale("log")
        axes.set_xlabel("false positive rate")
        axes.set_ylabel("true positive rate")
        axes.legend(loc="lower right")
        return axes


def infer_membership(  # noqa: PLR0913 - each is a thing of its own
    build: Callable[[], Estimator],
    X: ArrayLike,  # noqa: N803 - scikit-learn's name
    y: ArrayLike,
    *,
    inference: Inference | str = Inference.ONLINE,
    shadows: int = FEW_SHADOWS,
    bits: BitSource = SYSTEM,
) -> Membership:
    """Train a model on a random half of the examples, and tell which half it was from the model's chances alone.

    `build` makes an untrained estimator, such as LogisticRegression itself. Shadow models are trained as the target
    is, each on a random half. Of each model and example, phi = ln(p / (1 - p)) with p the chance of the true class.

    Carlini, Chien, Nasr, Song, Terzis, Tramer 2022, "Membership inference attacks from first principles"
    (arXiv:2112.03570): phi is nearly normal, so online the score is ln N(phi; in) - ln N(phi; out), with the means of
    the example's own shadow models; offline, that of Pr[Z < phi] among the models without it. With fewer than 64
    shadow models the spreads are those of all examples together, as section VI-B there advises.

    >>> class Memory:
    ...     def fit(self, X, y):
    ...         self.seen = set(X[:, 0])
    ...     def predict_proba(self, X):
    ...         sure = np.array([0.9 if x in self.seen else 0.6 for x in X[:, 0]])
    ...         return np.column_stack([1 - sure, sure])
    >>> X = np.arange(40).reshape(-1, 1)
    >>> infer_membership(Memory, X, X[:, 0] % 2, shadows=60).tpr(0)
    1.0
    """
    way = _inference(inference)
    examples, classes = np.asarray(X), np.asarray(y)
    total = len(classes)
    if len(examples) != total or total < 4:
        msg = f"X has {len(examples)} examples and y {total}; they must be equally many, at least 4."
        raise ParameterError(msg)
    if len(np.unique(classes)) < 2:
        msg = "y has one class; a classifier needs two, and examples of each."
        raise ParameterError(msg)
    trained = _models(build, examples, classes, bits)
    members, target = next(trained)
    if way is Inference.LOSS:
        return Membership(way, target, members)
    count = integer(shadows, name="shadows", least=4)
    inside, phi = map(np.array, zip(*(next(trained) for _ in range(count)), strict=True))
    out_mean, out_spread = _normal(phi, ~inside, pooled=count < FEW_SHADOWS)
    if way is Inference.OFFLINE:
        return Membership(way, log_ndtr((target - out_mean) / out_spread), members)
    in_mean, in_spread = _normal(phi, inside, pooled=count < FEW_SHADOWS)
    score = ((target - out_mean) / out_spread) ** 2 / 2 - ((target - in_mean) / in_spread) ** 2 / 2
    return Membership(way, score + np.log(out_spread / in_spread), members)


def _inference(inference: Inference | str) -> Inference:
    try:
        return Inference(inference)
    except ValueError:
        msg = f"inference is {str(inference)[:40]!r}; it must be one of {', '.join(Inference)}."
        raise ParameterError(msg) from None


def _models(
    build: Callable[[], Estimator], examples: NDArray[Any], classes: NDArray[Any], bits: BitSource
) -> Iterator[tuple[NDArray[np.bool_], NDArray[np.float64]]]:
    """Train model after model, each on a random half; give who was in, and every example's phi."""
    total = len(classes)
    while True:
        inside = np.zeros(total, dtype=np.bool_)
        inside[subset(total, total // 2, bits)] = True
        model = build()
        if not hasattr(model, "predict_proba"):
            msg = f"build makes a {type(model).__name__} without predict_proba; a model without scores is not attacked."
            raise ParameterError(msg)
        try:
            model.fit(examples[inside], classes[inside])
            chances = np.asarray(model.predict_proba(examples), dtype=np.float64)
        except Exception as error:
            msg = (
                f"build makes a {type(model).__name__} that raised {type(error).__name__}; it must train on any "
                "half of the examples, and give chances of all."
            )
            raise ParameterError(msg) from error
        known = np.asarray(getattr(model, "classes_", np.unique(classes[inside])))
        if chances.shape != (total, len(known)):
            msg = f"predict_proba gives {chances.shape}; it must give {total} rows with {len(known)} chances each."
            raise ParameterError(msg)
        right = (chances * (classes[:, None] == known)).sum(axis=1)  # a class that was not trained has chance 0
        right = np.clip(right, LEAST_CHANCE, 1 - LEAST_CHANCE)
        yield inside, np.log(right) - np.log1p(-right)


def _normal(
    phi: NDArray[np.float64], counted: NDArray[np.bool_], *, pooled: bool
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return each example's mean and standard deviation over the models that count for it; of none, over all."""
    many = counted.sum(axis=0)
    whole = phi.mean()
    mean = np.where(many > 0, (phi * counted).sum(axis=0) / np.maximum(many, 1), whole)
    squares = ((phi - mean) ** 2 * counted).sum(axis=0)
    if pooled:
        spread = np.full(len(mean), np.sqrt(squares.sum() / max(int(many.sum()), 1)))
    else:
        spread = np.sqrt(squares / np.maximum(many, 1))
    return mean, np.maximum(spread, LEAST_SPREAD)
