"""What can befall a ledger on a server."""

from __future__ import annotations

import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from threading import Barrier
from typing import TYPE_CHECKING

import psycopg
import pytest

from discreet.errors import BudgetError, LedgerError
from discreet.ledgers import Entry, PostgresLedger, Session
from discreet.ledgers import postgres as postgres_module
from discreet.ledgers.line import FORMAT
from discreet.privacy import Pure
from tests.engines.servers import postgres
from tests.ledgers.stores import POLICY, Place, Text

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

pytestmark = pytest.mark.engine

COUNT = Entry("count", ("visits",))
DAILY = Entry("visits by day", ("visits",), kind="stream")


@pytest.fixture
def place(tmp_path: Path) -> Iterator[Place]:
    found = Place("postgres", tmp_path)
    yield found
    found.close()


def admin(place: Place, *statements: str) -> None:
    """Run statements in the ledger's schema, in a session of their own."""
    with psycopg.connect(postgres(), autocommit=True) as connection:
        connection.execute(f"SET search_path TO ledger{place.number}".encode())
        for statement in statements:
            connection.execute(statement.encode())


def test_every_commit_waits_for_the_disk(place: Place) -> None:
    ledger = place.open(POLICY)
    assert isinstance(ledger, PostgresLedger)
    with ledger._connected().cursor() as cursor:
        cursor.execute("SHOW synchronous_commit")
        assert cursor.fetchone() == ("on",)
        cursor.execute("SHOW search_path")
        assert cursor.fetchone() == (f"ledger{place.number}, pg_catalog",)
    ledger._connected().rollback()


