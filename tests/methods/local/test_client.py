"""The client in plain Python: its messages are the vectors, the server reads its reports, and they follow the law."""

from __future__ import annotations

import ast
import importlib.util
import json
import math
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from discreet.methods.local import Frequencies, LocalHashing

EXAMPLES = Path(__file__).resolve().parents[3] / "examples"
VECTORS = json.loads((EXAMPLES / "survey_vectors.json").read_text(encoding="utf-8"))
ORACLE = LocalHashing(1024, epsilon=1)


def load() -> Any:  # noqa: ANN401  a module
    spec = importlib.util.spec_from_file_location("survey_client", EXAMPLES / "survey_client.py")
    assert spec is not None
    assert spec.loader is not None
    client = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(client)
    return client


CLIENT = load()
SURVEY = json.loads(CLIENT.SURVEY)


def test_the_client_needs_nothing_but_python() -> None:
    tree = ast.parse((EXAMPLES / "survey_client.py").read_text(encoding="utf-8"))
    modules = {node.module for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)}
    names = {alias.name for node in ast.walk(tree) if isinstance(node, ast.Import) for alias in node.names}
    assert modules | names == {"__future__", "json", "secrets", "fractions"}


def test_the_survey_is_the_one_of_the_server() -> None:
    base, rows, columns = ORACLE._field
    assert {
        "header": ORACLE.header.hex(),
        "epsilon": "1",
        "base": base,
        "rows": rows,
        "columns": columns,
        "width": ORACLE.width,
    } == SURVEY


@pytest.mark.parametrize("vector", VECTORS["messages"])
def test_client_and_server_agree_with_the_vectors(vector: dict[str, Any]) -> None:
    assert VECTORS["survey"] == SURVEY
    matrix, told = vector["matrix"], vector["told"]
    assert CLIENT.hashed(vector["item"], matrix, SURVEY) == vector["hash"]
    assert CLIENT.encoded(matrix, told, SURVEY, SURVEY["header"]).hex() == vector["report"]
    supported = ORACLE.estimate([bytes.fromhex(vector["report"])]).support
    assert bool(supported[vector["item"]]) is (told == vector["hash"])
    assert supported.sum() in {0, 256, 512, 1024}, "what hashes to one of four values"


def test_a_server_reads_reports_of_the_client() -> None:
    found = ORACLE.estimate([CLIENT.report(417) for _ in range(3000)])
    p, q = ORACLE.chances
    assert isinstance(found, Frequencies)
    assert not found.refused
    assert abs(found.support[417] - 3000 * p) < 6.8 * math.sqrt(3000 * p * (1 - p))
    others = np.delete(found.support, 417)
    assert (np.abs(others - 3000 * q) < 7.5 * math.sqrt(3000 * q * (1 - q))).all()


def test_the_clients_noise_follows_its_law_and_half_of_it_does_not() -> None:
    for epsilon, fits in ((1, True), (2, False)):
        drawn = Counter(CLIENT.noise(CLIENT.Fraction(epsilon), 4) for _ in range(6000))
        expected = [6000 * (math.e if told == 0 else 1) / (math.e + 3) for told in range(4)]
        statistic = sum((drawn[told] - mean) ** 2 / mean for told, mean in enumerate(expected))
        assert (statistic < 46) is fits, "chi-square with 3 degrees of freedom passes 46 with a chance below 1e-9"
