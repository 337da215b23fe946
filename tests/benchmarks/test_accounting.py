"""What the accounting benchmark makes of its workers' words, and its reference values against closed forms."""

from __future__ import annotations

import doctest
import json
import math
from typing import TYPE_CHECKING

import pytest
from mpmath import mp, mpf

from benchmarks import (
    accounting,
    accounting_cases,
    reference_accounting,
    reference_moments,
    reference_profile,
    setup,
)
from benchmarks.accountants import OWN, PEERS, TITLES
from benchmarks.accounting import (
    Result,
    Row,
    Truth,
    fixed_size_figures,
    outside,
    relative_error,
    speed_figures,
    tightness_figures,
)
from benchmarks.accounting_cases import CASES, Family, Mechanism, repeat
from benchmarks.accounting_worker import measure_answer
from benchmarks.reference_accounting import (
    double,
    enumerate_lattice,
    exact,
    fourier,
    invert_laplace,
    lattice,
    single_add,
    single_remove,
)
from benchmarks.reference_moments import Sampled, moments_epsilon
from benchmarks.reference_profile import profile_epsilon
from benchmarks.report import Verdict

if TYPE_CHECKING:
    from types import ModuleType

TRUTH = Truth(epsilon="2.0", spread=1e-12, method="hand")
EVERYWHERE = {str(case): TRUTH for case in CASES}


def answers(cpu: float, lower: float = 2.0, epsilon: float = 2.0, way: str = "interval") -> Result:
    rows = [
        Row(case=str(case), way=way, lower=lower, epsilon=epsilon, cpu=cpu, cpu_median=cpu, wall=cpu, refusal="")
        for case in CASES
    ]
    return Result(missing="", versions={}, fixed_size=epsilon, rows=rows)


def test_every_case_is_named_once() -> None:
    assert len({str(case) for case in CASES}) == len(CASES) >= 40


def test_the_grid_has_the_counts_and_chances_that_it_should() -> None:
    sampled = [case for case in CASES if case.family is Family.SAMPLED_GAUSSIAN]
    assert {case.terms[0][1] for case in sampled} == {1, 2, 5, 10, 50, 1_000, 100_000, 1_000_000}
    chances = {case.chance for case in CASES}
    assert max(chances) == 1e-2
    assert min(chances) == 1e-30
    (mix,) = [case for case in CASES if case.family is Family.MIX]
    assert len({mechanism for mechanism, _ in mix.terms}) == 200


def test_an_interval_around_the_truth_meets_all_targets() -> None:
    figures = list(tightness_figures({OWN: answers(0.001, 2.0, 2.0 + 1e-7)}, EVERYWHERE))
    assert {figure.verdict for figure in figures} == {Verdict.MET}
    assert len(figures) == 3 * len(CASES)


@pytest.mark.parametrize(
    "lower, upper, missed",
    [
        (1.9, 1.999, {"truth outside", "width"}),  # below the truth
        (2.1, 2.1, {"truth outside", "error of ε"}),  # the lower end above it
        (2.0, 2.001, {"error of ε", "width"}),
        (1.99, 2.0, {"width"}),
    ],
)
def test_each_failure_misses_its_own_targets(lower: float, upper: float, missed: set[str]) -> None:
    figures = tightness_figures({OWN: answers(0.001, lower, upper)}, EVERYWHERE)
    assert {figure.library for figure in figures if figure.verdict is Verdict.MISSED} == missed


def test_without_a_reference_value_nothing_is_met_but_the_width() -> None:
    figures = tightness_figures({OWN: answers(0.001)}, {})
    verdicts = {figure.library: figure.verdict for figure in figures}
    assert verdicts == {
        "error of ε": Verdict.UNMEASURED,
        "truth outside": Verdict.UNMEASURED,
        "width": Verdict.MET,
    }


def test_the_reference_s_own_doubt_is_granted() -> None:
    doubtful = Truth(epsilon="2.0", spread=1e-9, method="hand")
    row = Row(lower=1.9, epsilon=2.0 - 1e-10)
    assert outside(row, doubtful) == 0
    away = outside(row, TRUTH)
    assert away is not None
    assert away > 4e-11


def test_an_answer_to_a_truth_of_zero() -> None:
    nothing = Truth(epsilon="0.0", spread=0, method="hand")
    assert relative_error(0.0, nothing) == 0
    assert relative_error(1e-9, nothing) == math.inf


def test_speed_is_judged_case_by_case_and_at_the_geometric_mean() -> None:
    results = {OWN: answers(0.010), "dp_accounting": answers(0.1, way="PLD")}
    results["dp_accounting"]["rows"][0]["cpu"] = 0.009
    figures = list(speed_figures(results, EVERYWHERE))
    slower = [
        figure for figure in figures if figure.library == "dp-accounting PLD" and figure.verdict is Verdict.MISSED
    ]
    assert [figure.case for figure in slower] == [str(CASES[0]), "geometric mean"]
    assert slower[1].ratio == pytest.approx(10 * 0.09 ** (1 / len(CASES)))
    own = [figure for figure in figures if figure.library.startswith(TITLES[OWN]) and figure.target is not None]
    assert {figure.verdict for figure in own} == {Verdict.MET}
    late = [figure for figure in speed_figures({OWN: answers(0.011)}, EVERYWHERE) if "sampled" in figure.case]
    assert {figure.verdict for figure in late} == {Verdict.MISSED}


def test_a_missing_peer_leaves_the_mean_unmeasured() -> None:
    absent = Result(missing="not installed", versions={}, fixed_size=None, rows=[])
    figures = list(speed_figures({OWN: answers(0.001), "dp_accounting": absent}, EVERYWHERE))
    assert figures[-1].verdict is Verdict.UNMEASURED
    assert sum(figure.note == "not installed" for figure in figures) == len(CASES)


