"""P-values from released answers: valid with the noise in them, and small where there is something to find."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from scipy import stats

from discreet.database import Database
from discreet.errors import ParameterError
from discreet.methods.adaptive import chi_square_test, mean_test, proportion_test
from discreet.methods.adaptive.private_tests import _chernoff, _Noise, _Noises
from discreet.privacy import NeighborRelation, Pure
from discreet.releases import Answer
from discreet.tables import Column, Policy, Table

FALSE_ALARM = 1e-9
TABLE = Table(
    "t",
    row_is_unit=True,
    columns=[Column("x", lower=0, upper=10), Column("ward", keys=["a", "b", "c", "d"])],
)
HITS = "SELECT COUNT(CASE WHEN x > 5 THEN 1 END) AS hits, COUNT(*) AS n FROM t"
MEAN = "SELECT SUM(x) AS s, COUNT(x) AS n FROM t"
WARDS = "SELECT ward, COUNT(*) AS n FROM t GROUP BY ward"
EVEN = dict.fromkeys("abcd", 0.25)
RUNS = 100


def town(
    rng: np.random.Generator, rows: int = 300, high: float = 0.5, shift: tuple[float, ...] = (0.25,) * 4
) -> Database:
    data = pa.table(
        {
            "x": np.where(rng.random(rows) < high, 10, 0),
            "ward": rng.choice(list("abcd"), rows, p=shift),
        }
    )
    return Database(Policy([TABLE], epsilon=10**6), {"t": data})


def small(values: list[float], level: float) -> float:
    """The chance that so many of valid p-values are at most a level."""
    return float(stats.binom.sf(sum(value <= level for value in values) - 1, len(values), level))


def p_values(rng: np.random.Generator, epsilon: str, **of: float) -> dict[str, list[float]]:
    """All three tests on many samples of the null; rows and noise are drawn anew each time."""
    told: dict[str, list[float]] = {"proportion": [], "mean": [], "chi-square": []}
    for _ in range(RUNS):
        with town(rng, **of) as db:  # type: ignore[arg-type]
            told["proportion"].append(proportion_test(db.sql(HITS), chance="1/2", epsilon=epsilon).p_value)
            told["mean"].append(mean_test(db.sql(MEAN), mean=5, epsilon=epsilon).p_value)
            wards = chi_square_test(db.sql(WARDS), chances=EVEN, epsilon=epsilon, draws=199)
            told["chi-square"].append(wards.p_value)
    return told


@pytest.mark.slow
def test_under_the_null_p_values_are_as_seldom_small_as_they_say(seed: int) -> None:
    """With noise as wide as the sampling error; looking at noisy counts as if they were exact fails the same check."""
    rng = np.random.default_rng(seed)
    told = p_values(rng, "0.1")
    for values in told.values():
        assert all(small(values, level) > FALSE_ALARM / 9 for level in (0.01, 0.05, 0.2))
    assert np.median(told["chi-square"]) < 0.8
    naive = []
    for _ in range(RUNS):
        with town(rng) as db:
            counts = [row["n"] for row in db.sql(WARDS).release("0.1").nonnegative().to_dicts()]
            naive.append(float(stats.chisquare(np.maximum(counts, 1)).pvalue))
    assert small(naive, 0.05) < FALSE_ALARM


def test_strong_effects_are_found_with_little_noise(seed: int) -> None:
    with town(np.random.default_rng(seed), 2_000, 0.65, (0.34, 0.22, 0.22, 0.22)) as db:
        assert proportion_test(db.sql(HITS), chance="1/2", epsilon=1).p_value < 1e-8
        assert proportion_test(db.sql(HITS), chance="0.8", side="less", epsilon=1).p_value < 1e-8
        assert mean_test(db.sql(MEAN), mean=5, epsilon=1).p_value < 1e-6
        assert mean_test(db.sql(MEAN), mean=8, side="less", epsilon=1).p_value < 1e-6
        assert mean_test(db.sql(MEAN), mean=8, epsilon=1).p_value > 0.99
        assert chi_square_test(db.sql(WARDS), chances=EVEN, epsilon=1).p_value <= 2 / 2000 + 1e-8
        assert db.remaining == Pure(10**6 - 3)  # questions that were asked before are shown again


def test_with_hardly_any_noise_the_p_value_is_the_exact_one() -> None:
    with Database(
        Policy([TABLE], epsilon=10**6, neighbors=NeighborRelation.CHANGE_ONE),
        {"t": pa.table({"x": [10] * 560 + [0] * 440, "ward": ["a"] * 1000})},
    ) as db:
        asked = db.sql("SELECT COUNT(CASE WHEN x > 5 THEN 1 END) AS hits FROM t")
        exact = stats.binom.sf(559, 1000, 0.5)
        above = proportion_test(asked, chance="1/2", rows=1000, epsilon=500)
        assert above.p_value == pytest.approx(exact, rel=1e-6)
        both = proportion_test(above.answer, chance="1/2", rows=1000, side="both").p_value
        assert both == pytest.approx(2 * exact, rel=1e-6)
        total = db.sql("SELECT SUM(x) AS s FROM t")
        kl = 0.56 * np.log(0.56 / 0.5) + 0.44 * np.log(0.44 / 0.5)
        assert mean_test(total, mean=5, rows=1000, epsilon=500).p_value == pytest.approx(np.exp(-1000 * kl), rel=1e-6)


def test_noise_makes_p_values_larger_and_never_smaller() -> None:
    with Database(
        Policy([TABLE], epsilon=10**6), {"t": pa.table({"x": [10] * 560 + [0] * 440, "ward": ["a"] * 1000})}
    ) as db:
        answer = db.sql(HITS).release("0.05")
        assert isinstance(answer, Answer)
        noise = _Noise(_Noises(answer), 0, "hits")
        seen = proportion_test(answer, chance="1/2", rows=None).p_value
        exact = float(stats.binom.sf(noise.value - 1, 1000, 0.5))
        wide = noise.mean(lambda moved: stats.binom.sf(noise.value - moved - 1, 1000, 0.5))
        assert exact < wide <= 1
        assert seen >= wide * 0.5


def test_the_bound_on_the_noise_is_its_law_from_above() -> None:
    """E[g(|Z|)] for discrete Laplace noise and a function that grows: at least, and by no more than a tenth."""
    with Database(Policy([TABLE], epsilon=10**6), {"t": pa.table({"x": [1], "ward": ["a"]})}) as db:
        answer = db.sql("SELECT COUNT(*) AS n FROM t").release("0.1")
        assert isinstance(answer, Answer)
        noise = _Noise(_Noises(answer), 0, "n")
    places = np.arange(-3000, 3001)
    law = np.exp(-np.abs(places) / 10)
    law /= law.sum()
    for wide in (5.0, 20.0, 60.0):
        true = float((law * np.where(places > 0, 1 - np.exp(-np.maximum(places, 0) / wide), 0)).sum())
        bound = noise.mean(lambda moved, wide=wide: 1 - np.exp(-moved / wide))  # type: ignore[misc]
        assert true <= bound <= 1.1 * true


def test_the_mean_s_bound_holds_for_a_law_between_the_ends() -> None:
    law = stats.binom(50, 0.3)
    for total in (16, 20, 30):
        assert law.sf(total - 1) <= _chernoff(np.array([float(total)]), 50, 0.0, 1.0, 0.3)[0]
    assert _chernoff(np.array([10.0]), 50, 0.0, 1.0, 0.3)[0] == 1
    assert _chernoff(np.array([50.0, 51.0]), 50, 0.0, 1.0, 0.3).tolist() == pytest.approx([0.3**50, 0])


def test_the_same_answer_has_the_same_p_value() -> None:
    """Nobody simulates until it is small."""
    with town(np.random.default_rng(0)) as db:
        answer = db.sql(WARDS).release(1)
        assert len({chi_square_test(answer, chances=EVEN).p_value for _ in range(3)}) == 1


REFUSED = {
    "SELECT COUNT(*) AS n FROM t": "and then a COUNT of the rows",
    WARDS: "without groups",
    "SELECT COUNT(*) + 1 AS hits, COUNT(*) AS n FROM t": "COUNT",
    MEAN: "COUNT",
}


@pytest.mark.parametrize("question", REFUSED)
def test_what_is_no_count_is_refused(question: str) -> None:
    with town(np.random.default_rng(0)) as db, pytest.raises(ParameterError, match=REFUSED[question]):
        proportion_test(db.sql(question).release(1))


def test_bad_input_is_refused() -> None:
    with town(np.random.default_rng(0)) as db:
        answer = db.sql(HITS).release(1)
        with pytest.raises(ParameterError, match="give no price"):
            proportion_test(answer, epsilon=1)
        with pytest.raises(ParameterError, match="chance is 1"):
            proportion_test(answer, chance=1)
        with pytest.raises(ParameterError, match="mean is 11"):
            mean_test(db.sql(MEAN).release(1), mean=11)
        wards = db.sql(WARDS).release(1)
        for chances in ({"a": 1.0}, {**EVEN, "a": 0.5}, {**EVEN, "a": 0, "b": 0.5}):
            with pytest.raises(ParameterError, match="chances must name each"):
                chi_square_test(wards, chances=chances)
        with pytest.raises(ParameterError, match="groups are known"):
            chi_square_test(answer, chances=EVEN)
        with pytest.raises(ParameterError, match="HAVING and LIMIT"):
            chi_square_test(db.sql(WARDS + " LIMIT 2").release(1), chances=EVEN)
        with pytest.raises(ParameterError, match="takes a question"):
            proportion_test(0.3)  # type: ignore[arg-type]
