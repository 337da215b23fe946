"""The benchmark of anonymity: its peer is pinned, and missing it is said and fails nothing."""

from __future__ import annotations

from benchmarks import anonymity, anonymity_peers, setup


def test_the_peer_is_pinned() -> None:
    for peer in anonymity_peers.PEERS:
        assert peer in setup.PEERS
        assert setup.pins_of(peer).parent.name == "anonymity_peers"
        assert f"{peer}==" in setup.pins_of(peer).read_text(encoding="utf-8")


def test_generated_people_are_as_many_and_as_uneven_as_said() -> None:
    people = anonymity.generated(2_000)
    assert set(people.column_names) == {*anonymity.QUASI, anonymity.SENSITIVE}
    for name, values in anonymity.VALUES.items():
        counts = sorted((row["counts"] for row in people[name].value_counts().to_pylist()), reverse=True)
        assert len(counts) <= values
        assert counts[0] > 2_000 / 3  # the first weighs 1 of at most zeta(1.5) = 2.62
