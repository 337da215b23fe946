"""Membership is found in a model that remembers, not in one that does not; scores follow the paper's formulas."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.stats import norm

from discreet.checks.attacks import Inference, Membership, infer_membership
from discreet.checks.attacks.membership import _normal
from discreet.checks.attacks.tracing import predicted_tracing, trace_mean
from discreet.errors import ParameterError
from tests.noise.replay import ReplayBits


class Neighbors:
    """A classifier by distances to what it was trained on; it remembers as much as its width is small."""

    def __init__(self, width: float) -> None:
        self.width = width

    def fit(self, X: Any, y: Any) -> None:  # noqa: ANN401, N803
        self.X, self.y = np.asarray(X), np.asarray(y)
        self.classes_ = np.unique(self.y)

    def predict_proba(self, X: Any) -> Any:  # noqa: ANN401, N803
        far = ((np.asarray(X)[:, None] - self.X[None]) ** 2).sum(axis=2)
        weights = np.exp(-far / self.width**2)
        votes = np.stack([(weights * (self.y == one)).sum(axis=1) for one in self.classes_], axis=1) + 1e-3
        return votes / votes.sum(axis=1, keepdims=True)


class Broken:
    """A classifier that cannot be trained."""

    def fit(self, X: Any, y: Any) -> None:  # noqa: ANN401, ARG002, N803
        raise IndexError

    def predict_proba(self, X: Any) -> Any:  # noqa: ANN401, N803
        return X


def examples(many: int = 200) -> tuple[Any, Any]:
    """Make two clusters, and a tenth that lies scattered around them: the outliers."""
    chance = np.random.default_rng(0)
    y = np.arange(many) % 2
    points = chance.normal(size=(many, 3)) + 3 * y[:, None]
    points[-many // 10 :] = chance.uniform(-12, 12, size=(many - many * 9 // 10, 3))
    return points, y


@pytest.mark.parametrize("inference", list(Inference))
def test_a_model_that_remembers_gives_members_away(inference: Inference) -> None:
    found = infer_membership(lambda: Neighbors(0.5), *examples(), inference=inference, shadows=24, bits=ReplayBits(1))
    assert found.auc > 0.65
    assert found.outcome.advantage > 0.1


def test_a_model_that_does_not_remember_gives_nobody_away() -> None:
    """Of 200 examples half are in: for scores that say nothing, the area has s = 1/sqrt(12 * 50); 1e-9 is 6 s."""
    found = infer_membership(lambda: Neighbors(100.0), *examples(), inference="loss", bits=ReplayBits(1))
    assert abs(found.auc - 0.5) < 6 / np.sqrt(600)


def test_lira_finds_outliers_for_certain() -> None:
    found = infer_membership(lambda: Neighbors(1.0), *examples(), shadows=32, bits=ReplayBits(2))
    assert np.mean(found.outliers(8) >= 180) > 0.5  # a tenth of all, and half of the most exposed
    assert found.tpr(0.01) > 0.05


def test_scores_are_the_papers() -> None:
    """The likelihood ratio of two normal laws, worked out by SciPy, from the same models."""
    chance = np.random.default_rng(3)
    phi, inside = chance.normal(size=(80, 5)), chance.random((80, 5)) < 0.5
    for pooled in (False, True):
        mean, spread = _normal(phi, inside, pooled=pooled)
        assert mean == pytest.approx([phi[inside[:, i], i].mean() for i in range(5)])
        apart = np.concatenate([phi[inside[:, i], i] - mean[i] for i in range(5)])
        own = np.array([phi[inside[:, i], i].std() for i in range(5)])
        assert spread == pytest.approx(np.full(5, apart.std()) if pooled else own, rel=1e-6)
    points, y = examples(40)
    online = infer_membership(lambda: Neighbors(0.7), points, y, shadows=70, bits=ReplayBits(4))
    target, inner = Neighbors(0.7), []
    bits = ReplayBits(4)
    from discreet.noise import subset

    for _ in range(71):
        half = subset(40, 20, bits)
        target.fit(points[half], y[half])
        p = target.predict_proba(points)[np.arange(40), y]
        inner.append((np.isin(np.arange(40), half), np.log(p / (1 - p))))
    (members, own_phi), shadows = inner[0], inner[1:]
    assert (online.members == members).all()
    for example in range(40):
        sides = [[phi[example] for half, phi in shadows if half[example] == side] for side in (True, False)]
        laws = [norm(np.mean(side), max(np.std(side), 1e-3)) for side in sides]
        score = laws[0].logpdf(own_phi[example]) - laws[1].logpdf(own_phi[example])
        assert online.scores[example] == pytest.approx(score, rel=1e-6, abs=1e-6)


def test_rates_are_counted_by_hand() -> None:
    found = Membership(
        Inference.LOSS, np.array([5.0, 4, 4, 3, 2, 1]), np.array([True, True, False, False, True, False])
    )
    assert [found.tpr(rate) for rate in (0, 0.33, 0.34, 0.7, 1)] == pytest.approx([1 / 3, 1 / 3, 2 / 3, 1, 1])
    assert found.auc == pytest.approx((3 + 2.5 + 1) / 9)
    assert found.plot().get_yscale() == "log"


@pytest.mark.parametrize("factor", [0.1, 0.5, 2])
def test_tracing_works_below_the_square_root_of_k_by_n(factor: float) -> None:
    """The theorem's sigma in units of sqrt(k) / n; 200 guesses, correlated through one mean, at far more than 6 s."""
    found = trace_mean(100, 20_000, factor * 20_000**0.5 / 100, bits=ReplayBits(0))
    assert found.outcome.share == pytest.approx(found.predicted, abs=0.22)
    assert found.predicted == predicted_tracing(100, 20_000, factor * 20_000**0.5 / 100)
    assert found.outcome.share > 0.9 if factor == 0.1 else True
    assert found.outcome.share < 0.85 if factor == 2 else True


@pytest.mark.parametrize(
    "call, message",
    [
        (lambda x, y: infer_membership(object, x, y), "without predict_proba"),  # type: ignore[arg-type]
        (lambda x, y: infer_membership(lambda: Neighbors(1), x[:3], y), "X has 3 examples"),
        (lambda x, y: infer_membership(lambda: Neighbors(1), x, 0 * y), "one class"),
        (lambda x, y: infer_membership(lambda: Neighbors(1), x, y, shadows=2), "shadows is 2"),
        (lambda x, y: infer_membership(lambda: Neighbors(1), x, y, inference="x"), "inference is 'x'"),
        (lambda _, y: Membership(Inference.LOSS, np.ones(len(y)), y >= 0), "some of them members"),
        (lambda _, y: Membership(Inference.LOSS, np.full(len(y), np.nan), y > 0), "without scores"),
        (lambda x, y: infer_membership(Broken, x, y), "a Broken that raised IndexError"),
        (lambda *_: Membership(Inference.LOSS, np.ones(2), np.array([True, False])).tpr(-0.1), "fpr is -0.1"),
        (lambda *_: trace_mean(9, 9, -1.0), "sigma is -1"),
        (lambda *_: trace_mean(9, 9, float("nan")), "sigma is nan"),
        (lambda *_: predicted_tracing(0, 9, 1), "people is 0"),
    ],
)
def test_mistakes_are_named(call: Any, message: str) -> None:  # noqa: ANN401 - a call
    with pytest.raises(ParameterError, match=message):
        call(*examples(40))
