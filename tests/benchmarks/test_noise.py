"""Which figures and targets the noise benchmark makes of what its workers say; no peer is needed."""

from __future__ import annotations

import doctest
import math
from typing import TYPE_CHECKING

import pytest

from benchmarks import cases, footprint, setup
from benchmarks.cases import BATCH_CASES, Case, Family, expected_magnitude
from benchmarks.libraries import FLOORS, OWN, PEERS, TITLES
from benchmarks.noise import (
    Batch,
    Result,
    Results,
    Single,
    Timing,
    batch_figures,
    best_of,
    fastest,
    fingerprint,
    footprint_figures,
    single_figures,
    timing_figures,
)
from benchmarks.report import Figure, Verdict
from benchmarks.worker import WrongLawError, check_law

if TYPE_CHECKING:
    from pathlib import Path
    from types import ModuleType

SMALL = Case(Family.DISCRETE_LAPLACE, 1)
WIDE = Case(Family.DISCRETE_GAUSSIAN, 1_000_000)


def result(rates: dict[Case, dict[str, float]] | None = None, missing: str = "", luck: float = 1) -> Result:
    rows = [
        Batch(
            family=case.family.value,
            scale=case.scale,
            way=way,
            draws=1_000_000,
            repeats=5,
            cpu=rate * luck,
            cpu_median=rate,
            wall=rate / 2,
            wall_median=rate / 4,
        )
        for case, ways in (rates or {}).items()
        for way, rate in ways.items()
    ]
    return Result(missing=missing, versions={}, batches=rows, singles=[], references=[], timing=[])


def everywhere(rate: float, **more: float) -> Result:
    return result({case: {"way": rate, **more} for case in BATCH_CASES})


def targeted(figures: list[Figure]) -> dict[tuple[str, str], Verdict | None]:
    return {(figure.case, figure.library): figure.verdict for figure in figures if figure.target is not None}


def test_ratios_are_of_cpu_rates_and_the_fastest_way_is_judged() -> None:
    results: Results = {OWN: everywhere(100e6), "opendp": everywhere(0.1e6, slow=0.05e6)}
    figures = [figure for figure in batch_figures(results) if figure.case == str(SMALL)]
    assert [figure.ratio for figure in figures] == [None, pytest.approx(1_000), pytest.approx(2_000)]
    assert [figure.verdict for figure in figures] == [None, Verdict.MET, None]
    assert [figure.wall for figure in figures] == [50, 0.05, 0.025]
    best = fastest(results, "opendp", SMALL)
    assert best is not None
    assert best["way"] == "way"


def test_a_ratio_leans_against_us() -> None:
    lucky = result({SMALL: {"way": 60e6}}, luck=1.2)
    assert [row["cpu"] for row in lucky["batches"]] == [72e6]
    peer = result({SMALL: {"way": 0.1e6}}, luck=1.25)
    figures = list(batch_figures({OWN: lucky, "opendp": peer}))
    (judged,) = [figure for figure in figures if figure.case == str(SMALL) and figure.library == TITLES["opendp"]]
    assert judged.ratio == pytest.approx(480)  # 60 / 0.125; best against best would be 576 and pass
    assert judged.verdict is Verdict.MISSED


