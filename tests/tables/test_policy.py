"""Policies: read from TOML and Python, checked with errors that name line and key, canonical, hashable."""

from __future__ import annotations

import datetime as dt
import json
import math
import tomllib
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import discreet
from discreet.errors import ParameterError, PolicyError
from discreet.privacy import NeighborRelation
from discreet.tables import Analyst, Bounds, Column, Kind, Policy, Purpose, Table
from discreet.tables.kinds import is_of_kind
from discreet.tables.reading import Lines, _facts
from tests.plans.hospital import TOML

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

HOSPITAL = """
[source]
url = "hospital.duckdb"
[budget]
epsilon = 3
delta = 1e-6
[tables.visits]
unit = "patient_id"
unit_kind = "patient"
rows_per_unit = 20
[tables.visits.columns]
visit_date = { type = "date" }
ward = { keys = ["cardiology", "oncology", "surgery"] }
cost = { lower = 0, upper = 50_000 }
diagnosis = { type = "text" }
[tables.patients]
unit = "patient_id"
unique = ["patient_id"]
[tables.patients.columns]
age = { lower = 0, upper = 120 }
[tables.wards]
public = true
unique = ["ward"]
[population]
patient = 12000
[analysts.ann]
may = ["preview"]
tables = ["visits"]
epsilon = 0.5
[purposes.research]
epsilon = 1.5
delta = 1e-7
"""


def test_the_policy_of_the_documentation() -> None:
    policy = Policy.from_toml(HOSPITAL, dataset="hospital")
    visits, patients, wards = policy.table("visits"), policy.table("patients"), policy.table("wards")
    assert (policy.budget.epsilon, policy.budget.delta) == (Fraction(3), Fraction(1, 10**6))
    assert (policy.filter, policy.release_delta) == ("best", Fraction(1, 10**9))
    assert (visits.unit_kind, patients.unit_kind, wards.unit_kind) == ("patient", "patient", None)
    assert (visits.rows_per_unit, patients.rows_per_unit, patients.unit_is_unique) == (20, 1, True)
    assert visits.column("patient_id").kind is Kind.TEXT
    assert (visits.column("cost").kind, patients.column("age").bounds) == (Kind.INTEGER, Bounds(0, 120))
    assert (policy.dataset, policy.version, policy.population) == ("hospital", "1", (("patient", 12000),))
    assert (policy.source, policy.ledger) == ("hospital.duckdb", None)
    assert policy.may("ann", "preview", ["visits"])
    assert not policy.may("ann", "release", ["visits"])
    assert not policy.may("ann", "preview", ["visits", "patients"])
    assert not policy.may(None, "preview", ["visits"])
    assert (policy.serves("research"), policy.serves("fun"), policy.serves(None)) == (True, False, False)
    assert [(each.name, each.epsilon, each.delta) for each in policy.purposes] == [
        ("research", Fraction(3, 2), Fraction(1, 10**7))
    ]
    assert policy.budget.neighbors is NeighborRelation.ADD_REMOVE


