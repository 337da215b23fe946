"""Every committed picture is the one that its script draws."""

from __future__ import annotations

from pathlib import Path

import pytest

from discreet.mechanisms import registered
from docs.pictures.gallery import drawn_by, scripts
from docs.pictures.mechanisms import file_of
from docs.pictures.way import MEAN, MEDIAN, modules_touched

FOLDER = Path(__file__).resolve().parents[2] / "docs" / "pictures"
REFERENCE = FOLDER.parent / "reference" / "mechanisms"


def stale(pictures: dict[str, str], folder: Path) -> list[str]:
    """Name the pictures that are missing or differ from what their script draws."""

    def committed(name: str) -> str:
        return (folder / name).read_text(encoding="utf-8") if (folder / name).is_file() else ""

    return [name for name, text in pictures.items() if committed(name) != text]


@pytest.mark.slow
@pytest.mark.parametrize("script", scripts())
def test_the_pictures_are_current(script: str) -> None:
    assert stale(drawn_by(script), FOLDER) == [], "run: python -m docs.pictures"


def test_a_stale_picture_is_seen(tmp_path: Path) -> None:
    (tmp_path / "same.svg").write_text("<svg/>", encoding="utf-8")
    assert stale({"same.svg": "<svg/>", "gone.svg": "<svg/>"}, tmp_path) == ["gone.svg"]
    assert stale({"same.svg": "<svg></svg>"}, tmp_path) == ["same.svg"]


def test_no_picture_lacks_its_script() -> None:
    light = {name for script in scripts() if script != "mechanisms" for name in drawn_by(script)}
    assert {path.name for path in FOLDER.glob("*.svg")} == light | {file_of(kind) for kind in registered()}


@pytest.mark.parametrize("kind", registered())
def test_every_mechanism_has_a_page_with_its_picture(kind: str) -> None:
    """The page renders the class from its docstring, and shows what it answers on two neighbors."""
    home = f"{registered()[kind].__module__}.{registered()[kind].__name__}"
    pages = [path.read_text(encoding="utf-8") for path in REFERENCE.glob("*.md")]
    assert any(f"::: {home}\n" in page and f"pictures/{file_of(kind)}" in page for page in pages)


@pytest.mark.slow
@pytest.mark.parametrize("question, most", [(MEAN, 60), (MEDIAN, 65)])
def test_the_way_of_a_question_stays_short(question: str, most: int) -> None:
    """Whoever reads along opens so many files; a new one on the way takes the place of another."""
    touched = modules_touched(question)
    assert {"plans.sql.question", "ledgers.charging", "engines.sql.running", "noise.discrete_laplace"} <= {*touched}
    assert len(touched) <= most, touched
