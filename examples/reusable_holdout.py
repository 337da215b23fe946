"""A holdout that chose the model reports a success that is not there; a reusable one does not, and counts its answers.

Rows without any signal, an analyst who selects attributes by what the holdout says, and the same analyst again behind
Thresholdout; then a stream of tests on private counts, of which a few have something to find.
"""

from __future__ import annotations

import numpy as np

from discreet.ledgers import Entry, MemoryLedger
from discreet.methods.adaptive import BinomialTest, Paprika, Thresholdout
from discreet.privacy import NeighborRelation
from discreet.tables import Policy

ROWS, ATTRIBUTES, CHOSEN = 4_000, 1_000, 150
rng = np.random.default_rng(3)
ledger = MemoryLedger(Policy([], epsilon=20, neighbors=NeighborRelation.CHANGE_ONE))


class Vote:
    """Some attributes vote, each with the sign of its agreement on the training set."""

    def __init__(self, chosen: np.ndarray, signs: np.ndarray) -> None:
        self.chosen, self.signs = chosen, signs

    def predict(self, features: np.ndarray) -> np.ndarray:
        """Decide by majority."""
        return np.where(features[:, self.chosen] @ self.signs > 0, 1, -1)


def draw() -> tuple[np.ndarray, np.ndarray]:
    """Draw attributes, and labels that have nothing to do with them."""
    return rng.choice([-1, 1], (ROWS, ATTRIBUTES)), rng.choice([-1, 1], ROWS)


def right(model: Vote, rows: tuple[np.ndarray, np.ndarray]) -> float:
    """Score a model."""
    return float((model.predict(rows[0]) == rows[1]).mean())


def best(scores: np.ndarray, good: np.ndarray) -> Vote:
    """Take what looks best on the training set."""
    order = np.argsort(-np.where(good, np.abs(scores), -1.0))[:CHOSEN]
    return Vote(order, np.sign(scores[order]))


def main() -> None:
    """Fool oneself, and then not."""
    train, holdout, fresh = draw(), draw(), draw()
    scores, held = ((x * y[:, None]).mean(axis=0) for x, y in (train, holdout))
    fooled = best(scores, (scores * held > 0) & (np.abs(held) > 1 / np.sqrt(ROWS)))
    print(f"a holdout that chose the model:  {right(fooled, holdout):.3f}, fresh rows {right(fooled, fresh):.3f}")
    promise = Thresholdout(ROWS, threshold="0.08", tolerance="0.0005", answers=5)
    entry = Entry("the holdout", ("rows",), kind="session")
    with promise.open(ledger, entry, train=train, holdout=holdout) as reusable:
        model = best(scores, scores != 0)  # what it answers about single attributes is what the training set says
        answer = reusable.score(model, "150 attributes")
        told = f"{answer.value:.3f} ± {answer.error():.3f}"
        print(f"the same through Thresholdout:   {told} of the holdout, fresh rows {right(model, fresh):.3f}")
        print(f"{reusable}; {ledger.remaining} left in the ledger")
    test = BinomialTest(5_000, nu="1e-30")
    hunt = Paprika(test.sensitivity, epsilon=6, discoveries=4)
    with hunt.open(ledger, Entry("side effects", ("trial",), kind="session")) as session:
        for place in range(40):
            successes = rng.binomial(5_000, 0.57 if place % 12 == 5 else 0.5)
            decided = session.test(f"effect {place}", lambda _, k=int(successes): test.p_value(k), test)  # type: ignore[misc]
            if decided.value:
                print(f"discovery: effect {place}, tested at the level {decided.details['level']:.2g}")
        print(session)


if __name__ == "__main__":
    main()