# A line to put in the place of another, and what the error must say.
WRONG = [
    ("epsilon = 3", "epsilon = -1", "line 5: budget.epsilon is -1; "),
    ("epsilon = 3", 'epsilon = "x"', "epsilon"),
    ("epsilon = 3", "", "no budget.epsilon"),
    ("epsilon = 3", "epsilon = 1000001", "budget.epsilon is 1000001; it must be at most 1000000"),
    (
        "epsilon = 3",
        "epsilon = 3\nepsilonn = 3",
        "line 6: budget.epsilonn is not a key of [budget]. Did you mean 'epsilon'?",
    ),
    ("delta = 1e-6", "delta = 2", "delta"),
    ("delta = 1e-6", 'delta = 1e-6\nfilter = "zcpd"', "Did you mean 'zcdp'?"),
    ("delta = 1e-6", 'delta = 1e-6\nfilter = "pure"', "no use for delta"),
    ("delta = 1e-6", 'filter = "zcdp"', "only with a delta"),
    (
        "delta = 1e-6",
        "delta = 1e-6\nrelease_delta = 1e-5",
        "budget.release_delta is 0.00001; it must lie between 0 and delta",
    ),
    ("delta = 1e-6", 'neighbors = "both"', "'both' is not a neighbor relation"),
    ("[population]", "[populations]", "Did you mean 'population'?"),
    ("patient = 12000", "doctor = 12000", "population.doctor is no kind of unit"),
    ("patient = 12000", "patient = -1", "population.patient is -1; it must be at least 0."),
    ('unit_kind = "patient"', "unit_kind = 3", "line 7: tables.visits: visits.unit_kind is 3"),
    ('unit = "patient_id"\nunit_kind', "unit_kind", "must say who is protected"),
    ("rows_per_unit = 20", "rows_per_unit = 0", "visits.rows_per_unit is 0; it must be at least 1."),
    (
        "rows_per_unit = 20",
        "rows_per_units = 20",
        "line 10: tables.visits.rows_per_units is not a key of a table. Did you mean",
    ),
    ("rows_per_unit = 20", "public = true", "protects nobody"),
    ("rows_per_unit = 20", "row_is_unit = true", "in one way"),
    ('{ type = "date" }', '{ type = "dat" }', "line 12: tables.visits.columns.visit_date: visit_date.type is 'dat'"),
    ('{ type = "date" }', "{ }", "types are declared, not guessed"),
    ('{ type = "date" }', '{ typ = "date" }', "Did you mean 'type'?"),
    ('{ type = "date" }', '"date"', "must be a section of its own"),
    ("upper = 50_000", "upper = -1", "lower must not be above upper"),
    (", upper = 50_000", "", "one bound only"),
    ("lower = 0, upper = 50_000", 'type = "text", lower = 0, upper = 1', "only numbers, dates and timestamps"),
    ("lower = 0, upper = 50_000", 'type = "integer", lower = 0, upper = 1.5', "must be whole numbers"),
    ("lower = 0, upper = 50_000", "lower = 0, upper = 50_000, keys = [1]", "both keys and bounds"),
    ("lower = 0, upper = 50_000", "lower = 0.0, upper = 1e200", "beyond what a float can hold"),
    ("lower = 0, upper = 50_000", "lower = 1e-200, upper = 1.0", "closer to 0"),
    ("lower = 0, upper = 50_000", "lower = -1.0, upper = -1e-200", "closer to 0"),
    ("lower = 0, upper = 50_000", "lower = nan, upper = 1", "finite number"),
    ('"oncology", ', '"surgery", ', "holds 'surgery' twice"),
    ('["cardiology", "oncology", "surgery"]', "[]", "holds 0 keys"),
    ('["cardiology", "oncology", "surgery"]', '"cardiology"', "must be a list"),
    ('["cardiology", "oncology", "surgery"]', '["a", 1]', "different kinds"),
    ('["cardiology", "oncology", "surgery"]', '["a"], other = "a"', "twice"),
    ('{ type = "text" }', '{ type = "text", other = "x" }', "has other but no keys"),
    ('{ type = "text" }', '{ type = "text", nullable = 1 }', "must be true or false"),
    ('unique = ["patient_id"]', 'unique = "patient_id"', "must be a list"),
    ('unique = ["patient_id"]', 'unique = ["patient_id"]\nrows_per_unit = 2', "one row per unit"),
    ("age = { lower = 0, upper = 120 }", 'patient_id = { type = "float" }', "must be of type integer or text"),
    ("age = { lower = 0, upper = 120 }", "patient_id = { keys = [1, 2] }", "without bounds and keys"),
    (
        "age = { lower = 0, upper = 120 }",
        'patient_id = { type = "integer" }',
        "of type text in visits and of another in",
    ),
    ("age = { lower = 0, upper = 120 }", "_age = { lower = 0, upper = 120 }", "leading _"),
    ('may = ["preview"]', 'may = ["previw"]', "Did you mean 'preview'?"),
    ('tables = ["visits"]', 'tables = ["visit"]', "Did you mean 'visits'?"),
    ("epsilon = 0.5", "epsilon = -0.5", "must not be negative"),
    ("epsilon = 1.5", "epsilon = -1", "line 30: purposes.research: research.epsilon is -1; it must not be negative"),
    ("epsilon = 1.5", "may = []", "purposes.research.may is not a key of a purpose"),
    ("[purposes.research]", "[purpose.research]", "Did you mean 'purposes'?"),
    ("delta = 1e-7", "delta = 1", "purposes.research.delta is 1; it must be below 1."),
    ('url = "hospital.duckdb"', "url = 3", "source.url is 3"),
    ("delta = 1e-6", "delta.tenth = 1", "line 6: budget.delta is of type dict"),
    ("delta = 1e-6", "[budget.delta]\ntenth = 1", "line 6: budget.delta is of type dict"),
    ("delta = 1e-6", "[budget.delta.tenth]\nx = 1", "line 6: budget.delta is of type dict"),
    ("delta = 1e-6", "[[budget.delta]]\ntenth = 1", "line 6: budget.delta is of type list"),
    ("delta = 1e-6", "[budget.deltas]\ntenth = 1", "line 6: budget.deltas is not a key of [budget]"),
    ("[budget]", "[[budget]]", "line 4: budget must be a section of its own"),
    ("[source]", "[source", "not TOML"),
    ("epsilon = 3", f"epsilon = {'[' * 5000}{']' * 5000}", "lists within lists that are too deep"),
    ("epsilon = 3", f"epsilon = {'9' * 5000}", "a number that is too long"),
    ("epsilon = 3", "epsilon = 1e9999999999999999999", "a number that is too long"),
]


