"""Statements of the corpus on PostgreSQL and Spark: within their ± of plain DuckDB, as on DuckDB."""

from __future__ import annotations

import pytest

from tests.corpus.comparing import Plain
from tests.corpus.engines import opened
from tests.corpus.test_corpus import ANSWERED, wrong_in


@pytest.mark.engine
def test_some_answers_of_postgres() -> None:
    with opened("postgres") as database:
        assert wrong_in(ANSWERED[::40], database, Plain()) == {}


@pytest.mark.engine
@pytest.mark.slow
def test_all_answers_of_postgres() -> None:
    with opened("postgres") as database:
        assert wrong_in(ANSWERED, database, Plain()) == {}


@pytest.mark.spark
@pytest.mark.filterwarnings("ignore")
def test_some_answers_of_spark() -> None:
    """All of them take some minutes: `python -m tests.corpus spark`."""
    with opened("spark") as database:
        assert wrong_in(ANSWERED[5::24], database, Plain()) == {}
