"""What a refusal says to write instead is answered: each kind is refused, its advice is followed, and asked again."""

from __future__ import annotations

import re

import pytest

from discreet.errors import QueryRefused
from discreet.plans import plan_sql
from tests.corpus.reading import POLICY

CASES = [
    ("SELECT * FROM orders", "COUNT(*)", "SELECT COUNT(*) FROM orders"),
    ("SELECT status FROM orders", "GROUP BY status", "SELECT status, COUNT(*) FROM orders GROUP BY status"),
    ("SELECT total FROM orders", "AVG(total)", "SELECT AVG(total) FROM orders"),
    ("SELECT customer_id FROM orders", "COUNT(DISTINCT customer_id)", "SELECT COUNT(DISTINCT customer_id) FROM orders"),
    (
        "SELECT customer_id, COUNT(*) FROM orders GROUP BY customer_id",
        "a subquery grouped by the unit",
        "SELECT AVG(n) FROM (SELECT customer_id, COUNT(*) AS n FROM orders GROUP BY customer_id) AS q",
    ),
    ("SELECT SUM(score) FROM customers", "LEAST(GREATEST", "SELECT SUM(LEAST(GREATEST(score, 0), 9)) FROM customers"),
    ("SELECT SUM(DISTINCT total) FROM orders", "COUNT(DISTINCT x)", "SELECT COUNT(DISTINCT total) FROM orders"),
    ("SELECT SUM(DISTINCT total) FROM orders", "another number", "SELECT SUM(total) FROM orders"),
    (
        "SELECT MAX(email) FROM customers",
        "COUNT(*) grouped by it",
        "SELECT email, COUNT(*) FROM customers GROUP BY email",
    ),
    (
        "SELECT MODE(status) FROM orders",
        "ORDER BY",
        "SELECT status, COUNT(*) FROM orders GROUP BY 1 ORDER BY 2 DESC LIMIT 1",
    ),
    ("SELECT BOOL_OR(active) FROM customers", "FILTER", "SELECT COUNT(*) FILTER (WHERE active) FROM customers"),
    ("SELECT ANY_VALUE(total) FROM orders", "MEDIAN", "SELECT MEDIAN(total) FROM orders"),
    (
        "SELECT COUNT(*) FROM orders a JOIN orders b ON a.store_id = b.store_id",
        "ON a.customer_id = b.customer_id",
        "SELECT COUNT(*) FROM orders a JOIN orders b ON a.customer_id = b.customer_id AND a.store_id = b.store_id",
    ),
    (
        "SELECT COUNT(*) FROM customers c, orders o",
        "JOIN … ON",
        "SELECT COUNT(*) FROM customers c JOIN orders o ON c.customer_id = o.customer_id",
    ),
    (
        "SELECT COUNT(*) FROM customers NATURAL JOIN orders",
        "USING",
        "SELECT COUNT(*) FROM customers JOIN orders USING (customer_id)",
    ),
    (
        "SELECT COUNT(*) FROM customers c LEFT JOIN orders o ON o.customer_id = c.customer_id AND o.total > c.age",
        "LEFT JOIN (SELECT * FROM b WHERE …)",
        "SELECT COUNT(*) FROM customers c LEFT JOIN (SELECT * FROM orders WHERE total > 9) AS o USING (customer_id)",
    ),
    (
        "SELECT COUNT(*) FROM customers ANTI JOIN orders USING (customer_id)",
        "NOT EXISTS",
        "SELECT COUNT(*) FROM customers c WHERE NOT EXISTS (SELECT 1 FROM orders WHERE customer_id = c.customer_id)",
    ),
    (
        "SELECT COUNT(*) FROM orders WHERE total > 5 OR customer_id IN (SELECT customer_id FROM customers)",
        "LEFT JOIN a subquery grouped by the unit",
        """SELECT COUNT(*) FROM orders o
        LEFT JOIN (SELECT customer_id, COUNT(*) AS n FROM customers GROUP BY customer_id) AS c USING (customer_id)
        WHERE o.total > 5 OR c.n IS NOT NULL""",
    ),
    ("SELECT COUNT(*) FROM orders WHERE tags = NULL", "x IS NULL", "SELECT COUNT(*) FROM orders WHERE tags IS NULL"),
    (
        "SELECT COUNT(*) FROM orders WHERE status IN ('placed', NULL)",
        "OR x IS NULL",
        "SELECT COUNT(*) FROM orders WHERE status IN ('placed') OR status IS NULL",
    ),
    (
        "SELECT COUNT(*) FROM customers WHERE email SIMILAR TO 'a%'",
        "REGEXP_MATCHES",
        "SELECT COUNT(*) FROM customers WHERE REGEXP_MATCHES(email, '^[a-z]+[0-9]')",
    ),
    (
        "SELECT COUNT(*) FROM customers WHERE regexp_matches(email, '(a|b)+')",
        "'^[A-Z][0-9]{2}|cold'",
        "SELECT COUNT(*) FROM customers WHERE regexp_matches(email, '^[A-Z][0-9]{2}|cold')",
    ),
    (
        "SELECT COUNT(*) FROM customers WHERE email ~ 'a'",
        "REGEXP_FULL_MATCH",
        "SELECT COUNT(*) FROM customers WHERE REGEXP_FULL_MATCH(email, 'all of it')",
    ),
    (
        "SELECT AVG(POWER(total, 0.5)) FROM orders",
        "SQRT(x)",
        "SELECT AVG(SQRT(total)) FROM orders",
    ),
    (
        "SELECT COUNT(*) FROM orders WHERE ordered_at > shipped_at - INTERVAL 1 MONTH",
        "DATE_DIFF('day', a, b) < 30",
        "SELECT COUNT(*) FROM orders WHERE DATE_DIFF('day', ordered_at, shipped_at) < 30",
    ),
    (
        "SELECT COUNT(*) FROM orders WHERE DATE_TRUNC('month', order_date) - INTERVAL 1 MONTH > order_date",
        "DATE '2024-02-01' - INTERVAL 1 MONTH",
        "SELECT COUNT(*) FROM orders WHERE order_date > DATE '2024-02-01' - INTERVAL 1 MONTH",
    ),
    (
        "SELECT STRFTIME(order_date, '%c') AS d, COUNT(*) FROM orders GROUP BY d",
        "STRFTIME(x, '%Y-%m')",
        "SELECT STRFTIME(order_date, '%Y-%m') AS d, COUNT(*) FROM orders GROUP BY d",
    ),
    (
        "SELECT tag, COUNT(*) FROM (SELECT UNNEST(STRING_SPLIT(tags, ',')) AS tag FROM orders) AS t GROUP BY tag",
        "UNNEST(STRING_SPLIT(x, ',')[1:3])",
        "SELECT tag, COUNT(*) FROM (SELECT UNNEST(STRING_SPLIT(tags, ',')[1:3]) AS tag FROM orders) AS t GROUP BY tag",
    ),
    (
        "SELECT COUNT(*) FROM (SELECT total FROM orders UNION SELECT age FROM customers) AS t",
        "the unit among the columns",
        "SELECT COUNT(*) FROM (SELECT customer_id, total FROM orders UNION SELECT customer_id, age FROM customers) t",
    ),
    (
        "SELECT COUNT(*) FROM (SELECT DISTINCT total FROM orders) AS t",
        "SELECT DISTINCT with the unit column",
        "SELECT COUNT(*) FROM (SELECT DISTINCT customer_id, total FROM orders) AS t",
    ),
    (
        "SELECT COUNT(*) FROM (SELECT total FROM orders LIMIT 5) AS t",
        "LIMIT at the end",
        "SELECT status, COUNT(*) AS n FROM orders GROUP BY status ORDER BY n DESC LIMIT 2",
    ),
    (
        "SELECT DISTINCT COUNT(*) FROM orders GROUP BY status",
        "the same without DISTINCT",
        "SELECT COUNT(*) FROM orders GROUP BY status",
    ),
    (
        "SELECT COUNT(*) FROM orders WHERE LOWER(status) = 3",
        "CAST",
        "SELECT COUNT(*) FROM orders WHERE LOWER(status) = CAST(3 AS VARCHAR)",
    ),
    ("SELECT COUNT(*) FROM customers WHERE state = 'CAL'", "'CA'", "SELECT COUNT(*) FROM customers WHERE state = 'CA'"),
    ("SELECT COUNT(*) FROM order", "orders", "SELECT COUNT(*) FROM orders"),
    ("SELECT SUM(totl) FROM orders", "total", "SELECT SUM(total) FROM orders"),
    (
        "SELECT HISTOGRAM(total) FROM orders",
        "HISTOGRAM(x, [0, 10, 20])",
        "SELECT HISTOGRAM(total, [0, 10, 20]) FROM orders",
    ),
    (
        "SELECT REPLACE(tags, '', 'x') AS t, COUNT(*) FROM orders GROUP BY t",
        "one character or more",
        "SELECT REPLACE(tags, ' ', 'x') AS t, COUNT(*) FROM orders GROUP BY t",
    ),
    (
        "SELECT COUNT(*) FROM orders WHERE CAST(ordered_at AS TIME) < total",
        "CAST(x AS TIME) < '08:30'",
        "SELECT COUNT(*) FROM orders WHERE CAST(ordered_at AS TIME) < '08:30'",
    ),
    (
        "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (epsilon = 1, privacy_unit_column = order_id) COUNT(*) FROM orders",
        "privacy_unit_column = customer_id",
        "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (privacy_unit_column = customer_id) COUNT(*) FROM orders",
    ),
]