@pytest.mark.parametrize("old, new, message", WRONG, ids=[f"{case[1]}"[:50] for case in WRONG])
def test_mistakes_are_named(old: str, new: str, message: str) -> None:
    assert old in HOSPITAL
    with pytest.raises(PolicyError) as caught:
        Policy.from_toml(HOSPITAL.replace(old, new, 1))
    assert message in str(caught.value)


@pytest.mark.parametrize(
    "column, said",
    [
        ('x = { lower = "2024-01-01", upper = "2024-12-31" }', "write the date without quotes"),
        ('x = { type = "int" }', "Did you mean 'integer'"),
        ('x = { type = "varchar" }', "Did you mean 'text'"),
        ("x = { keys = [['a']] }", "a key is a number, a text"),
        ("x = { keys = ['a', 3] }", "of different kinds; write all of one kind"),
        ("x = { keys = ['a'], null_key = true, nullable = false }", "which drops rows with NULL"),
        ("Cost = { type = 'text' }\ncost = { type = 'text' }", "two columns named 'cost'"),
        ("Patient_ID = { type = 'text' }", "two columns named 'patient_id'"),
    ],
)
def test_mistakes_in_columns_say_what_to_write(column: str, said: str) -> None:
    head = '[budget]\nepsilon = 3\n[tables.visits]\nunit = "patient_id"\n[tables.visits.columns]\n'
    with pytest.raises(PolicyError, match=f"^line [0-9]+: tables.visits.*{said}"):
        Policy.from_toml(head + column)


def test_files_without_tables_and_tables_with_dots(tmp_path: Path) -> None:
    (tmp_path / "empty.toml").write_text("[budget]\nepsilon = 3")
    with pytest.raises(PolicyError, match=r"empty.toml has no tables; write \[tables.visits\]"):
        discreet.open(tmp_path / "empty.toml")
    with pytest.raises(PolicyError, match=r'line 3: .* in quotes: \[tables."clinic.visits"\]'):
        Policy.from_toml("[budget]\nepsilon = 3\n[tables.clinic.visits]\nrow_is_unit = true")


def test_marks_of_utf8_and_keys_with_fractions_are_read() -> None:
    text = "\ufeff[budget]\nepsilon = 3\n[tables.t]\nrow_is_unit = true\n[tables.t.columns]\nx = { keys = [0.1, 0.5] }"
    assert Policy.from_toml(text).table("t").column("x").keys == (0.1, 0.5)


