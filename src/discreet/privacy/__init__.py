"""Promises as values, curves of distributions, composition, conversion, filters, calibration.

Names are imported when they are first used, so `import discreet.privacy` loads almost nothing.

>>> from discreet import privacy as p
>>> p.Pure(0.1) + p.Pure(0.2)
Pure(epsilon=0.3)
"""

from __future__ import annotations

from discreet._lazy import lazy_names

__getattr__, __dir__, __all__ = lazy_names(__name__)
