"""Run the command line: python -m discreet.apps.cli."""

from __future__ import annotations

import sys

from discreet.apps.cli import main

if __name__ == "__main__":
    sys.exit(main())
