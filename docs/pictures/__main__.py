"""Draw all pictures again: python -m docs.pictures."""

from __future__ import annotations

from pathlib import Path

from docs.pictures.gallery import drawn_by, scripts

for script in scripts():
    for name, text in drawn_by(script).items():
        (Path(__file__).parent / name).write_text(text, encoding="utf-8")
        print(name)
