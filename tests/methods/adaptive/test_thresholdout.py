"""The reusable holdout: paid before the first answer, the constants of the paper, the same noise after a crash."""

from __future__ import annotations

import json
import math
import os
import signal
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pytest

from discreet.checks.audits import Case, cases
from discreet.database import Database
from discreet.errors import BudgetError, LedgerError, ParameterError
from discreet.ledgers import Entry, MemoryLedger, Session, SQLiteLedger
from discreet.mechanisms import Release
from discreet.methods.adaptive import Thresholdout
from discreet.methods.adaptive.row_functions import evaluated
from discreet.privacy import ZCDP, NeighborRelation, Pure
from discreet.tables import Column, Policy, Table
from tests.audits.test_cases import follows
from tests.noise.replay import ReplayBits

if TYPE_CHECKING:
    from pathlib import Path

    from numpy.typing import NDArray

    from discreet.ledgers import Ledger
    from discreet.methods.adaptive import ReusableHoldout

ENTRY = Entry("my holdout", ("t",), kind="session")
CHANGE_ONE = NeighborRelation.CHANGE_ONE
POLICY = Policy([], epsilon=50, neighbors=CHANGE_ONE)
ROWS = np.linspace(0, 1, 1000, endpoint=False)
FIRM = Thresholdout(1000, threshold="0.2", tolerance="0.001", answers=2)
"""Noise of a few thousandths: which side of the threshold an answer falls on is no matter of chance."""


def low(x: NDArray[np.float64]) -> NDArray[np.bool_]:
    return x < 0.25