def test_a_pure_budget_has_no_deltas_to_hand_out() -> None:
    with pytest.raises(PolicyError, match=r"purposes.fun.delta is 1/10, but the budget is pure"):
        Policy([], epsilon=1, purposes=[Purpose("fun", delta="0.1")])
    with pytest.raises(PolicyError, match="named twice"):
        Policy([], epsilon=1, purposes=[Purpose("fun"), Purpose("fun")])
    with pytest.raises(PolicyError, match="a purpose is named"):
        Purpose("")


def test_units_of_one_kind_look_alike() -> None:
    text = HOSPITAL.replace("age = { lower", 'patient_id = { type = "integer" }\nage = { lower')
    with pytest.raises(PolicyError, match="declare the unit columns with one type"):
        Policy.from_toml(text)


def test_equal_facts_are_equal_policies_wherever_the_data_lies() -> None:
    one = Policy.from_toml(HOSPITAL)
    other = Policy.from_toml(HOSPITAL.replace("hospital.duckdb", "elsewhere").replace("epsilon = 3", 'epsilon = "3/1"'))
    assert one == other
    assert hash(one) == hash(other)
    assert one.hash == other.hash
    assert "hospital.duckdb" not in one.to_json()
    for old, new, _ in [("upper = 120", "upper = 121", ""), ("rows_per_unit = 20", "rows_per_unit = 21", "")]:
        assert Policy.from_toml(HOSPITAL.replace(old, new)).hash != one.hash


@pytest.mark.parametrize(
    "text", [HOSPITAL, TOML, '[dataset]\nid = "x"\nversion = "7"\n[budget]\nepsilon = 0.1\n[limits]\ngroups = 5']
)
def test_the_canonical_form_is_read_back(text: str) -> None:
    policy = Policy.from_toml(text)
    again = Policy.from_json(policy.to_json())
    assert again == policy
    assert again.to_json() == policy.to_json()


def column_cases() -> st.SearchStrategy[Column]:
    """Columns of every kind."""
    whole = st.integers(-(10**9), 10**9)
    names = st.sampled_from(["a", "b", "c d", "Ä", 'q"'])
    moments = st.datetimes(dt.datetime(1, 1, 1), dt.datetime(9999, 1, 1))  # noqa: DTZ001
    pairs = st.tuples(whole, whole).map(sorted)
    return st.one_of(
        st.builds(lambda n, p: Column(n, lower=p[0], upper=p[1]), names, pairs),
        st.builds(lambda n, p: Column(n, lower=p[0] / 7, upper=p[1] / 7 + 1), names, pairs),
        st.builds(lambda n, p: Column(n, lower=min(p), upper=max(p)), names, st.tuples(moments, moments)),
        st.builds(lambda n, p: Column(n, lower=min(p).date(), upper=max(p).date()), names, st.tuples(moments, moments)),
        st.builds(
            lambda n, k, o, z: Column(n, keys=k, other="~" if o else None, null_key=z),
            names,
            st.lists(
                st.text(st.characters(codec="utf-8", exclude_characters="\0"), max_size=3).filter(lambda t: t != "~"),
                min_size=1,
                unique=True,
            ),
            st.booleans(),
            st.booleans(),
        ),
        st.builds(lambda n, k: Column(n, keys=k, type="float"), names, st.lists(whole, min_size=1, unique=True)),
        st.builds(lambda n, k, z: Column(n, type=k, nullable=z), names, st.sampled_from(list(Kind)), st.booleans()),
    )


@settings(max_examples=100)
@given(
    columns=st.lists(column_cases(), unique_by=lambda column: column.name), unique=st.booleans(), public=st.booleans()
)
def test_every_policy_survives_its_canonical_form(columns: list[Column], *, unique: bool, public: bool) -> None:
    facts: dict[str, Any] = {"public": True} if public else {"unit": "id", "unique": ["id"] if unique else []}
    policy = Policy([Table("t", columns=columns, **facts), Table("rows", row_is_unit=True)], epsilon="1/3")
    assert Policy.from_json(policy.to_json()) == policy


