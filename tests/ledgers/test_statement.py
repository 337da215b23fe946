"""What an owner sees of the budget: text, table, picture."""

from __future__ import annotations

from pathlib import Path

import pytest

from discreet.errors import ParameterError
from discreet.ledgers import Entry, MemoryLedger, PostgresLedger, SQLiteLedger, ledger_beside, open_ledger
from discreet.privacy import Pure
from discreet.tables import Analyst, Policy
from tests.ledgers.stores import NESTED, POLICY, ZCDP_POLICY


def spent() -> MemoryLedger:
    ledger = MemoryLedger(NESTED)
    ledger.reserve(Pure("0.5"), Entry("", ("visits",), "ann", "research"))
    return ledger


def test_the_text_says_who_spent_what_and_what_is_left() -> None:
    lines = str(spent().statement).splitlines()
    assert lines[0] == "budget of hospital: ε = 3 in all, kept by a pure filter"
    assert [line.split("  ")[0] for line in lines[1:]] == [
        "dataset",
        "analyst ann",
        "analyst bob",
        "purpose planning",
        "purpose research",
    ]
    assert lines[1].endswith("17 %  of ε = 3; about 5 more questions like the last one")
    assert lines[2].endswith("50 %  of ε = 1; about 1 more question like the last one")
    assert "no limit of its own" in lines[3]
    assert lines[3].endswith(" 0 % of the dataset's")


def test_a_lowered_budget_has_nothing_left() -> None:
    ledger = spent()
    ledger._join(Policy(NESTED.tables, epsilon="0.25", dataset="hospital", purposes=NESTED.purposes))
    whole = ledger.statement.whole
    assert (whole.left, whole.share) == (Pure(0), 2.0)
    assert "200 %" in str(ledger.statement)


def test_the_table_of_a_notebook_escapes_names() -> None:
    policy = Policy([], epsilon=1, dataset="<b>", analysts=[Analyst("<script>")])
    text = MemoryLedger(policy).statement._repr_html_()
    assert "<script>" not in text
    assert "&lt;script&gt;" in text
    assert text.count("<tr>") == 3


def test_the_picture_has_a_bar_for_each_limited_budget() -> None:
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("agg")
    axes = spent().statement.plot()
    assert [label.get_text() for label in axes.get_yticklabels()] == [
        "dataset",
        "analyst ann",
        "purpose planning",
        "purpose research",
    ]
    widths = [bar.get_width() for bar in axes.patches[4:]]
    assert widths == pytest.approx([1 / 6, 1 / 2, 0, 1 / 4])
    matplotlib.pyplot.close(axes.figure)


def test_plain_values_are_exact() -> None:
    found = spent().statement.to_dict()
    assert found["accounts"][1]["left"] == {"epsilon": 0.5}
    assert found["accounts"][2]["limit"] is None
    zcdp = MemoryLedger(ZCDP_POLICY).statement
    assert set(zcdp.to_dict()["accounts"][0]["limit"]) == {"rho", "delta"}
    assert "ε = 3, δ = 1e-06 in all" in str(zcdp)


def test_addresses_open_what_they_name(tmp_path: Path) -> None:
    file = tmp_path / "hospital.toml"
    assert ledger_beside(file) == tmp_path / "hospital.ledger.sqlite"
    with open_ledger(POLICY, file=file) as beside:
        assert isinstance(beside, SQLiteLedger)
        assert beside.path == ledger_beside(file)
        assert open_ledger(POLICY, beside) is beside
        with pytest.raises(ParameterError, match="that of another policy"):
            open_ledger(NESTED, beside)
    for address in ("other.sqlite", "sqlite:///third.sqlite", tmp_path / "fourth" / "fourth.sqlite"):
        folder = tmp_path / Path(address).stem
        folder.mkdir()
        with open_ledger(POLICY, address, file=folder / "hospital.toml") as found:
            assert isinstance(found, SQLiteLedger)
            assert found.path.parent == folder
    assert isinstance(open_ledger(POLICY, "memory", file=file), MemoryLedger)
    for wrong in ("mysql://x", 7):
        with pytest.raises(ParameterError, match="ledger is"):
            open_ledger(POLICY, wrong)  # type: ignore[arg-type]
    with pytest.raises(ParameterError, match="schema"):
        PostgresLedger("postgresql://x/y?schema=a b", POLICY)
