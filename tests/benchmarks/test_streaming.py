"""What the benchmark of streams computes and measures."""

from __future__ import annotations

from benchmarks import setup, streaming_peers
from benchmarks.streaming import bulk, changes, durable, errors


def test_errors_are_those_of_the_factorizations() -> None:
    found = errors(256)
    assert found["square_root, rho = 1/2"][1] < found["binary_tree (notes), rho = 1/2"][1]
    assert found["kary_tree, epsilon = 1"][0] < found["weighted_tree, epsilon = 1"][0]


def test_streams_are_timed_and_their_state_is_small() -> None:
    assert all(spent > 0 and size < 20_000 for spent, size in bulk(2000).values())
    assert set(durable(3)) == {"one durable add", "one ledger write"}


def test_places_of_changes_err_within_the_bound() -> None:
    rows = changes(3)
    assert [row[1] for row in rows] == ["0.1", "0.5", "1", "inf"] * 2
    assert all(0 <= share <= 1 and 0 <= bound <= 1 for _, _, share, bound, _ in rows)


def test_the_peer_is_pinned() -> None:
    assert {streaming_peers.OWN, *streaming_peers.PEERS} == set(streaming_peers.TITLES)
    for peer in streaming_peers.PEERS:
        assert peer in setup.PEERS
        assert setup.pins_of(peer).parent.name == "streaming_peers"
        assert "==" in setup.pins_of(peer).read_text(encoding="utf-8")
