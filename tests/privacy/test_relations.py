"""Relations are part of a promise, and groups multiply."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.errors import ParameterError
from discreet.privacy import Group, NeighborRelation
from discreet.privacy.relations import group_size, read_relation, require_same_relation

relations = st.sampled_from(NeighborRelation)
sizes = st.integers(1, 50)


@given(relations, sizes, sizes)
def test_groups_of_groups_multiply(relation: NeighborRelation, inner: int, outer: int) -> None:
    assert group_size(relation.group(inner).group(outer)) == inner * outer
    assert relation.group(inner).group(outer) == relation.group(inner * outer)


@given(relations, sizes)
def test_a_relation_survives_its_text(relation: NeighborRelation, size: int) -> None:
    grouped = relation.group(size)
    assert read_relation(grouped.value) == grouped
    assert hash(read_relation(grouped.value)) == hash(grouped)


@pytest.mark.parametrize("text", ["", "add", "add_remove*", "add_remove*0", "add_remove*1", "add_remove*²", "*3", "3"])
def test_other_texts_are_refused(text: str) -> None:
    with pytest.raises(ParameterError):
        read_relation(text)


@pytest.mark.parametrize("size", [0, -1, 1.5, True, "2"])
def test_a_group_is_counted(size: int) -> None:
    with pytest.raises(ParameterError, match="group"):
        NeighborRelation.ADD_REMOVE.group(size)
    with pytest.raises(ParameterError, match="group"):
        Group(NeighborRelation.ADD_REMOVE, size)


def test_different_relations_do_not_combine() -> None:
    with pytest.raises(ParameterError, match=r"convert\.to_relation"):
        require_same_relation(NeighborRelation.ADD_REMOVE, NeighborRelation.CHANGE_ONE)
    with pytest.raises(ParameterError):
        require_same_relation(NeighborRelation.ADD_REMOVE, NeighborRelation.ADD_REMOVE.group(2))
