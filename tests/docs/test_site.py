"""The built site shows its formulas and loads nothing from elsewhere."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from docs.hooks.doctests import fenced
from docs.hooks.mathml import on_page_content

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).resolve().parents[2]
ELSEWHERE = r"""=["']?(?:https?:)?//"""
LOADS = re.compile(rf"<(?:script|img|iframe|source)[^>]*\ssrc{ELSEWHERE}|<link[^>]*\shref{ELSEWHERE}")


def foreign_loads(site: Path) -> Iterator[str]:
    """Name the pages that make a browser fetch something from another host."""
    yield from (str(page.relative_to(site)) for page in sorted(site.rglob("*.html")) if LOADS.search(page.read_text()))


def build(site: Path) -> None:
    """Build the site strictly."""
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "--site-dir", str(site)]
    environment = {**os.environ, "NO_MKDOCS_2_WARNING": "1"}
    run = subprocess.run(command, cwd=ROOT, env=environment, check=False, capture_output=True, text=True)
    assert run.returncode == 0, run.stdout + run.stderr


def is_built(site: Path) -> bool:
    """Tell whether `make docs` built the site after the last change of anything that it shows."""
    shown = [ROOT / "mkdocs.yml", *(each for name in ("docs", "src") for each in (ROOT / name).rglob("*.*"))]
    last = site / "search" / "search_index.json"  # written at the end
    sources = (each for each in shown if each.suffix in {".yml", ".md", ".py", ".css", ".js", ".svg", ".html"})
    return last.exists() and last.stat().st_mtime > max(each.stat().st_mtime for each in sources)


@pytest.mark.slow
def test_the_site_stands_alone_and_shows_its_formulas(tmp_path: Path) -> None:
    site = ROOT / "site"
    if not is_built(site):
        site = tmp_path
        build(site)
    pages = {page: page.read_text() for page in site.rglob("*.html")}
    assert site / "index.html" in pages
    assert list(foreign_loads(site)) == []
    assert [page for page, text in pages.items() if "arithmatex" in text] == []
    assert [page for page, text in pages.items() if "<blockquote>\n<blockquote>" in text] == []
    assert "<math" in pages[site / "reference" / "noise" / "laplace" / "index.html"]


def test_a_foreign_load_is_seen(tmp_path: Path) -> None:
    (tmp_path / "good.html").write_text('<a href="https://example.org">link</a><script src="../x.js"></script>')
    (tmp_path / "script.html").write_text('<script defer src="https://example.org/x.js"></script>')
    (tmp_path / "style.html").write_text('<link rel="stylesheet" href="//example.org/x.css">')
    assert list(foreign_loads(tmp_path)) == ["script.html", "style.html"]


def test_examples_become_blocks() -> None:
    text = "Say.\n\n>>> 1 + 1\n2\n>>> 3\n3\n\nMore.\n\n    >>> 4\n    4"
    assert fenced(text) == (
        "Say.\n\n```pycon\n>>> 1 + 1\n2\n>>> 3\n3\n```\n\nMore.\n\n    ```pycon\n    >>> 4\n    4\n    ```"
    )


def test_a_formula_becomes_mathml() -> None:
    html = r'<p>a <span class="arithmatex">\(e^{-x} &lt; 1\)</span> b</p><div class="arithmatex">\[y\]</div>'
    rendered = on_page_content(html)
    assert rendered.startswith("<p>a <math")
    assert rendered.count("<math") == 2
    assert 'display="block"' in rendered
    assert "&amp;" not in rendered
