"""Promises as values, curves of distributions, composition, conversion, filters, calibration.

Names are imported when they are first used, so `import discreet.privacy` loads almost nothing.

>>> from discreet import privacy as p
>>> p.Pure(0.1) + p.Pure(0.2)
Pure(epsilon=0.3)
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from discreet.privacy.calibration import calibrate as calibrate
    from discreet.privacy.calibration import calibrate_largest as calibrate_largest
    from discreet.privacy.calibration import dpsgd_noise as dpsgd_noise
    from discreet.privacy.calibration import dpsgd_rate as dpsgd_rate
    from discreet.privacy.calibration import dpsgd_steps as dpsgd_steps
    from discreet.privacy.calibration import gaussian_sigma as gaussian_sigma
    from discreet.privacy.calibration import laplace_scale as laplace_scale
    from discreet.privacy.composition import compare as compare
    from discreet.privacy.costs import Certificates as Certificates
    from discreet.privacy.costs import Cost as Cost
    from discreet.privacy.costs import cost_of as cost_of
    from discreet.privacy.currencies import GDP as GDP
    from discreet.privacy.currencies import RDP as RDP
    from discreet.privacy.currencies import ZCDP as ZCDP
    from discreet.privacy.currencies import Approximate as Approximate
    from discreet.privacy.currencies import Budget as Budget
    from discreet.privacy.currencies import Pure as Pure
    from discreet.privacy.curves import Curve as Curve
    from discreet.privacy.curves import FixedSize as FixedSize
    from discreet.privacy.curves import Poisson as Poisson
    from discreet.privacy.curves import approximate as approximate
    from discreet.privacy.curves import discrete_gaussian as discrete_gaussian
    from discreet.privacy.curves import discrete_laplace as discrete_laplace
    from discreet.privacy.curves import exponential as exponential
    from discreet.privacy.curves import finite_pair as finite_pair
    from discreet.privacy.curves import gaussian as gaussian
    from discreet.privacy.curves import laplace as laplace
    from discreet.privacy.curves import partition_selection as partition_selection
    from discreet.privacy.curves import permute_and_flip as permute_and_flip
    from discreet.privacy.curves import pure as pure
    from discreet.privacy.curves import randomized_response as randomized_response
    from discreet.privacy.curves import rdp as rdp
    from discreet.privacy.curves import sparse_vector as sparse_vector
    from discreet.privacy.curves import staircase as staircase
    from discreet.privacy.curves import zcdp as zcdp
    from discreet.privacy.filters import AdvancedFilter as AdvancedFilter
    from discreet.privacy.filters import AnyOf as AnyOf
    from discreet.privacy.filters import ApproximateFilter as ApproximateFilter
    from discreet.privacy.filters import GDPFilter as GDPFilter
    from discreet.privacy.filters import PureFilter as PureFilter
    from discreet.privacy.filters import RDPFilter as RDPFilter
    from discreet.privacy.filters import ZCDPFilter as ZCDPFilter
    from discreet.privacy.meanings import Meaning as Meaning
    from discreet.privacy.meanings import meaning as meaning
    from discreet.privacy.odometers import ApproximateOdometer as ApproximateOdometer
    from discreet.privacy.odometers import GDPOdometer as GDPOdometer
    from discreet.privacy.odometers import PureOdometer as PureOdometer
    from discreet.privacy.odometers import RDPOdometer as RDPOdometer
    from discreet.privacy.odometers import ZCDPOdometer as ZCDPOdometer
    from discreet.privacy.relations import Group as Group
    from discreet.privacy.relations import NeighborRelation as NeighborRelation
    from discreet.privacy.relations import Unit as Unit

_HOMES: dict[str, tuple[str, ...]] = {
    "calibration": (
        "calibrate",
        "calibrate_largest",
        "dpsgd_noise",
        "dpsgd_rate",
        "dpsgd_steps",
        "gaussian_sigma",
        "laplace_scale",
    ),
    "composition": ("compare",),
    "costs": ("Certificates", "Cost", "cost_of"),
    "curves": (
        "Curve",
        "FixedSize",
        "Poisson",
        "approximate",
        "discrete_gaussian",
        "discrete_laplace",
        "exponential",
        "finite_pair",
        "gaussian",
        "laplace",
        "partition_selection",
        "permute_and_flip",
        "pure",
        "randomized_response",
        "rdp",
        "sparse_vector",
        "staircase",
        "zcdp",
    ),
    "currencies": ("GDP", "RDP", "ZCDP", "Approximate", "Budget", "Pure"),
    "filters": ("AdvancedFilter", "AnyOf", "ApproximateFilter", "GDPFilter", "PureFilter", "RDPFilter", "ZCDPFilter"),
    "meanings": ("Meaning", "meaning"),
    "odometers": ("ApproximateOdometer", "GDPOdometer", "PureOdometer", "RDPOdometer", "ZCDPOdometer"),
    "relations": ("Group", "NeighborRelation", "Unit"),
}
_HOME_OF = {name: home for home, names in _HOMES.items() for name in names}

__all__ = sorted(_HOME_OF)  # noqa: PLE0605  the table above is the list


def __getattr__(name: str) -> object:
    """Import a name from its home when it is first used."""
    if name not in _HOME_OF:
        message = f"module {__name__!r} has no attribute {name!r}"
        raise AttributeError(message)
    value = getattr(importlib.import_module(f"{__name__}.{_HOME_OF[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    """List all public names, loaded or not."""
    return sorted({*globals(), *__all__})
