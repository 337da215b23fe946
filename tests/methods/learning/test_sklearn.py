"""scikit-learn's own checks: which an estimator fails, and why it must."""

from __future__ import annotations

from typing import Any

import pytest

from discreet.methods.learning import (
    PATE,
    PCA,
    AdditiveModel,
    GaussianNB,
    KMeans,
    LinearRegression,
    LinearSVC,
    LogisticRegression,
    PrivateSearch,
    RandomDecisionTrees,
    RandomForest,
    StandardScaler,
)

pytest.importorskip("sklearn")

NOISE = "training is random: the same rows give another model, and few rows at this price a useless one"
TOTAL = "no error depends on what a cell holds, or on how many rows there are"
WORDS = "it is refused, in other words than scikit-learn looks for"
EXCEPTIONS = {
    "check_fit_idempotent": NOISE,
    "check_classifier_data_not_an_array": NOISE,
    "check_classifiers_classes": NOISE,
    "check_classifiers_train": NOISE,
    "check_classifiers_one_label": NOISE,
    "check_decision_proba_consistency": NOISE,
    "check_regressor_data_not_an_array": NOISE,
    "check_regressors_int": NOISE,
    "check_regressors_train": NOISE,
    "check_dtype_object": TOTAL,
    "check_estimators_empty_data_messages": TOTAL,
    "check_supervised_y_no_nan": TOTAL,
    "check_classifiers_regression_target": TOTAL,
    "check_estimator_sparse_array": WORDS,
    "check_estimator_sparse_matrix": WORDS,
    "check_n_features_in_after_fitting": WORDS,
    "check_supervised_y_2d": WORDS,
    "check_fit_score_takes_y": "the second argument of a transformer's fit stands for nothing",
    "check_estimators_pickle": "a model is written as JSON; nothing is ever unpickled",
    "check_parameters_default_constructible": "neighbors is an enum",
}
"""Every check that some estimator fails, with its reason; the reference shows this list."""

CLASSES: dict[str, Any] = {"epsilon": 1, "bounds": (-10, 10), "classes": [0, 1, 2]}
NUMBERS: dict[str, Any] = {"epsilon": 1, "bounds": (-10, 10)}
ESTIMATORS = [
    LogisticRegression(**CLASSES),
    GaussianNB(**CLASSES),
    RandomDecisionTrees(trees=2, depth=2, **CLASSES),
    RandomForest(trees=2, depth=2, **CLASSES),
    AdditiveModel(turns=2, **CLASSES),
    LinearSVC(epsilon=1, bounds=(-10, 10), classes=[0, 1]),
    LinearRegression(target_bounds=(-10, 10), **NUMBERS),
    KMeans(**NUMBERS),
    StandardScaler(**NUMBERS),
    PCA(n_components=1, **NUMBERS),
]


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("model", ESTIMATORS, ids=lambda model: model.kind)
def test_checks_pass_but_for_named_exceptions(model: Any) -> None:  # noqa: ANN401
    from sklearn.utils.estimator_checks import check_estimator

    results = check_estimator(model, on_fail=None, on_skip=None)
    failed = {result["check_name"] for result in results if result["status"] == "failed"}
    assert failed <= set(EXCEPTIONS)
    assert sum(result["status"] == "passed" for result in results) > 20


@pytest.mark.filterwarnings("ignore")
def test_a_broken_estimator_fails_other_checks() -> None:
    from sklearn.utils.estimator_checks import check_estimator

    class Broken(StandardScaler):
        def transform(self, X: Any) -> Any:  # noqa: ANN401, N803
            self.seen_ = X
            return super().transform(X)

    results = check_estimator(Broken(**NUMBERS), on_fail=None, on_skip=None)
    assert {result["check_name"] for result in results if result["status"] == "failed"} - set(EXCEPTIONS)


def test_estimators_that_take_other_things_are_cloned() -> None:
    from sklearn.base import clone

    search = PrivateSearch(model=AdditiveModel(classes=[0, 1]), grid=[{"turns": 3}], epsilon=1)
    assert repr(clone(search)) == repr(search)
    pate = PATE(public=[[1.0]], **CLASSES)
    assert clone(pate).described() == pate.described()