@pytest.mark.parametrize("asked, advice, followed", CASES, ids=[case[0][:80] for case in CASES])
def test_the_advice_of_a_refusal_is_answered(asked: str, advice: str, followed: str) -> None:
    with pytest.raises(QueryRefused) as caught:
        plan_sql(POLICY, asked)
    assert advice in caught.value.instead or advice in str(caught.value), str(caught.value)
    assert plan_sql(POLICY, followed).key


FORBIDDEN = re.compile(r"\b[lr]\.|\bIts [A-Z]{2}|Anonymous|DType|exp\.|this=|TsOrDs|StrTo|Window\b")


@pytest.mark.parametrize("asked", [case[0] for case in CASES])
def test_a_refusal_has_no_words_of_the_parser_nor_names_of_ours(asked: str) -> None:
    with pytest.raises(QueryRefused) as caught:
        plan_sql(POLICY, asked)
    assert FORBIDDEN.search(str(caught.value)) is None
    assert caught.value.why[0].isupper()
    assert caught.value.why[-1] in ".?"
    joined = asked.replace("FROM orders ", "FROM customers AS c0 JOIN orders USING (customer_id) ")
    with pytest.raises(QueryRefused) as deeper:
        plan_sql(POLICY, joined)
    assert FORBIDDEN.search(str(deeper.value)) is None
