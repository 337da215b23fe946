"""From a policy to private answers, in Python: ask, pay, ask again, see what is left.

The files lie in a folder of their own that is removed afterwards; yours would stay, and so would the ledger beside
the policy.
"""

from __future__ import annotations

import tempfile
from pathlib import Path

import discreet as dp
from discreet.apps.cli.hospital import patients, write_hospital


def main() -> None:
    """Ask a made-up hospital."""
    with tempfile.TemporaryDirectory() as folder:
        policy = write_hospital(Path(folder), list(patients()))
        with dp.open(policy, analyst="ann") as db:
            question = db.sql(
                "SELECT sex, COUNT(*) AS patients FROM patients WHERE birth_year < 1960 GROUP BY sex ORDER BY sex"
            )
            print(f"before anything is spent:\n{question.preview(epsilon='0.2')}\n")
            answer = question.release(epsilon="0.2")
            print(f"the answer:\n{answer}\n")
            again = question.release(epsilon="0.2")
            print(f"the same again, free: {again.repeated and again.to_dicts() == answer.to_dicts()}\n")
            print(db.budget)


if __name__ == "__main__":
    main()