def never(x: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.zeros(len(x))


def opened(
    made: Thresholdout = FIRM, ledger: Ledger | None = None, train: object = ROWS, holdout: object = ROWS
) -> ReusableHoldout:
    return made.open(MemoryLedger(POLICY) if ledger is None else ledger, ENTRY, train=train, holdout=holdout)


def test_the_noise_has_the_proportions_of_the_paper() -> None:
    """4τ on the threshold, 8τ on a question, 2τ on an answer; B / (τn) for all; snapping adds a 65536th."""
    run, number = FIRM.run, FIRM.number
    scales = [float(scale * run.grid.step) for scale in run.scales]
    assert scales == pytest.approx([0.004, 0.008], rel=1e-4)
    assert float(number.scale) == pytest.approx(0.002, rel=1e-4)  # type: ignore[union-attr]
    assert scales[0] >= 0.004
    assert scales[1] >= 0.008
    assert FIRM.claim == Pure(2, neighbors=CHANGE_ONE)


def test_the_price_is_the_sum_of_its_parts() -> None:
    moved = Fraction(1, 1000)
    grid = FIRM.run.grid.step
    first, rest = (scale * grid for scale in FIRM.run.scales)
    parts = moved / first + 2 * moved / rest + moved / FIRM.number.scale  # type: ignore[union-attr]
    assert 0.9999 < parts <= 1
    gaussian = Thresholdout(1000, threshold="0.2", tolerance="0.001", answers=2, noise="gaussian")
    assert isinstance(gaussian.claim, ZCDP)
    stage = float(moved / first + 2 * moved / rest)
    sigma = float(gaussian.number.sigma)  # type: ignore[union-attr]
    assert sigma == pytest.approx(0.002, rel=1e-4)
    by_hand = 2 * (stage * math.tanh(stage / 2) / 2 + float(moved) ** 2 / (2 * sigma**2))
    assert by_hand <= float(gaussian.claim.rho) <= 2 * (1 / 8 + 1 / 8)
    assert float(gaussian.claim.rho) == pytest.approx(2 * 0.5**2 / 2 * 2, rel=0.03)


@pytest.mark.parametrize("price", [{"epsilon": "0.5"}, {"rho": "0.005"}])
def test_a_price_and_its_tolerance_are_the_same(price: dict[str, str]) -> None:
    made = Thresholdout(10_000, threshold="0.04", answers=50, **price)  # type: ignore[arg-type]
    again = Thresholdout(10_000, threshold="0.04", answers=50, tolerance=made.tolerance, noise=made.noise)
    assert again == made
    assert float(made.tolerance) == pytest.approx(0.01 if "epsilon" in price else 0.005, rel=1e-6)
    spent = made.claim
    assert (spent.epsilon if isinstance(spent, Pure) else spent.rho) <= Fraction(next(iter(price.values())))


def test_the_whole_price_is_taken_before_the_first_answer() -> None:
    ledger = MemoryLedger(POLICY)

    def rows(session: Session) -> NDArray[np.float64]:
        assert session.cost == Pure(2, neighbors=CHANGE_ONE)
        assert ledger.remaining == Pure(48, neighbors=CHANGE_ONE)
        msg = "the engine is gone"
        raise RuntimeError(msg)

    with opened(ledger=ledger, holdout=rows) as holdout, pytest.raises(RuntimeError):
        holdout.ask(low)
    assert ledger.remaining == Pure(48, neighbors=CHANGE_ONE)


def test_it_answers_from_the_training_set_until_that_overfits_and_says_what_is_left() -> None:
    with opened(train=ROWS, holdout=ROWS + 0.5) as holdout:
        assert holdout.ask(never).value == 0
        assert holdout.left == 2
        first = holdout.ask(lambda x: x < 0.75)
        assert first.value == pytest.approx(0.25, abs=0.05)
        assert first.details["from_holdout"] is True
        assert (first.details["left"], holdout.left) == (1, 1)
        assert "1 of 2 holdout answers left" in repr(holdout)
        assert holdout.ask(low, name="low").value == pytest.approx(0, abs=0.05)
        with pytest.raises(BudgetError, match="0 of 2 answers from the holdout are left"):
            holdout.ask(never)
        assert holdout.ask(low, name="low").details["left"] == 0


def test_models_are_scored_as_scikit_learn_has_them() -> None:
    class Threshold:
        def predict(self, x: NDArray[np.float64]) -> NDArray[np.bool_]:
            return x > 0.5

    labels = ROWS > 0.5
    with opened(train=(ROWS, labels), holdout=(ROWS, labels)) as holdout:
        assert holdout.score(Threshold()).value == 1
        assert holdout.score(Threshold(), loss=lambda y, p: (y != p) * 7.0).value == 0
        with pytest.raises(ParameterError, match="predict"):
            holdout.score("a model")  # type: ignore[arg-type]
    with opened() as holdout, pytest.raises(ParameterError, match="features, labels"):
        holdout.score(Threshold())


def test_what_leaves_the_interval_is_clipped_and_said_so() -> None:
    with opened() as holdout:
        answer = holdout.ask(lambda x: np.where(x < 0.5, 7.0, -3.0))
        assert answer.value == 0.5
        assert holdout.ask(lambda x: np.where(x < 0.25, np.nan, 1.0)).value == 0.75
        assert "outside [0, 1] it is clipped, NaN counts as 0" in answer.explain()
        assert "the training set need not be protected" in answer.explain()


def test_one_row_moves_the_sum_by_at_most_one_whatever_the_function_does() -> None:
    """A row that makes the function fail for all rows counts as 0, and the others as they would."""

    def picky(x: NDArray[np.float64]) -> NDArray[np.float64]:
        if (x == 3).any():
            msg = "3"
            raise ValueError(msg)
        return x

    full = evaluated(picky, (np.array([0.5, 3.0, 1.0]),))
    assert full == 1.5 * 2**20
    assert full - evaluated(picky, (np.array([0.5, 0.0, 1.0]),)) == 0
    assert evaluated(lambda _: 1, (ROWS,)) == 1000 * 2**20
    assert evaluated(lambda _: "no number", (ROWS,)) == 0
    assert evaluated(lambda x: [x, x], (ROWS,)) == 0


def test_errors_on_the_training_set_are_shown_and_cost_no_answer() -> None:
    with opened() as holdout:
        with pytest.raises(ZeroDivisionError):
            holdout.ask(lambda _: 1 // 0)
        with pytest.raises(ParameterError, match="each row one value"):
            holdout.ask(lambda _: 1)
        assert not holdout.answers


def test_the_divisor_is_the_stated_size_and_not_the_rows_that_are_there() -> None:
    """Under add/remove nobody is told how many rows there are: half of them make half of the mean."""
    made = Thresholdout(1000, threshold="0.2", tolerance="0.001", answers=2, neighbors=NeighborRelation.ADD_REMOVE)
    ledger = MemoryLedger(Policy([], epsilon=50))
    with made.open(ledger, ENTRY, train=ROWS, holdout=ROWS[::2]) as holdout:
        assert holdout.ask(lambda x: np.ones(len(x))).value == pytest.approx(0.5, abs=0.05)
    with pytest.raises(ParameterError, match="holdout_size is 1000"):
        opened(holdout=ROWS[::2])


@pytest.mark.parametrize("asked", [0, 1, 3])
def test_who_is_killed_and_opened_again_draws_nothing_anew(asked: int, tmp_path: Path) -> None:
    path, told = tmp_path / "ledger.sqlite", tmp_path / "told.json"
    wide = Thresholdout(1000, threshold="0.2", tolerance="1", answers=9)

    def drawn(holdout: ReusableHoldout) -> list[object]:
        bits = holdout.bits(left=1, more="")
        bar = holdout.bar(bits)
        return [bar, *wide.told(Fraction(0), Fraction(1, 2), bar, bits)]

    child = os.fork()
    if not child:
        holdout = opened(wide, SQLiteLedger(path, POLICY))
        for _ in range(asked):
            holdout.ask(low)
        told.write_text(json.dumps(drawn(holdout)))
        os.kill(os.getpid(), signal.SIGKILL)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == -signal.SIGKILL
    with SQLiteLedger(path, POLICY) as ledger, opened(wide, ledger) as holdout:
        assert len(holdout.answers) == asked
        assert drawn(holdout) == json.loads(told.read_text())
        assert ledger.verify().ok


def test_a_new_threshold_is_drawn_after_each_answer_from_the_holdout() -> None:
    with opened(train=ROWS, holdout=ROWS + 0.5) as holdout:
        holdout.ask(never)
        bar = holdout._bar
        holdout.ask(never)
        assert holdout._bar == bar
        holdout.ask(lambda x: x < 0.75)
        assert (holdout._bar, holdout.state()) == (None, {})
        holdout.ask(never)
        assert holdout._bar != bar
        assert holdout.answers[-1].details["place"] == 1


def test_the_holdout_may_be_on_loan_from_a_database() -> None:
    table = Table("rows", row_is_unit=True, columns=[Column("x", type="float", lower=0, upper=1)])
    policy = Policy([table], epsilon=50, neighbors=CHANGE_ONE, dataset="rows")
    with Database(policy, {"rows": pa.table({"x": ROWS})}) as db:
        loan = db.table("rows").select("x").rows()

        def lent(session: Session) -> NDArray[np.float64]:
            return np.asarray(loan.read(session).columns["x"], dtype=np.float64)

        entry = Entry("loan", ("rows",), kind="session")
        with FIRM.open(db.ledger, entry, train=ROWS, holdout=lent) as holdout:
            assert holdout.ask(low).value == 0.25
        with pytest.raises(LedgerError):
            lent(holdout.session)


def test_answers_travel_through_json_and_say_how_wrong_they_are() -> None:
    with opened(holdout=ROWS + 0.5) as holdout:
        near, far = holdout.ask(never), holdout.ask(lambda x: x < 0.75)
        assert Release.from_json(far.to_json()) == far
        assert far.error() == FIRM.number.error(0.95)
        assert near.error() == pytest.approx(0.2 + 0.004 * math.log(40) + 0.008 * math.log(40), rel=1e-3)
        assert "Charged: ε = 2" in far.explain()


REFUSED: dict[str, dict[str, Any]] = {
    "exactly one of tolerance": {"threshold": "0.1", "answers": 1, "tolerance": 1, "epsilon": 1},
    "threshold is 1": {"threshold": 1, "answers": 1, "tolerance": 1},
    "with epsilon it is": {"threshold": "0.1", "answers": 1, "epsilon": 1, "noise": "gaussian"},
    "answers": {"threshold": "0.1", "answers": 0, "epsilon": 1},
    "no finite noise": {"threshold": "0.1", "answers": 1, "epsilon": 0},
}


@pytest.mark.parametrize("why", REFUSED)
def test_bad_input_is_refused(why: str) -> None:
    with pytest.raises(ParameterError, match=why):
        Thresholdout(1000, **REFUSED[why])


def test_a_holdout_that_is_too_small_is_told_what_the_theorem_needs() -> None:
    with pytest.raises(ParameterError, match=r"the theorem needs ([\d,]+) rows") as refused:
        Thresholdout.for_accuracy(1000, error="0.1", questions=1000, answers=10)
    needed = int(str(refused.value).split("needs ")[1].split(" ")[0].replace(",", ""))
    made = Thresholdout.for_accuracy(needed, error="0.1", questions=1000, answers=10)
    assert made.bound(questions=1000) <= 0.1
    assert made.threshold > 8 * made.tolerance * Fraction(math.log(1000))


def test_the_theorem_s_bound_holds_where_an_analyst_tries_to_break_it(seed: int) -> None:
    """An analyst who knows the training set chooses what overfits it most; answers stay within the bound."""
    rng = np.random.default_rng(seed)
    made = Thresholdout.for_accuracy(10**6, error="0.1", questions=50, answers=10)
    train = rng.integers(0, 2, (400, 40))
    chance = [Fraction(1, 2)] * 40
    holdout = rng.binomial(10**6, 0.5, 40) / 10**6
    pairs = [(float(column.mean()), float(mean)) for column, mean in zip(train.T, holdout, strict=True)]
    told = made.release(pairs, bits=ReplayBits(seed)).value
    assert max(abs(answer - float(p)) for answer, p in zip(told, chance, strict=False)) <= 0.1


@pytest.mark.parametrize("case", cases()["thresholdout"], ids=lambda case: case.name)
def test_what_it_tells_follows_the_written_law(case: Case, seed: int) -> None:
    assert case.law is not None
    made = case.mechanism
    assert isinstance(made, Thresholdout)
    drawn = case.draw(made, case.first, 2_000, ReplayBits(seed))
    half = Thresholdout(
        1, threshold="1/2", tolerance="1/4", answers=made.answers, noise=made.noise, grid=1, inputs="snapped"
    )
    assert follows(drawn, case.law(made, case.first))
    assert not follows(drawn, case.law(half, case.first))