def test_files_are_read_and_named_after(tmp_path: Path) -> None:
    file = tmp_path / "clinic.toml"
    file.write_text(HOSPITAL, encoding="utf-8")
    assert Policy.read(file).dataset == "clinic"
    with pytest.raises(PolicyError, match="cannot be read"):
        Policy.read(tmp_path / "missing.toml")
    file.write_bytes(b"\xff\xfe")
    with pytest.raises(PolicyError, match="cannot be read"):
        Policy.read(str(file))


def test_python_and_toml_write_the_same_policy() -> None:
    columns = [
        Column("visit_date", type="date"),
        Column("ward", keys=["cardiology", "oncology", "surgery"]),
        Column("cost", lower=0, upper=50_000),
        Column("diagnosis", type="text"),
    ]
    visits = Table("visits", unit="patient_id", unit_kind="patient", rows_per_unit=20, columns=columns)
    age = Column("age", lower=0, upper=120)
    patients = Table("patients", unit="patient_id", unit_kind="patient", unique=["patient_id"], columns=[age])
    ann = Analyst("ann", may=["preview"], tables=["visits"], epsilon=0.5)
    built = Policy(
        [visits, patients, Table("wards", public=True, unique=["ward"])],
        epsilon=3,
        delta=1e-6,
        population={"patient": 12000},
        analysts=[ann],
        purposes=[Purpose("research", epsilon="1.5", delta=1e-7)],
    )
    assert built == Policy.from_toml(HOSPITAL)


def test_a_right_includes_those_before_it() -> None:
    """An owner who lets somebody preview means it: a preview explains."""
    for may, allowed in (("explain", 1), ("preview", 2), ("release", 3)):
        analyst = Analyst("ann", may=[may])
        assert analyst.may == ("explain", "preview", "release")[:allowed]
        assert [analyst.allows(action, []) for action in ("explain", "preview", "release")].count(True) == allowed
    assert Analyst("ann", may=[]).may == ()


def test_rows_as_units_share_no_kind_with_units_of_a_column() -> None:
    rows = Table("rows", row_is_unit=True, unit_kind="patient")
    with pytest.raises(PolicyError, match="whose units have a column in visits"):
        Policy([rows, Table("visits", unit="patient", rows_per_unit=2)], epsilon=1)
    assert len(Policy([rows, Table("visits", unit="id", rows_per_unit=2)], epsilon=1).tables) == 2


@pytest.mark.parametrize("text", ["", "{", "[]", '{"form": 2}', '{"form": 1}', '{"form": 1, "budget": 3}'])
def test_other_texts_are_no_policy(text: str) -> None:
    with pytest.raises(PolicyError):
        Policy.from_json(text)


def test_a_missing_table_is_named() -> None:
    with pytest.raises(ParameterError, match="the tables are patients, visits, wards"):
        Policy.from_toml(HOSPITAL).table("staff")