def test_fixed_size_samples_are_compared_with_the_peer() -> None:
    ours, theirs = fixed_size_figures({OWN: answers(1, epsilon=0.3), "dp_accounting": answers(1, epsilon=0.59)})
    assert ours.value == 0.3
    assert theirs.verdict is Verdict.MISSED


def test_what_a_peer_raises_is_its_answer() -> None:
    def refuse() -> tuple[None, float]:
        message = "too small a delta"
        raise ValueError(message)

    assert measure_answer(refuse) == {"cpu": None, "refusal": "ValueError: too small a delta"}
    assert measure_answer(lambda: (None, math.inf))["refusal"] == "answers inf"
    assert measure_answer(lambda: (1.0, 2.0))["epsilon"] == 2.0


def test_every_accountant_has_a_module_a_title_and_every_peer_its_pins() -> None:
    folder = setup.ACCOUNTANT_PINS
    for library in (OWN, *PEERS):
        assert (folder / f"{library}.py").is_file()
        assert library in TITLES
    assert sorted(path.stem for path in folder.glob("*.txt")) == sorted(PEERS)
    for peer in PEERS:
        for line in setup.pins_of(peer).read_text(encoding="utf-8").splitlines():
            name, _, version = line.partition("==")
            assert name.replace("-", "").replace("_", "").replace(".", "").isalnum(), line
            assert version.replace(".", "").isalnum(), line


def test_reference_values_belong_to_cases() -> None:
    found = json.loads(accounting.REFERENCE.read_text(encoding="utf-8"))
    assert set(found) == {str(case) for case in CASES}
    assert max(value["spread"] for value in found.values()) <= reference_accounting.WORST_SPREAD


@pytest.mark.parametrize("family", [Family.DISCRETE_LAPLACE, Family.DISCRETE_GAUSSIAN, Family.BOX])
def test_lattices_are_laws_with_the_right_likelihood_ratios(family: Family) -> None:
    with mp.workdps(40):
        extra = "0.1" if family is Family.BOX else "2"
        one = lattice(Mechanism(family, "1.5", extra))
        losses = [one.offset + one.step * i for i in range(len(one.masses))]
        assert abs(mp.fsum(one.masses) + one.infinite - 1) < 1e-30
        other = mp.fsum(mass * mp.exp(-loss) for mass, loss in zip(one.masses, losses, strict=True))
        assert abs(other + one.infinite - 1) < 1e-20  # the other law has as much mass where this one cannot be


def test_randomized_response_of_one_answer() -> None:
    found = enumerate_lattice(repeat(Family.RANDOMIZED_RESPONSE, "1", "1", 1, "1e-2"), 40)
    high, low = math.e / (1 + math.e), 1 / (1 + math.e)
    assert float(found) == pytest.approx(math.log((high - 0.01) / low), rel=1e-12)


def test_laplace_of_one_answer_is_the_known_formula() -> None:
    found = invert_laplace(repeat(Family.LAPLACE, "2", "1", 1, "1e-2"), 30)
    assert float(found) == pytest.approx(0.5 + 2 * math.log1p(-0.01), rel=1e-12)  # delta = 1 - exp((epsilon - 1/b) / 2)


def test_residues_and_the_fourier_integral_agree() -> None:
    case = repeat(Family.LAPLACE, "1", "1", 60, "1e-5")
    with mp.workdps(30):
        other = fourier(case, removed=True, variant=0, floor=mpf(0))
        assert abs(other - invert_laplace(case, 30)) < 1e-9


def test_the_two_directions_of_a_sampled_gaussian_mirror_each_other() -> None:
    with mp.workdps(30):
        sigma, rate = exact("1"), exact("0.2")
        assert abs(single_remove(mpf(-2), sigma, rate) - (1 - mp.exp(-2))) < 1e-25  # below log(1 - q)
        assert abs(single_add(mpf("0.3"), sigma, rate)) < 1e-25  # above -log(1 - q)
        plain = single_remove(mpf(1), sigma, mpf(1))
        assert float(plain) == pytest.approx(0.12693673750664392, rel=1e-12)  # Balle & Wang 2018, Theorem 8


def test_the_fourier_integral_agrees_with_the_divergence_of_two_gaussians() -> None:
    case = repeat(Family.SAMPLED_GAUSSIAN, "1", "1", 2, "1e-6")
    with mp.workdps(30):
        found = fourier(case, removed=True, variant=0, floor=mpf(0))
        both = double(found, mpf(1), mpf(1), removed=True, pieces=12)
        assert abs(both / mpf("1e-6") - 1) < 1e-9


def test_profiles_and_moments_agree_with_the_fourier_integral() -> None:
    found = json.loads(accounting.REFERENCE.read_text(encoding="utf-8"))
    stored = float(found["sampled Gaussian σ=0.8 q=0.3, ×5, δ=1e-12"]["epsilon"])
    assert profile_epsilon(0.8, 0.3, 5, 1e-12, 1) == pytest.approx(stored, rel=1e-11)
    stored = float(found["sampled Gaussian σ=1 q=0.01, ×1,000, δ=1e-5"]["epsilon"])
    assert moments_epsilon(Sampled(1.0, "0.01", 1_000, removed=True), 1e-5, 1) == pytest.approx(stored, rel=1e-11)


@pytest.mark.parametrize(
    "module", [accounting, accounting_cases, reference_accounting, reference_moments, reference_profile]
)
def test_the_examples_hold(module: ModuleType) -> None:
    found = doctest.testmod(module)
    assert found.attempted > 0
    assert found.failed == 0