def test_changed_sources_have_another_fingerprint(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text("one", encoding="utf-8")
    before = fingerprint(tmp_path)
    assert fingerprint(tmp_path) == before
    (tmp_path / "a.py").write_text("two", encoding="utf-8")
    changed = fingerprint(tmp_path)
    (tmp_path / "a.py").rename(tmp_path / "b.py")
    assert len({before, changed, fingerprint(tmp_path)}) == 3


def test_the_better_round_counts_for_each_way_by_itself() -> None:
    first = result({SMALL: {"a": 1.0, "b": 4.0}})
    second = result({SMALL: {"a": 3.0, "b": 2.0}})
    best = best_of(first, second)["batches"]
    assert [row["cpu"] for row in best] == [row["cpu_median"] for row in best] == [3, 4]
    assert best_of(first, result(missing="its worker failed"))["missing"] == "its worker failed"


def test_every_promised_comparison_has_its_target() -> None:
    results: Results = {OWN: everywhere(100e6), "numpy": everywhere(130e6), "opendp": everywhere(0.25e6)}
    verdicts = targeted(list(batch_figures(results)))
    numpy, opendp = TITLES["numpy"], TITLES["opendp"]
    discrete = [case for case in BATCH_CASES if case.family in {Family.DISCRETE_LAPLACE, Family.DISCRETE_GAUSSIAN}]
    assert {verdicts[str(case), opendp] for case in discrete} == {Verdict.MISSED}  # 400 of 500
    assert {verdicts[str(case), numpy] for case in discrete if case.scale <= 1_000} == {Verdict.MISSED}  # 0.77 of 0.8
    assert (str(WIDE), numpy) not in verdicts
    floats = [key for key, verdict in verdicts.items() if verdict is Verdict.MET]
    assert len(floats) == 4  # 400 of 100: Laplace and Gaussian at two scales
    assert sum(library == "opendp's Laplace" for _, library in floats) == 2


def test_a_missing_peer_is_named_with_its_reason_and_never_met() -> None:
    reason = "not installed: No matching distribution found"
    figures = list(batch_figures({OWN: everywhere(100e6), "opendp": result(missing=reason)}))
    absent = [figure for figure in figures if figure.library == TITLES["opendp"]]
    assert len(absent) == len(BATCH_CASES)
    assert {figure.note for figure in absent} == {reason}
    assert set(targeted(figures).values()) == {Verdict.UNMEASURED}


def test_our_own_failure_leaves_every_target_unmeasured() -> None:
    results: Results = {OWN: result(missing="its worker failed"), "opendp": everywhere(0.1e6)}
    assert set(targeted(list(batch_figures(results))).values()) == {Verdict.UNMEASURED}
    assert set(targeted(list(single_figures(results))).values()) == {Verdict.UNMEASURED}


def test_single_draws_are_judged_by_their_mean() -> None:
    ours = result()
    for family, rate in ((Family.DISCRETE_LAPLACE, 1e6), (Family.DISCRETE_GAUSSIAN, 1e5), (Family.LAPLACE, 1e5)):
        ours["singles"].append(Single(family=family.value, scale=10, cpu=rate, wall=rate))
    figures = list(single_figures({OWN: ours}))
    assert [(figure.value, figure.verdict) for figure in figures] == [
        (1, Verdict.MET),
        (10, Verdict.MISSED),
        (10, None),
    ]


def test_timing_shows_both_correlations_with_their_error() -> None:
    peer = result()
    row = Timing(
        family="discrete Laplace", scale=10, count=101, plain=0.01, ranked=0.3, standard_error=0.1,
        p50_ns=1, p99_ns=2, max_ns=3,
    )  # fmt: skip
    peer["timing"].append(row)
    plain, ranked = timing_figures({"opendp": peer})
    assert (plain.value, plain.unit) == (0.01, "correlation")
    assert (ranked.value, ranked.unit) == (0.3, "rank correlation")
    assert plain.note.startswith("± 0.1000; 101 draws")


def test_tables_and_memory_are_judged() -> None:
    uses = [footprint.FirstUse(SMALL, 51, 20, 0.1, 52)]
    memories = [footprint.Memory(SMALL, 8_800_000, 8_000_000)]
    table, cached, first, memory = footprint_figures(uses, memories)
    assert [figure.verdict for figure in (table, cached, first, memory)] == [Verdict.MISSED, None, None, Verdict.MET]
    assert memory.value == 1.1


@pytest.mark.parametrize("case", [SMALL, WIDE, Case(Family.DISCRETE_GAUSSIAN, 10), Case(Family.LAPLACE, 7)])
def test_the_mean_magnitude_is_that_of_the_summed_law(case: Case) -> None:
    reach = range(-40 * case.scale, 40 * case.scale + 1, max(1, case.scale // 1_000))
    if case.family is Family.DISCRETE_GAUSSIAN:
        weights = [math.exp(-z * z / 2 / case.scale**2) for z in reach]
    elif case.family is Family.LAPLACE:
        reach = range(-40_000, 40_001)  # thousandths of the scale
        weights = [math.exp(-abs(z) / 1_000) for z in reach]
    else:
        weights = [math.exp(-abs(z) / case.scale) for z in reach]
    unit = case.scale / 1_000 if case.family is Family.LAPLACE else 1
    found = unit * sum(abs(z) * weight for z, weight in zip(reach, weights, strict=True)) / sum(weights)
    assert expected_magnitude(case) == pytest.approx(found, rel=1e-5)


def test_a_scale_in_the_wrong_unit_is_caught() -> None:
    case = Case(Family.GAUSSIAN, 10)
    right = expected_magnitude(case)
    assert check_law(case, lambda n: [right, -right] * (n // 2)) == pytest.approx(right)
    with pytest.raises(WrongLawError, match="mean magnitude"):
        check_law(case, lambda n: [right * 10] * n)


def test_every_library_has_a_module_a_title_and_every_peer_its_pins() -> None:
    folder = setup.PINS
    for library in (OWN, *FLOORS, *PEERS):
        assert (folder / f"{library}.py").is_file()
        assert library in TITLES
    assert sorted(path.stem for path in folder.glob("*.txt")) == sorted(PEERS)


def test_pins_are_names_and_versions_only() -> None:
    for peer in PEERS:
        lines = (setup.PINS / f"{peer}.txt").read_text(encoding="utf-8").splitlines()
        assert lines
        for line in lines:
            name, _, version = line.partition("==")
            assert name.replace("-", "").replace("_", "").replace(".", "").isalnum(), line
            assert version.replace(".", "").isalnum(), line


def test_why_a_peer_is_missing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(setup, "FOLDER", tmp_path)
    assert setup.why_missing("opendp") == "no environment with the pinned versions: run python -m benchmarks.setup"
    (tmp_path / "opendp").mkdir()
    record = tmp_path / "opendp" / setup.DONE
    record.write_bytes(b"opendp==0.1\n")
    assert setup.why_missing("opendp") is not None  # the pins have moved on
    record.write_bytes((setup.PINS / "opendp.txt").read_bytes())
    assert setup.why_missing("opendp") is None
    (tmp_path / "opendp.failed.txt").write_text("No matching distribution found\n", encoding="utf-8")
    assert setup.why_missing("opendp") == "not installed: No matching distribution found"


def test_the_reason_of_pip_is_its_last_error() -> None:
    output = (
        "Collecting x\nERROR: Could not find a version\nERROR: No matching distribution found for x\n[notice] hello"
    )
    assert setup.pip_reason(output) == "No matching distribution found for x"
    assert setup.pip_reason("killed\n") == "killed"
    assert setup.pip_reason("") == "pip failed without a word"


@pytest.mark.parametrize("module", [cases, setup])
def test_the_examples_hold(module: ModuleType) -> None:
    found = doctest.testmod(module)
    assert found.attempted > 0
    assert found.failed == 0
