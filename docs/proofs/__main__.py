"""Record that the proofs were read again: python -m docs.proofs PAGE..."""

from __future__ import annotations

import sys
from pathlib import Path

from docs.proofs.sources import pages, record, stale

chosen = [Path(argument).resolve() for argument in sys.argv[1:]]
for page in pages():
    changed = stale(page)
    if page in chosen:
        record(page)
        print(f"{page.name}: recorded {', '.join(changed) or 'nothing new'}")
    elif changed:
        print(f"{page.name}: read the proof again for {', '.join(changed)}; then name the page to record it")
