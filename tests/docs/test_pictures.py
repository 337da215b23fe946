"""Every committed picture is the one that its script draws."""

from __future__ import annotations

from pathlib import Path

import pytest

from docs.pictures.gallery import all_pictures

FOLDER = Path(__file__).resolve().parents[2] / "docs" / "pictures"
PICTURES = all_pictures()


@pytest.mark.parametrize("name", sorted(PICTURES))
def test_the_picture_is_current(name: str) -> None:
    assert (FOLDER / name).read_text(encoding="utf-8") == PICTURES[name], "run: python -m docs.pictures"


def test_no_picture_lacks_its_script() -> None:
    assert {path.name for path in FOLDER.glob("*.svg")} == set(PICTURES)
