"""A statistic made private: one mechanism, one file, found by walking the folders of `registry.GROUPS`.

Names are imported when they are first used, here and as `discreet.Laplace`.

>>> from discreet import mechanisms as m
>>> m.Laplace(sensitivity=1, epsilon="0.5").promise
'ε = 0.5'
"""

from __future__ import annotations

from discreet._lazy import lazy_names

__getattr__, __dir__, __all__ = lazy_names(__name__)
