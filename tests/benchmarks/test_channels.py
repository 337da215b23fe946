"""The attacks that are timed are planned, or refused for their size; time itself decides no test."""

from __future__ import annotations

import random

import pytest

from benchmarks.channels import ATTACKS, POLICY, generated, measured, rows
from discreet.errors import QueryRefused
from discreet.plans import plan_sql

REFUSED = {"texts 20-fold at three levels": "no text here has more than 4096", "twenty of them": "steps"}


def test_the_largest_attacks_are_refused_and_the_others_are_bounded() -> None:
    for name, question in ATTACKS.items():
        if name in REFUSED:
            with pytest.raises(QueryRefused, match=REFUSED[name]):
                plan_sql(POLICY, question)
        else:
            assert plan_sql(POLICY, question).aggregate


def test_generated_questions_are_mostly_planned() -> None:
    chosen, planned = random.Random(15), 0
    for _ in range(30):
        try:
            plan_sql(POLICY, generated(chosen))
        except QueryRefused as refused:
            assert "characters" in refused.why  # noqa: PT017 - others are planned
        else:
            planned += 1
    assert planned > 15


def test_neighbors_differ_in_one_person() -> None:
    there, other = rows("hiv"), rows("flu")
    assert sum(one != two for one, two in zip(there["dx"], other["dx"], strict=True)) == 1
    assert there["t"] == other["t"]


def test_a_refusal_is_the_same_with_and_without_the_attacked_row() -> None:
    question = next(iter(ATTACKS.values()))
    assert measured("duckdb", "hiv", question) == measured("duckdb", "flu", question)
