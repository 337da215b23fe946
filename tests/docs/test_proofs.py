"""A proof is about the code as it is: when the code changes, the proof must be read again."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest

from docs.proofs.sources import FOLDER, ROOT, current, pages, recorded, stale

if TYPE_CHECKING:
    from pathlib import Path

CITED = re.compile(r"docs/proofs/[\w./-]+\.md")
SOURCES = "\n".join(path.read_text(encoding="utf-8") for path in sorted((ROOT / "src").rglob("*.py")))


@pytest.mark.parametrize("page", pages(), ids=lambda page: page.stem)
def test_a_proof_was_read_against_the_code_as_it_is(page: Path) -> None:
    assert recorded(page), f"{page.name} lists no function that it is about"
    assert stale(page) == [], "read the proof again, then run: python -m docs.proofs " + str(page.relative_to(ROOT))


def test_every_proof_is_cited_and_every_citation_has_its_page() -> None:
    held = {str(page.relative_to(ROOT)) for page in pages()}
    assert held
    assert set(CITED.findall(SOURCES)) == held


def test_every_proof_is_in_the_navigation() -> None:
    navigation = (ROOT / "mkdocs.yml").read_text(encoding="utf-8")
    for page in [FOLDER / "index.md", *pages()]:
        assert str(page.relative_to(ROOT / "docs")) in navigation


CODE = '"""A part."""\n\n\ndef bound(x: float) -> float:\n    """Return it."""\n    return 2 * x  # why\n'


@pytest.mark.parametrize(
    "text, changed",
    [
        (CODE, False),
        (CODE.replace("Return it.", "Return twice the number."), False),
        (CODE.replace("  # why", ""), False),
        (CODE.replace("2 * x", "2  *  x"), False),
        (CODE.replace("2 * x", "3 * x"), True),
        (CODE.replace("2 * x", "x"), True),
        (CODE.replace("(x: float)", "(x: float, y: float = 0)"), True),
    ],
)
def test_a_stale_proof_is_seen_and_new_words_are_none(tmp_path: Path, text: str, changed: bool) -> None:  # noqa: FBT001
    (tmp_path / "part.py").write_text(CODE, encoding="utf-8")
    page = tmp_path / "part.md"
    page.write_text(f"# Proof\n\n- `part.bound` {current('part.bound', tmp_path)}\n", encoding="utf-8")
    (tmp_path / "part.py").write_text(text, encoding="utf-8")
    assert (stale(page, tmp_path) == ["part.bound"]) is changed


def test_a_proof_of_what_is_gone_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "part.py").write_text(CODE, encoding="utf-8")
    with pytest.raises(LookupError, match="nothing"):
        current("part.nothing", tmp_path)
