"""What a phone needs to answer a survey privately: plain Python, nothing installed.

The server publishes the JSON below; by the messages of `survey_vectors.json` a client in another language is checked.
Run it: it prints a report, which nobody can read an answer from.
"""

from __future__ import annotations

import json
import secrets
from fractions import Fraction

SURVEY = """{"header": "01ddccc3e4", "epsilon": "1", "base": 2, "rows": 2, "columns": 10, "width": 3}"""


def coin(probability: Fraction) -> bool:
    """Return True with exactly this probability."""
    return secrets.randbelow(probability.denominator) < probability.numerator


def coin_exp(exponent: Fraction) -> bool:
    """Return True with probability exp(-exponent), exactly (Canonne, Kamath & Steinke 2020, Algorithm 1)."""
    while exponent > 1:
        if not coin_exp(Fraction(1)):
            return False
        exponent -= 1
    count = 1
    while coin(exponent / count):
        count += 1
    return count % 2 == 1


def noise(epsilon: Fraction, hashes: int) -> int:
    """Return 0 with e^epsilon times the chance of each of 1, ..., hashes - 1."""
    while True:
        drawn = secrets.randbelow(hashes)
        if drawn == 0 or coin_exp(epsilon):
            return drawn


def hashed(item: int, matrix: list[int], survey: dict[str, int]) -> int:
    """Multiply a matrix, given row by row, with the item's digits; return the digits of the result as one number."""
    base, columns, value = survey["base"], survey["columns"], 0
    digits = [item // base ** (columns - 1 - place) % base for place in range(columns)]
    for start in range(0, len(matrix), columns):
        row = matrix[start : start + columns]
        value = value * base + sum(a * b for a, b in zip(row, digits, strict=True)) % base
    return value


def encoded(matrix: list[int], told: int, survey: dict[str, int], header: str) -> bytes:
    """Write the matrix's digits and the hash as one number behind the header."""
    number = 0
    for digit in matrix:
        number = number * survey["base"] + digit
    number = number * survey["base"] ** survey["rows"] + told
    return bytes.fromhex(header) + number.to_bytes(survey["width"], "big")


def report(item: int, text: str = SURVEY) -> bytes:
    """Randomize an item; keep what was sent, and send the same if asked again."""
    survey = json.loads(text)
    hashes = survey["base"] ** survey["rows"]
    matrix = [secrets.randbelow(survey["base"]) for _ in range(survey["rows"] * survey["columns"])]
    true, lie = hashed(item, matrix, survey), noise(Fraction(survey["epsilon"]), hashes)
    told = true if lie == 0 else (true + lie) % hashes
    return encoded(matrix, told, survey, survey["header"])


if __name__ == "__main__":
    print(report(417).hex())