def test_a_session_that_holds_the_lock_is_named(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(postgres_module, "_WAIT_SECONDS", 1)
    ledger = place.open(POLICY)
    with psycopg.connect(postgres()) as other:
        other.execute(f"LOCK TABLE ledger{place.number}.state IN EXCLUSIVE MODE".encode())
        assert ledger.remaining == Pure(3)  # readers do not wait
        with pytest.raises(LedgerError, match=r"is locked by another program .* End the transaction"):
            ledger.reserve(Pure(1), COUNT)
        other.rollback()
    ledger.reserve(Pure(1), COUNT)
    assert ledger.verify().ok


def ended(place: Place, ledger: PostgresLedger) -> None:
    """End the ledger's connection on the server, as a restart does."""
    assert ledger._connection is not None
    admin(place, f"SELECT pg_terminate_backend({ledger._connection.info.backend_pid}, 60000)")


def test_an_answer_is_recorded_although_the_server_was_restarted_meanwhile(place: Place) -> None:
    ledger = place.open(POLICY)
    assert isinstance(ledger, PostgresLedger)
    paid = ledger.reserve(Pure(1), COUNT)
    ended(place, ledger)
    ledger.record(paid, Text(7))
    ended(place, ledger)
    assert ledger.remaining == Pure(2)
    ended(place, ledger)
    ledger.reserve(Pure(1), COUNT)
    assert ledger.remaining == Pure(1)
    assert ledger.verify().ok


@pytest.mark.parametrize("act", ["state", "append", "set_sums"])
def test_a_connection_that_is_lost_on_the_way_is_told(place: Place, act: str, monkeypatch: pytest.MonkeyPatch) -> None:
    ledger = place.open(POLICY)
    assert isinstance(ledger, PostgresLedger)
    real = getattr(postgres_module._Page, act)

    def cut(page: object, *given: object) -> object:
        ended(place, ledger)
        return real(page, *given)

    with monkeypatch.context() as patch:
        patch.setattr(postgres_module._Page, act, cut)
        with pytest.raises(LedgerError, match=r"nothing was released. .* stays spent"):
            ledger.reserve(Pure(1), COUNT)
    assert ledger.remaining == Pure(3)
    ledger.reserve(Pure(1), COUNT)
    assert ledger.verify().ok


def test_a_full_disk_of_the_server_is_told(place: Place) -> None:
    """As on a file system of 110 MB that was filled: reservations fitted for a while, and no answer did."""
    ledger = place.open(POLICY)
    paid = ledger.reserve(Pure(1), COUNT)
    admin(
        place,
        "CREATE FUNCTION full_disk() RETURNS trigger LANGUAGE plpgsql AS $$BEGIN RAISE disk_full; END$$",
        "CREATE TRIGGER full_disk BEFORE INSERT ON lines EXECUTE FUNCTION full_disk()",
    )
    for act in (lambda: ledger.reserve(Pure(1), COUNT), lambda: ledger.record(paid, Text(7))):
        with pytest.raises(LedgerError, match=r"no space left on its disk; nothing was released. Free some space"):
            act()
    admin(place, "DROP TRIGGER full_disk ON lines")
    assert ledger.remaining == Pure(2)
    ledger.record(paid, Text(7))
    assert ledger.verify().ok


def test_a_newer_format_asks_for_an_upgrade(place: Place) -> None:
    place.open(POLICY).close()
    admin(place, f"UPDATE format SET version = {FORMAT + 1}")
    with pytest.raises(LedgerError, match="written by a newer Discreet"):
        place.open(POLICY)


def test_a_role_that_may_only_read_spends_nothing(place: Place) -> None:
    place.open(POLICY).close()
    role = f"reader{place.number}"
    admin(
        place,
        f"CREATE ROLE {role} LOGIN",
        f"GRANT USAGE ON SCHEMA ledger{place.number} TO {role}",
        f"GRANT SELECT ON ALL TABLES IN SCHEMA ledger{place.number} TO {role}",
    )
    with PostgresLedger(place.address.replace("postgres:", f"{role}:", 1)) as ledger:
        assert ledger.remaining == Pure(3)
        assert ledger.verify().ok
        with pytest.raises(LedgerError, match="cannot be written by this role; nothing was spent"):
            ledger.reserve(Pure(1), COUNT)


def test_an_edited_entry_and_an_older_copy_are_found(place: Place, tmp_path: Path) -> None:
    ledger = place.open(POLICY)
    ledger.reserve(Pure(1), COUNT)
    head = tmp_path / f"{place.number}.ledger.head"
    assert head.read_text().split()[1] == ledger.head.hash
    admin(place, "UPDATE lines SET line = replace(line, 'count', 'sum') WHERE number = 1")
    assert any("was edited" in problem for problem in ledger.verify().problems)
    admin(place, "DELETE FROM lines WHERE number = 1", "UPDATE state SET number = 0")
    with pytest.raises(LedgerError, match="knows an entry 1 that is not in it"):
        place.open(POLICY)
    found = PostgresLedger.unjoined(place.address, head)
    with found:
        assert any("cut off or rewritten" in problem for problem in found.verify().problems)


@pytest.mark.parametrize(
    "change", ["kind = 'part'", "question = 'zzz'", "reservation = 99", "number = 20", "number = -2"]
)
def test_edited_columns_are_found(place: Place, change: str) -> None:
    ledger = place.open(POLICY)
    ledger.record(ledger.reserve(Pure(1), COUNT), Text(7))
    assert ledger.verify().ok
    admin(place, f"UPDATE lines SET {change} WHERE kind = 'recorded'")
    assert any("entry 2 is kept under another" in problem for problem in ledger.verify().problems)


def test_the_password_is_in_no_message() -> None:
    with pytest.raises(LedgerError) as caught:
        PostgresLedger("postgresql://me:secret@127.0.0.1:1/x?connect_timeout=2", POLICY)
    assert "secret" not in str(caught.value)
    assert "me" not in str(caught.value).partition(" does not answer")[0]


def test_what_is_reserved_after_an_interrupt_is_durable(tmp_path: Path) -> None:
    """An interrupt in the middle of a BEGIN leaves a transaction open; a later one within it would not be committed."""
    place = Place("postgres", tmp_path)
    first, second = place.open(POLICY), place.open(POLICY)
    assert isinstance(first, PostgresLedger)
    first._connected().execute("SELECT 1")  # begins a transaction, as psycopg does, and ends none
    first.reserve(Pure(1), Entry("q", ("visits",)))
    assert second.remaining == Pure(2)
    place.close()


@pytest.mark.parametrize("isolation", ["repeatable read", "serializable"])
def test_the_defaults_of_a_role_change_nothing_in_a_race(place: Place, isolation: str) -> None:
    """Who waited for the lock saw what was there before it waited, and took a new ledger for one of the future."""
    role = f"racing{place.number}"
    with psycopg.connect(postgres(), autocommit=True) as connection:
        connection.execute(f"CREATE ROLE {role} LOGIN SUPERUSER".encode())
        connection.execute(f"ALTER ROLE {role} SET default_transaction_isolation = '{isolation}'".encode())
        connection.execute(f"ALTER ROLE {role} SET default_transaction_read_only = on".encode())
    address = place.address.replace("://postgres:", f"://{role}:")
    assert role in address
    gate = Barrier(8)

    def spend(number: int) -> int:
        gate.wait()
        taken = 0
        with PostgresLedger(address, POLICY) as ledger:
            for turn in range(5):
                with suppress(BudgetError):
                    ledger.reserve(Pure("0.25"), Entry(f"{number} {turn}", ("visits",)))
                    taken += 1
        return taken

    with ThreadPoolExecutor(8) as pool:
        assert sum(pool.map(spend, range(8))) == 12
    ledger = place.open(POLICY)
    assert ledger.remaining == Pure(0)
    assert ledger.verify().ok


_SPENDING = """
import sys
from discreet.errors import BudgetError
from discreet.ledgers import Entry, PostgresLedger, Session
from discreet.privacy import Pure
from tests.ledgers.stores import POLICY

taken = 0
with PostgresLedger(sys.argv[1], POLICY) as ledger:
    try:
        for turn in range(9):
            ledger.reserve(Pure("0.25"), Entry(f"{sys.argv[2]} {turn}", ("visits",)))
            taken += 1
    except BudgetError:
        pass
print(taken)
"""


def test_processes_that_create_and_spend_at_once_share_one_budget(place: Place) -> None:
    runs = [
        subprocess.Popen([sys.executable, "-c", _SPENDING, place.address, str(number)], stdout=subprocess.PIPE)
        for number in range(4)
    ]
    assert sum(int(run.communicate(timeout=120)[0]) for run in runs) == 12
    ledger = place.open(POLICY)
    assert [len(list(ledger.entries(kind=kind))) for kind in ("opened", "reserved")] == [1, 12]
    assert ledger.verify().ok


def test_nobody_else_may_read_a_ledger_on_a_server(place: Place) -> None:
    """Also where all tables are granted to everybody by default."""
    with psycopg.connect(postgres(), autocommit=True) as connection:
        connection.execute("ALTER DEFAULT PRIVILEGES GRANT SELECT ON TABLES TO PUBLIC")
        try:
            place.open(POLICY)
            query = "SELECT count(*) FROM pg_class c, aclexplode(c.relacl) a WHERE relnamespace = %s::regnamespace AND "
            rights = connection.execute((query + "a.grantee = 0").encode(), [f"ledger{place.number}"]).fetchone()
        finally:
            connection.execute("ALTER DEFAULT PRIVILEGES REVOKE SELECT ON TABLES FROM PUBLIC")
    assert rights == (0,)


def test_nobody_else_may_read_the_sealed_state_of_a_session(place: Place) -> None:
    """Also those to whom all tables of the schema were granted, before and after."""
    ledger, role = place.open(POLICY), f"reader{place.number}"
    all_tables = f"GRANT SELECT ON ALL TABLES IN SCHEMA ledger{place.number} TO {role}, PUBLIC"
    admin(place, f"CREATE ROLE {role}", all_tables)
    with Session.open(ledger, Pure(1), DAILY) as session:
        assert readers(place, role) == (False, True)
        admin(place, all_tables)
        session.append([Text(1)], state=b"private")
        assert readers(place, role) == (False, True)
    admin(place, f"REASSIGN OWNED BY {role} TO postgres", f"DROP OWNED BY {role}", f"DROP ROLE {role}")


def readers(place: Place, role: str) -> tuple[bool, ...]:
    """Whether a role may read the sealed states, and the entries."""
    query = "SELECT has_table_privilege(%s, %s, 'SELECT')"
    with psycopg.connect(postgres()) as connection:
        rows = [
            connection.execute(query, (role, f"ledger{place.number}.{table}")).fetchone()
            for table in ("sealed", "lines")
        ]
    return tuple(row is not None and row[0] for row in rows)


def test_state_on_a_server_that_is_missing_cut_or_older_is_refused(place: Place) -> None:
    ledger = place.open(POLICY)
    with Session.open(ledger, Pure(1), DAILY) as session:
        session.append([Text(1)], state=b"first")
        admin(place, "CREATE TABLE kept AS SELECT * FROM sealed")
        session.append([Text(2)], state=b"second")
    admin(place, "CREATE TABLE newest AS SELECT * FROM sealed")
    older = "INSERT INTO sealed SELECT * FROM kept"
    forged = "INSERT INTO sealed SELECT kept.reservation, newest.seal, kept.content FROM kept, newest"
    cut = "INSERT INTO sealed SELECT reservation, seal, substring(content FROM 1 FOR 36) FROM newest"
    for insert, what in (("", "missing"), (older, "missing"), (forged, "cut, damaged or of"), (cut, "cut")):
        admin(place, "DELETE FROM sealed", *filter(None, [insert]))
        with pytest.raises(LedgerError, match=f"sealed state of the session is {what}"):
            Session.open(ledger, Pure(1), DAILY)
    admin(place, "DELETE FROM sealed", "INSERT INTO sealed SELECT * FROM newest")
    with Session.open(ledger, Pure(1), DAILY) as session:
        assert (session.state, len(session.parts)) == (b"second", 2)
    assert ledger.remaining == Pure(2)
