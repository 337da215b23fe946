"""Promises of every kind, for tests that hold for all of them."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING

from hypothesis import strategies as st

from discreet.privacy import GDP, RDP, ZCDP, Approximate, NeighborRelation, Pure

if TYPE_CHECKING:
    from discreet.privacy.currencies import Currency

costs = st.fractions(min_value=0, max_value=20, max_denominator=1000)
deltas = st.fractions(min_value=0, max_value=Fraction(1, 100), max_denominator=10**9)
neighbors = st.sampled_from([*NeighborRelation, NeighborRelation.ADD_REMOVE.group(3)])
orders = st.lists(
    st.fractions(min_value=Fraction(11, 10), max_value=256, max_denominator=100), min_size=1, max_size=6, unique=True
).map(sorted)


@st.composite
def rdps(draw: st.DrawFn) -> RDP:
    listed = draw(orders)
    values = draw(st.lists(costs, min_size=len(listed), max_size=len(listed)))
    return RDP(listed, values, neighbors=draw(neighbors))


promises: st.SearchStrategy[Currency] = st.one_of(
    st.builds(Pure, costs, neighbors=neighbors),
    st.builds(Approximate, costs, deltas, neighbors=neighbors),
    st.builds(ZCDP, costs, deltas, neighbors=neighbors),
    st.builds(GDP, costs, neighbors=neighbors),
    st.builds(lambda square, n: GDP(mu_squared=square, neighbors=n), costs, neighbors),
    rdps(),
)
