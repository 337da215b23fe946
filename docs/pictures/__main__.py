"""Draw all pictures again: python -m docs.pictures."""

from __future__ import annotations

from pathlib import Path

from docs.pictures.gallery import all_pictures

for name, text in all_pictures().items():
    (Path(__file__).parent / name).write_text(text, encoding="utf-8")
    print(name)
