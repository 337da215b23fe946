"""`discreet init` of a PostgreSQL server: nothing of the rows without a price, and what the rows are for one."""

from __future__ import annotations

import json
from contextlib import closing
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

import psycopg
import pytest

from discreet.apps.cli import main
from discreet.tables import Policy
from tests.engines.servers import postgres

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = [pytest.mark.engine, pytest.mark.slow]

TABLE = """
CREATE TABLE visits (
    patient_id bigint, cost numeric, items integer, seen date, at timestamp, ward text, share double precision
);
INSERT INTO visits SELECT place / 2, place % 90 * 10.5, place % 7, date '2021-05-01' + place % 900,
    timestamp '2021-05-01' + place % 900 * interval '1 day', CASE place % 2 WHEN 0 THEN 'new' ELSE 'old' END, 0.5
FROM generate_series(0, 5999) AS place;
INSERT INTO visits SELECT 100000 + place, 'NaN', NULL, 'infinity', '-infinity', NULL, 'NaN'
FROM generate_series(1, 5) AS place;
INSERT INTO visits SELECT 200000 + place, 1e300, 2147483647, '-infinity', 'infinity', ' old ', '-Infinity'
FROM generate_series(1, 5) AS place;
INSERT INTO visits VALUES (NULL, 1, 1, NULL, NULL, 'new', 1);
"""


@pytest.fixture
def address() -> str:
    """Fill a database of its own, as all tables of a database are proposed; give its address."""
    found = urlsplit(postgres())._replace(path="/proposals").geturl()
    with closing(psycopg.connect(postgres(), autocommit=True)) as server:
        server.execute("DROP DATABASE IF EXISTS proposals")
        server.execute("CREATE DATABASE proposals")
    with psycopg.connect(found) as database:
        database.execute(TABLE)
    return found


def test_without_a_price_no_row_is_read(address: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    full, empty = tmp_path / "full.toml", tmp_path / "empty.toml"
    assert main(["init", address, "--output", str(full)]) == 0
    with psycopg.connect(address) as database:
        database.execute("TRUNCATE visits")
    assert main(["init", address, "--output", str(empty)]) == 0
    assert "no row was read" in capsys.readouterr().out
    assert full.read_text().replace('id = "full"', 'id = "empty"') == empty.read_text()
    table = Policy.from_toml(full.read_text()).table("visits")
    assert (table.unit, table.column("seen").kind.value) == ("patient_id", "date")
    assert "# items = { lower = 0, upper = 1000 }" in full.read_text()
    assert not list(tmp_path.glob("*.ledger*"))


def test_a_price_buys_bounds_and_keys(address: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    target = tmp_path / "care.toml"
    arguments = ["init", address, "--output", str(target), "--unit", "patient_id", "--epsilon", "4", "--budget", "9"]
    assert main([*arguments, "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    text = target.read_text()
    table = Policy.from_toml(text).table("visits")
    assert told["fill"] == []
    assert table.rows_per_unit == 2
    assert str(table.column("cost").bounds) == "[0, 1000]"
    assert (table.column("items").kind.value, str(table.column("items").bounds)) == ("integer", "[0, 10]")
    assert "seen = { lower = 2020-01-01, upper = 2024-12-31 }" in text
    assert "at = { lower = 2020-01-01T00:00:00, upper = 2024-12-31T23:59:59 }" in text
    assert table.column("ward").keys == ("new", "old")
    assert set(told["paid"]) == {
        "rows per unit", "keys of ward", *(f"bounds of {name}" for name in ("cost", "items", "seen", "at", "share"))
    }  # fmt: skip
    assert (tmp_path / "care.ledger.sqlite").exists()
    assert main(["query", str(target), "SELECT ward, AVG(cost) FROM visits GROUP BY ward", "--epsilon", "1"]) == 0
