"""Everything that a refusal says to write instead is followed in a question, and that is answered."""

from __future__ import annotations

import pytest

from discreet.plans.shell import read_sql
from discreet.releases.shell.tables import kind_of
from tests.corpus.reading import POLICY
from tests.plans.advice import all_advice

_SHAPES = {
    "?": "SELECT COUNT(*) FROM orders WHERE {}",
    "#": "SELECT {} AS k, COUNT(*) FROM orders GROUP BY 1",
    "=": "SELECT {} FROM orders",
    "~": "SELECT COUNT(*) FROM orders AS a {}",
}
_BY_STATUS = "(SELECT status, COUNT(*) AS n FROM orders GROUP BY status)"
_PER_UNIT = "(SELECT customer_id, COUNT(*) AS n FROM orders GROUP BY customer_id)"
_PLAIN = "= COUNT(*)"

FOLLOWED = {
    "it in a plain question, or COUNT(*) FILTER (WHERE …) for each bin.": "= HISTOGRAM(total, [0, 250, 500])",
    "it outside of subqueries that hold rows of units; totals are added up from released groups.": (
        "SELECT status, COUNT(*) AS n FROM orders GROUP BY ROLLUP (status)"
    ),
    "%Y, %m, %d, %H, %M, %S, %j, %V, %u, %B, %b, %A, %a, such as STRFTIME(x, '%Y-%m').": (
        "# STRFTIME(ordered_at, '%Y %m %d %H %M %S %j %V %u %B %b %A %a')"
    ),
    "',' for example.": "spark: SELECT EXPLODE(SLICE(SPLIT(tags, ','), 1, 3)) AS t, COUNT(*) FROM orders GROUP BY 1",
    "'i'": "? REGEXP_MATCHES(tags, 'gift', 'i')",
    "(a, b) IN ((1, 2), (3, 4))": "? (quantity, priority) IN ((1, 2), (3, 4))",
    "0.5": "= QUANTILE_CONT(total, 0.5)",
    "AGE(CURRENT_DATE, {})": "# EXTRACT(year FROM AGE(CURRENT_DATE, order_date))",
    "AS names within its SELECT.": "SELECT COUNT(*) FROM (SELECT total AS t FROM orders) AS q WHERE t > 5",
    "AVG(n) FROM (SELECT unit, COUNT(*) AS n FROM … GROUP BY unit)": f"SELECT AVG(n) FROM {_PER_UNIT}",
    "BOOLEAN, BIGINT, DOUBLE, DECIMAL(18, 2), VARCHAR, DATE or TIMESTAMP.": (
        "= AVG(quantity::BIGINT), AVG(quantity::DOUBLE), SUM(total::DECIMAL(18, 2)), COUNT(quantity::VARCHAR), "
        "COUNT(ordered_at::DATE), COUNT(order_date::TIMESTAMP), COUNT((quantity > 1)::BOOLEAN)"
    ),
    "CAST(x AS TIME) < '08:30'": "? CAST(ordered_at AS TIME) < '08:30'",
    "CAST(x AS {})": "? CAST(tags AS TIMESTAMP) > '2024-01-01'",
    "CONCAT(a, b)": "# CONCAT(status, priority)",
    "CONCAT_WS(', ', a, b)": "# CONCAT_WS(', ', status, priority)",
    "COUNT(*)": _PLAIN,
    "COUNT(*) FILTER (WHERE x)": "= COUNT(*) FILTER (WHERE total > 5)",
    "COUNT(*) grouped by it.": "# status",
    "COUNT(*) grouped by the column, ORDER BY … LIMIT 1.": (
        "SELECT status, COUNT(*) AS n FROM orders GROUP BY status ORDER BY n DESC LIMIT 1"
    ),
    "COUNT(*), AVG(x) or SUM(x).": "= COUNT(*), AVG(total), SUM(total)",
    "COUNT(DISTINCT x)": "= COUNT(DISTINCT channel)",
    "COUNT(DISTINCT x); or {}(x), another number: equal values count as often as they occur.": (
        "= COUNT(DISTINCT total), SUM(total)"
    ),
    "COUNT(DISTINCT {}), or a subquery grouped by it.": "= COUNT(DISTINCT customer_id)",
    "COUNT, SUM, AVG, MEDIAN or a histogram.": "= COUNT(*), SUM(total), AVG(total), MEDIAN(total)",
    "COUNT, SUM, AVG, MEDIAN, QUANTILE_CONT, MIN, MAX, VARIANCE, STDDEV, COVAR_POP, CORR or HISTOGRAM, in the SELECT "
    "list or HAVING.": (
        "= QUANTILE_CONT(total, 0.2), MIN(total), MAX(total), VARIANCE(total), STDDEV(total), "
        "COVAR_POP(total, quantity), CORR(total, quantity)"
    ),
    "COUNT, SUM, AVG, MIN or MAX per unit.": (
        "SELECT AVG(a + b + c + d + n) FROM (SELECT customer_id, SUM(total) AS a, AVG(total) AS b, MIN(total) AS c, "
        "MAX(total) AS d, COUNT(*) AS n FROM orders GROUP BY customer_id)"
    ),
    "DATE '2024-02-01' or TIMESTAMP '2024-02-01 12:00:00'.": "? ordered_at > TIMESTAMP '2024-02-01 12:00:00'",
    "DATE_DIFF('day', earlier, later)": "= AVG(DATE_DIFF('day', ordered_at, shipped_at))",
    "DATE_DIFF('minute', a, b)": "? DATE_DIFF('minute', ordered_at, shipped_at) < 9",
    "DATE_TRUNC('month', x)": "# DATE_TRUNC('month', order_date)",
    "DOUBLE": "= AVG(quantity::DOUBLE)",
    "EXISTS (SELECT 1 FROM b WHERE b.unit = a.unit AND b.x = a.x)": (
        "~ WHERE EXISTS (SELECT 1 FROM orders AS b WHERE b.customer_id = a.customer_id AND b.status = a.status)"
    ),
    "EXISTS (SELECT 1 FROM b WHERE b.unit = a.unit)": (
        "~ WHERE EXISTS (SELECT 1 FROM customers AS b WHERE b.customer_id = a.customer_id)"
    ),
    "EXISTS (SELECT 1 …); for a number per unit, unit IN (SELECT unit … GROUP BY unit HAVING …).": (
        "? customer_id IN (SELECT customer_id FROM orders GROUP BY customer_id HAVING COUNT(*) > 2)"
    ),
    "EXTRACT(epoch FROM x)": "? EXTRACT(epoch FROM ordered_at) > 1700000000",
    "EXTRACT(isodow FROM x)": "# EXTRACT(isodow FROM order_date)",
    "EXTRACT(year FROM AGE(later, earlier))": "# EXTRACT(year FROM AGE(shipped_at, ordered_at))",
    "FROM a table.": _PLAIN,
    "FROM generate_series(1, 12) AS t(x), with constants.": (
        f"SELECT t.x, q.n FROM generate_series(1, 12) AS t(x) CROSS JOIN {_BY_STATUS} AS q"
    ),
    "GROUP BY 1, or the column's name.": "SELECT status, COUNT(*) FROM orders GROUP BY 1",
    "GROUP BY a column.": "SELECT status, COUNT(*) FROM orders GROUP BY status",
    "GROUP BY a, b": "SELECT status, priority, COUNT(*) FROM orders GROUP BY status, priority",
    "GROUP BY the unit column, perhaps with others, in the subquery.": f"SELECT AVG(n) FROM {_PER_UNIT}",
    "GROUPING(a key)": "SELECT status, GROUPING(status), COUNT(*) FROM orders GROUP BY ROLLUP (status)",
    "HAVING": "SELECT status, COUNT(*) FROM orders GROUP BY status HAVING COUNT(*) > 3",
    "HAVING, or ORDER BY … LIMIT at the end.": (
        "SELECT status, COUNT(*) FROM orders GROUP BY status HAVING COUNT(*) > 3 ORDER BY 2 LIMIT 2"
    ),
    "HISTOGRAM(x, [0, 10, 20])": "= HISTOGRAM(total, [0, 10, 20])",
    "INTERVAL 30 DAY": "? order_date > CURRENT_DATE - INTERVAL 30 DAY",
    "INTERVAL 30 DAY, or INTERVAL '1 month'.": "? order_date > CURRENT_DATE - INTERVAL '1 month'",
    "JOIN … ON a.unit = b.unit": "~ JOIN customers AS b ON a.customer_id = b.customer_id",
    "JOIN … USING (unit), or ON a.unit = b.unit": "~ JOIN customers USING (customer_id)",
    "LATERAL VIEW explode(slice(split(x, ','), 1, 3)) t AS part; or a JOIN with a subquery grouped by the unit.": (
        "spark: SELECT part, COUNT(*) FROM orders LATERAL VIEW explode(slice(split(tags, ','), 1, 3)) t AS part "
        "GROUP BY part"
    ),
    "LIMIT 10": "SELECT status, COUNT(*) FROM orders GROUP BY status LIMIT 10",
    "LIMIT with a larger number.": "SELECT status, COUNT(*) FROM orders GROUP BY status LIMIT 20",
    "NOT EXISTS, or WHERE … IS NOT NULL inside.": (
        "? zip NOT IN (SELECT store_id FROM stores WHERE store_id IS NOT NULL)"
    ),
    "ON with columns that are equal, or LIMIT in a subquery.": (
        f"SELECT a.n, b.n FROM {_BY_STATUS} AS a JOIN {_BY_STATUS} AS b ON a.status = b.status"
    ),
    "OPTIONS (epsilon = 1, delta = 1e-9)": (
        "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (epsilon = 1, delta = 1e-9) COUNT(*) FROM orders"
    ),
    "ORDER BY 1, or an output's name.": "SELECT status AS s, COUNT(*) FROM orders GROUP BY 1 ORDER BY s",
    "ORDER BY and LIMIT at the end of the whole question.": (
        "SELECT status, COUNT(*) FROM orders GROUP BY status ORDER BY 2 LIMIT 3"
    ),
    "PERCENTILE_CONT(0.5) WITHIN GROUP (ORDER BY x)": "= PERCENTILE_CONT(0.5) WITHIN GROUP (ORDER BY total)",
    "QUANTILE_CONT(x, 0.5), PERCENTILE_CONT(0.5) WITHIN GROUP (ORDER BY x), or MEDIAN(x).": (
        "= QUANTILE_CONT(total, 0.5), MEDIAN(total)"
    ),
    "REGEXP_MATCHES(x, 'part') or REGEXP_FULL_MATCH(x, 'all of it').": (
        "? REGEXP_MATCHES(tags, 'part') OR REGEXP_FULL_MATCH(tags, 'all of it')"
    ),
    "SELECT COUNT(*) FROM (… UNION ALL …) AS both, or another SELECT.": (
        "SELECT COUNT(*) FROM (SELECT total FROM orders UNION ALL SELECT total FROM orders) AS both"
    ),
    "SELECT DISTINCT with the unit column among the columns, or COUNT(DISTINCT …).": (
        "SELECT COUNT(*) FROM (SELECT DISTINCT customer_id, status FROM orders) AS q"
    ),
    "SELECT without DISTINCT.": f"SELECT AVG(n) FROM {_PER_UNIT}",
    "SELECT … ; SELECT …": _PLAIN,
    "SELECT … FROM a table.": _PLAIN,
    "SELECT … FROM …": _PLAIN,
    "SPLIT_PART(x, ',', 1)": "# SPLIT_PART(tags, ',', 1)",
    "SQRT(x), or EXP(y * LN(x)).": "= AVG(SQRT(total)), AVG(EXP(0.3 * LN(total + 1)))",
    "STRFTIME(x, '%Y-%m')": "# STRFTIME(order_date, '%Y-%m')",
    "SUBSTRING(x, 1, 3)": "# SUBSTRING(tags, 1, 3)",
    "SUBSTRING(x, 1, n) = 'prefix'": "? SUBSTRING(tags, 1, 6) = 'prefix'",
    "SUM(CASE WHEN … THEN x END)": (
        "SELECT AVG(s) FROM (SELECT customer_id, SUM(CASE WHEN priority > 2 THEN total END) s FROM orders GROUP BY 1)"
    ),
    "TIME_BUCKET(INTERVAL '7 days', x)": "# TIME_BUCKET(INTERVAL '7 days', order_date)",
    "TO_CHAR(x, 'YYYY-MM')": "# TO_CHAR(order_date, 'YYYY-MM')",
    "WHERE": "SELECT COUNT(*) FROM (SELECT total FROM orders WHERE total > 3) AS q",
    "WHERE inner.unit = outer.unit AND conditions on the inner table.": (
        "~ WHERE EXISTS (SELECT 1 FROM orders AS b WHERE b.customer_id = a.customer_id AND b.total > 9)"
    ),
    "WHERE patient_id IN (SELECT …) AND …; for OR, LEFT JOIN a subquery grouped by the unit.": (
        f"~ LEFT JOIN {_PER_UNIT} AS b ON a.customer_id = b.customer_id WHERE a.total > 5 OR b.n IS NOT NULL"
    ),
    "WIDTH_BUCKET(x, 0, 100, 10)": "# WIDTH_BUCKET(total, 0, 100, 10)",
    "WITH without RECURSIVE.": "WITH q AS (SELECT total FROM orders) SELECT COUNT(*) FROM q",
    "YEAR(x), for example.": "# YEAR(order_date)",
    "[0-9] for \\d": "? REGEXP_MATCHES(tags, '[0-9]', 'i')",
    "_ for a single character of any kind.": "? tags LIKE 'a_b'",
    "a GROUP BY, a subquery grouped by the unit, or arithmetic on the released answer.": (
        "SELECT status, COUNT(*) - LAG(COUNT(*)) OVER (ORDER BY status) AS d FROM orders GROUP BY status"
    ),
    "a IS NULL AND b = 1, joined by OR.": "? (tags IS NULL AND quantity = 1) OR quantity = 2",
    "a column with known keys, in its WHERE.": (
        "~ WHERE total > (SELECT AVG(total) FROM orders AS b WHERE b.status = a.status)"
    ),
    "a column with known keys; or GROUP BY the column, where any of its groups are chosen.": (
        "SELECT channel, COUNT(*) FROM orders WHERE channel IN "
        "(SELECT channel FROM orders GROUP BY channel HAVING COUNT(*) > 9) GROUP BY channel"
    ),
    "a constant, such as DATE '2024-02-01' - INTERVAL 1 MONTH; day + 7; or DATE_DIFF('day', a, b) < 30.": (
        "? order_date > DATE '2024-02-01' - INTERVAL 1 MONTH AND order_date + 7 < '2024-06-01' "
        "AND DATE_DIFF('day', ordered_at, shipped_at) < 30"
    ),
    "a constant, such as DATE '2024-02-01'.": "? order_date > DATE '2024-02-01'",
    "a constant, such as DATE '2024-03-31'.": f"SELECT status, n, DATE '2024-03-31' AS day FROM {_BY_STATUS}",
    "a decimal number, such as 0.5.": "? total > 0.5",
    "a flatter question.": _PLAIN,
    "a flatter question: (a + b) + (c + d) for a + b + c + d.": "= SUM((total + quantity) + (priority + total))",
    "a flatter question; WITH gives a subquery a name.": (
        "WITH q AS (SELECT total FROM orders) SELECT COUNT(*) FROM q"
    ),
    "a name for each: expression AS name.": "SELECT status AS a, COUNT(*) AS b FROM orders GROUP BY status ORDER BY b",
    "a number of magnitude below 9e18.": "? total < 8e18",
    "a number such as 3.": "SELECT status, COUNT(*) FROM orders GROUP BY 1 LIMIT 3",
    "a number, a text in single quotes, TRUE, FALSE or a date.": "? status IN ('placed', 'shipped')",
    "a number, such as 10.": "SELECT status, COUNT(*) FROM orders GROUP BY 1 LIMIT 10",
    "a number.": "= QUANTILE_CONT(total, 0.5)",
    "a question with fewer.": _PLAIN,
    "a shorter one, without zeros and halves of surrogate pairs.": _PLAIN,
    "a shorter text, without zeros and halves of surrogate pairs.": "? tags = 'gift'",
    "a smaller one.": _PLAIN,
    "a smaller question.": _PLAIN,
    "a subquery for the first.": (
        "SELECT t, UNNEST(STRING_SPLIT(channel, '-')[1:2]) AS c, COUNT(*) FROM "
        "(SELECT customer_id, channel, UNNEST(STRING_SPLIT(tags, ',')[1:3]) AS t FROM orders) AS q GROUP BY 1, 2"
    ),
    "a subquery grouped by the unit whose results are aggregated, or COUNT(DISTINCT unit).": (
        f"SELECT SUM(n) FROM {_PER_UNIT}"
    ),
    "a subquery: (SELECT UNNEST(STRING_SPLIT(x, ',')[1:3]) AS y FROM …)": (
        "SELECT y, COUNT(*) FROM (SELECT UNNEST(STRING_SPLIT(tags, ',')[1:3]) AS y FROM orders) AS q GROUP BY y"
    ),
    "a text in single quotes.": "? tags LIKE 'm%'",
    "age > 40": "? total > 40",
    "aggregates on both sides.": (
        "SELECT status, COUNT(*) FROM orders GROUP BY 1 UNION ALL SELECT 'all', COUNT(*) FROM orders"
    ),
    "an aggregate in it.": "SELECT city FROM stores WHERE store_id IN (SELECT store_id FROM orders GROUP BY store_id)",
    "an aggregate of each, joined with each other.": (
        f"SELECT q.status, q.n, r.s FROM {_BY_STATUS} AS q "
        "JOIN (SELECT status, SUM(total) AS s FROM orders GROUP BY status) AS r USING (status)"
    ),
    "another name for one of them: table AS name.": "~ JOIN orders AS b ON a.customer_id = b.customer_id",
    "another name for one.": "SELECT SUM(other) FROM (SELECT *, total * 2 AS other FROM orders) AS q",
    "another name.": "SELECT COUNT(*) AS n FROM orders",
    "arithmetic, texts, dates, windows and aggregates.": (
        f"SELECT UPPER(status), RANK() OVER (ORDER BY n) FROM {_BY_STATUS}"
    ),
    "b - a < INTERVAL 3 DAY": "? shipped_at - ordered_at < INTERVAL 3 DAY",
    "column IN (SELECT one_column FROM …)": "? customer_id IN (SELECT customer_id FROM customers)",
    "column IN (SELECT …)": "? customer_id IN (SELECT customer_id FROM customers WHERE active)",
    "each by itself: a = 1 AND b = 2, such pairs joined by OR; GROUP BY a, b.": (
        "? (quantity = 1 AND priority = 2) OR (quantity = 3 AND priority = 4)"
    ),
    "expression AS name": "SELECT SUM(twice) FROM (SELECT total * 2 AS twice FROM orders) AS q",
    "fewer keys in CUBE.": "SELECT status, priority, COUNT(*) FROM orders GROUP BY CUBE (status, priority)",
    "it beside an aggregate such as COUNT(*), with GROUP BY {}.": "SELECT status, COUNT(*) FROM orders GROUP BY status",
    "key IN (SELECT key FROM … GROUP BY key …)": (
        "? status IN (SELECT status FROM orders GROUP BY status HAVING COUNT(*) > 9)"
    ),
    "one SELECT, without anything after a ;.": _PLAIN,
    "one aggregate, and WHERE.": "~ WHERE total > (SELECT AVG(b.total) FROM orders AS b WHERE b.status = a.status)",
    "one level at a time.": "= QUANTILE_CONT(total, 0.5) - QUANTILE_CONT(total, 0.2)",
    "one of {}.": _PLAIN,
    "plain columns.": "? tags = 'gift'",
    "privacy_unit_column = {}, or the clause without it.": (
        "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (privacy_unit_column = customer_id) COUNT(*) FROM orders"
    ),
    "table.*, or the columns by name.": (
        "SELECT COUNT(*) FROM (SELECT o.* FROM orders AS o JOIN customers USING (customer_id)) AS q"
    ),
    "table.{}": "SELECT COUNT(o.customer_id) FROM orders AS o JOIN customers AS c ON o.customer_id = c.customer_id",
    "the clause once.": "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (epsilon = 1) COUNT(*) FROM orders",
    "the column's name with that of its table alone: visits.ward": "SELECT AVG(orders.total) FROM orders",
    "the columns by name.": "SELECT COUNT(*) FROM (SELECT customer_id, total FROM orders) AS q",
    "the comparison without COLLATE.": "? status = 'placed'",
    "the plain form, which gives NULL where it has no value.": "= AVG(total / quantity)",
    "the question without /*+ … */.": _PLAIN,
    "the question without it.": _PLAIN,
    "the same columns on both sides.": (
        "SELECT COUNT(*) FROM (SELECT customer_id FROM customers INTERSECT SELECT customer_id FROM orders) AS q"
    ),
    "the same in a subquery, or in GROUP BY.": (
        "SELECT rn, COUNT(*) FROM (SELECT ROW_NUMBER() OVER (PARTITION BY customer_id ORDER BY ordered_at) AS rn "
        "FROM orders) AS q GROUP BY rn"
    ),
    "the same with one of them.": "= COUNT(DISTINCT status)",
    "the same without ALL.": (
        "SELECT COUNT(*) FROM (SELECT customer_id FROM customers EXCEPT SELECT customer_id FROM orders) AS q"
    ),
    "the same without DISTINCT, or the keys of GROUP BY among what is selected.": (
        "SELECT DISTINCT status, COUNT(*) FROM orders GROUP BY status"
    ),
    "the same without WINDOW, grouped by the keys.": "SELECT status, COUNT(*) FROM orders GROUP BY status",
    "the same without it.": _PLAIN,
    "the table's name alone.": _PLAIN,
    "the unit among the columns of both sides; or UNION ALL.": (
        "SELECT COUNT(*) FROM (SELECT customer_id, total FROM orders UNION SELECT customer_id, income FROM customers) q"
    ),
    "the value itself.": "? total > 5",
    "the whole table.": _PLAIN,
    "those of {} that are meant.": (
        "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (max_groups_contributed = 2) status, COUNT(*) FROM orders GROUP BY 1"
    ),
    "two questions: ask for the number first, then write the released number into the second.": "? total > 250.5",
    "two, joined by OR.": "? REGEXP_FULL_MATCH(tags, '[a-c]+') OR REGEXP_FULL_MATCH(tags, '[0-9]+')",
    "unit IN (SELECT unit …), or NOT IN; or WHERE … IS NOT NULL on one side.": (
        "? customer_id NOT IN (SELECT customer_id FROM customers WHERE active)"
    ),
    "x + INTERVAL 30 DAY": "? order_date + INTERVAL 30 DAY > '2024-06-01'",
    "x IN ('a', 'b')": "? status IN ('placed', 'shipped')",
    "x IN ('a', 'b') OR x IS NULL": "? channel IN ('web', 'phone') OR channel IS NULL",
    "x IS NULL": "? channel IS NULL",
    "x LIKE 'start%', REGEXP_MATCHES(x, '^[a-z]+[0-9]'), or SPLIT_PART(x, ',', 1).": (
        "? tags LIKE 'start%' OR REGEXP_MATCHES(tags, '^[a-z]+[0-9]') OR SPLIT_PART(tags, ',', 1) = 'gift'"
    ),
    "x::TIME": "? ordered_at::TIME < '08:30'",
    "{} = 1": "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (epsilon = 1) COUNT(*) FROM orders",
    "{} = 2": "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (max_groups_contributed = 2) COUNT(*) FROM orders",
    "{} JOIN … ON a.unit = b.unit": "~ LEFT JOIN customers AS b ON a.customer_id = b.customer_id",
    "{}.": _PLAIN,
    "… WHERE key IS NOT NULL in it.": (
        "SELECT COUNT(*) FROM customers WHERE gender IN "
        "(SELECT gender FROM customers WHERE gender IS NOT NULL GROUP BY gender HAVING COUNT(*) > 9)"
    ),
}


def test_every_advice_is_followed_here() -> None:
    assert all_advice() == set(FOLLOWED)


def test_advice_is_found_in_the_source() -> None:
    """The list is no formality: sentences of each kind are in it."""
    wanted = {"the same without it.", "GROUPING(a key)", "x::TIME", "{} JOIN … ON a.unit = b.unit", "the whole table."}
    assert wanted <= all_advice()


@pytest.mark.parametrize("advice", FOLLOWED)
def test_what_is_advised_is_answered(advice: str) -> None:
    text = FOLLOWED[advice]
    dialect = "duckdb"
    if text.startswith("spark: "):
        dialect, text = "spark", text.removeprefix("spark: ")
    if text[0] in _SHAPES:
        text = _SHAPES[text[0]].format(text[2:])
    read_sql(POLICY, text, dialect=dialect, kind_of=kind_of)