def paths(value: object, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """Every place inside nested dictionaries and lists."""
    inside: list[tuple[Any, Any]] = []
    if isinstance(value, dict):
        inside = list(value.items())
    elif isinstance(value, list):
        inside = list(enumerate(value))
    return [path, *(found for key, each in inside for found in paths(each, (*path, key)))]


def changed(value: Any, path: tuple[Any, ...], new: object) -> Any:  # noqa: ANN401 - plain data
    """The same with one place replaced."""
    if not path:
        return new
    copy = dict(value) if isinstance(value, dict) else list(value)
    copy[path[0]] = changed(copy[path[0]], path[1:], new)
    return copy


odd: st.SearchStrategy[object] = st.sampled_from(
    [
        None,
        True,
        0,
        -1,
        10**30,
        1.5,
        "",
        "x",
        "1/0",
        "nan",
        [],
        [1],
        ["a", "a"],
        [[]],
        [None],
        {},
        {"a": 1},
        "_x",
        "integer",
    ]
)


@pytest.mark.slow
@settings(max_examples=300)
@given(data=st.data(), new=odd)
def test_whatever_is_written_is_a_policy_or_a_named_mistake(data: st.DataObject, new: object) -> None:
    plain = json.loads(Policy.from_toml(HOSPITAL).to_json())
    text = json.dumps(changed(plain, data.draw(st.sampled_from(paths(plain))), new))
    read = tomllib.loads(HOSPITAL)
    toml = changed(read, data.draw(st.sampled_from(paths(read)[1:])), new)
    attempts: list[Callable[[], Policy]] = [
        lambda: Policy.from_json(text),
        lambda: Policy(**_facts(toml, Lines(""))),
    ]
    for attempt in attempts:
        try:
            found = attempt()
        except PolicyError as error:
            assert str(error)  # noqa: PT017 - both outcomes are right
        else:
            assert Policy.from_json(found.to_json()) == found


bounds = st.tuples(st.fractions(-9, 9), st.fractions(-9, 9)).map(lambda pair: Bounds(min(pair), max(pair)))


@pytest.mark.slow
@given(a=bounds, b=bounds, s=st.fractions(0, 1), t=st.fractions(0, 1))
def test_interval_operations_hold_every_result(a: Bounds, b: Bounds, s: Fraction, t: Fraction) -> None:
    assert a.lower is not None and a.upper is not None and b.lower is not None and b.upper is not None  # noqa: PT018
    x, y = a.lower + s * (a.upper - a.lower), b.lower + t * (b.upper - b.lower)
    assert (a + b).contains(x + y)
    assert (a - b).contains(x - y)
    assert (a * b).contains(x * y)
    assert a.absolute().contains(abs(x))
    assert a.hull(b).contains(x)
    assert a.hull(b).contains(y)
    assert a.clamped(b).contains(min(max(x, b.lower), b.upper))
    assert a.outward().contains(x)
    assert Bounds(a.lower, None).contains(x)
    if y != 0:
        assert b.inverse().contains(1 / y)
    half = Bounds(None, a.upper)
    assert (half + b).contains(x + y)
    assert (half * b).contains(x * y)
    assert (-half).contains(-x)


def test_floats_that_products_would_leave_are_no_cells() -> None:
    inside = [0.0, 1.0, -(2.0**500), 2.0**-500]
    outside = [2.0**501, -(2.0**501), 2.0**-501, math.inf]
    assert all(is_of_kind(value, Kind.FLOAT) for value in inside)
    assert not any(is_of_kind(value, Kind.FLOAT) for value in outside)


def test_a_time_with_a_zone_is_no_key() -> None:
    """The same instant would be several keys."""
    noon = dt.datetime(2024, 2, 1, 12, tzinfo=dt.UTC)
    Column("at", type="timestamp", keys=[noon.replace(tzinfo=None)])
    with pytest.raises(PolicyError):
        Column("at", type="timestamp", keys=[noon])


def test_the_size_of_bounds_is_that_of_either_end() -> None:
    assert [Bounds(low, high).magnitude for low, high in ((-5, 3), (2, 7), (-9, -1))] == [5, 7, 9]
    assert Bounds(None, 3).magnitude is None


def test_another_neighbor_relation_is_another_policy() -> None:
    made = [Policy([], epsilon=1, neighbors=relation) for relation in NeighborRelation]
    assert len({policy.hash for policy in made}) == len(made)
    assert [Policy.from_json(policy.to_json()).budget.neighbors for policy in made] == list(NeighborRelation)


def test_what_is_divided_by_may_be_zero() -> None:
    assert Bounds(-1, 1).inverse() == Bounds(0, 0).inverse() == Bounds()
    assert (Bounds(0, 2).inverse(), Bounds(-2, 0).inverse()) == (Bounds(Fraction(1, 2)), Bounds(None, Fraction(-1, 2)))
    assert Bounds(-4, -2).inverse() == Bounds(Fraction(-1, 2), Fraction(-1, 4))
    assert (Bounds(-3, 2).absolute(), Bounds(-3, -2).absolute()) == (Bounds(0, 3), Bounds(2, 3))
