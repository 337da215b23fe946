"""Models of tables: linear ones, trees, clusters, moments, in scikit-learn's way.

>>> from discreet.methods.learning.tabular import Features
>>> Features.__name__
'Features'
"""

from __future__ import annotations

from discreet.methods.learning.tabular.features import Feature, Features

__all__ = ["Feature", "Features"]
