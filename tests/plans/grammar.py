"""A grammar of questions: random SQL that is mostly meaningful, so that planning is tested beyond its first check."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence
    from random import Random

# Columns by kind, for each source of rows; a source is written as it stands in FROM.
Source = tuple[str, dict[str, list[str]]]

VISITS: dict[str, list[str]] = {
    "number": ["cost", "change", "score", "code"],
    "bounded": ["cost", "change"],
    "text": ["ward", "diagnosis"],
    "boolean": ["urgent"],
    "date": ["visit_date", "left_at"],
    "unit": ["patient_id"],
}
PATIENTS: dict[str, list[str]] = {
    "number": ["age"],
    "bounded": ["age"],
    "text": ["sex", "city"],
    "boolean": [],
    "date": [],
    "unit": ["patient_id"],
}
ANSWERS: dict[str, list[str]] = {
    "number": ["rating", "weight"],
    "bounded": ["rating", "weight"],
    "text": ["comment"],
    "boolean": [],
    "date": [],
    "unit": [],
}

KEYED = {
    "ward": ("surgery", "oncology", "cardiology"),
    "sex": ("f", "m", "f"),
    "city": ("south", "elsewhere", "north"),
}
"""Constants that columns with keys may be compared with."""


class Questions:
    """Writes questions from a source of chance."""

    def __init__(self, random: Random) -> None:
        self.random = random

    def pick(self, *choices: str) -> str:
        return self._one_of(choices)

    def _one_of(self, choices: Sequence[str]) -> str:
        """What `random.choice` gives, in half its time: every question takes hundreds of choices."""
        count = len(choices)
        size = count.bit_length()
        place = self.random.getrandbits(size)
        while place >= count:
            place = self.random.getrandbits(size)
        return choices[place]

    def column(self, columns: dict[str, list[str]], kind: str, otherwise: str) -> str:
        return self._one_of(columns[kind]) if columns[kind] else otherwise

    def number(self, columns: dict[str, list[str]], depth: int) -> str:
        """An expression of numbers."""
        if depth <= 0 or self.random.random() < 0.3:
            constant = self.pick("0", "1", "3", "2.5", "-4", "1e3", "100")
            return constant if self.random.random() < 0.3 else self.column(columns, "number", constant)
        x, y = self.number(columns, depth - 1), self.number(columns, depth - 1)
        simple = self.pick(f"({x} + {y})", f"({x} - {y})", f"({x} * {y})", f"({x} / {y})", f"-({x})", f"ABS({x})")
        other = self.pick(
            f"({x} % {y})",
            f"ROUND({x}, {self.pick('0', '1', '-1')})",
            f"FLOOR({x})",
            f"CEIL({x})",
            f"SIGN({x})",
            f"SQRT({x})",
            f"LN({x})",
            f"EXP({x})",
            f"POWER({x}, {self.pick('2', '3')})",
            f"COALESCE({x}, {y})",
            f"NULLIF({x}, {y})",
            f"GREATEST({x}, {y})",
            f"LEAST({x}, {y})",
            f"CASE WHEN {self.boolean(columns, depth - 1)} THEN {x} ELSE {y} END",
            f"CASE WHEN {self.boolean(columns, depth - 1)} THEN {x} END",
            f"CAST({x} AS {self.pick('BIGINT', 'DOUBLE')})",
            f"CAST({self.text(columns, depth - 1)} AS {self.pick('BIGINT', 'DOUBLE')})",
            f"LENGTH({self.text(columns, depth - 1)})",
            f"EXTRACT({self.pick('year', 'month', 'day', 'isodow', 'doy', 'hour')} FROM {self.date(columns)})",
            f"DATE_DIFF('day', {self.date(columns)}, {self.date(columns)})",
            f"WIDTH_BUCKET({x}, 0, 10, 4)",
        )
        more = self.pick(
            f"POSITION('{self.pick('r', 'gery', 'X')}' IN {self.text(columns, depth - 1)})",
            f"LOG10({x})",
            f"TRUNC({x})",
            f"CAST({x} AS DECIMAL(6, 1))",
            f"DATE_DIFF('{self.pick('year', 'month', 'week', 'hour')}', {self.date(columns)}, {self.date(columns)})",
            f"DATE_SUB('{self.pick('year', 'month')}', {self.date(columns)}, {self.date(columns)})",
            f"(EPOCH({self.date(columns)}) / 86400)",
        )
        return self.pick(simple, other, other, more)

    def bounded(self, columns: dict[str, list[str]], depth: int) -> str:
        """Numbers that have bounds whatever is inside."""
        inner = self.number(columns, depth)
        plain = self.column(columns, "bounded", "1")
        return self.pick(plain, plain, f"LEAST(GREATEST({inner}, {self.pick('0', '-3.5')}), 10)", f"({plain} * 2 + 1)")

    def text(self, columns: dict[str, list[str]], depth: int) -> str:
        """An expression of texts."""
        plain = self.column(columns, "text", "'x'")
        if depth <= 0:
            return self.pick(plain, "'surgery'", "''")
        x = self.text(columns, depth - 1)
        return self.pick(
            plain,
            f"UPPER({x})",
            f"LOWER({x})",
            f"TRIM({x})",
            f"({x} || 'a')",
            f"SUBSTRING({x}, {self.pick('1', '2')}, 3)",
            f"COALESCE({x}, 'none')",
            f"CASE WHEN {self.boolean(columns, depth - 1)} THEN 'yes' ELSE 'no' END",
            f"CAST({self.pick('3', 'TRUE', self.date(columns))} AS VARCHAR)",
            f"REPLACE(SUBSTRING({x}, 1, 9), '{self.pick('r', 'su')}', '{self.pick('', 'rr')}')",
            f"SPLIT_PART({x}, '{self.pick('r', 'o')}', {self.pick('1', '2')})",
            f"STRFTIME({self.date(columns)}, '{self.pick('%Y-%m', '%B', 'day %j', '%d.%m.%Y')}')",
            f"CONCAT({x}, '-', {self.column(columns, 'boolean', 'TRUE')})",
        )

    def date(self, columns: dict[str, list[str]]) -> str:
        """An expression of dates."""
        plain = self.column(columns, "date", "DATE '2021-03-04'")
        return self.pick(
            plain,
            plain,
            "DATE '2020-05-06'",
            f"(DATE '2020-05-31' - INTERVAL {self.pick('3', '40')} {self.pick('DAY', 'MONTH', 'YEAR')})",
            f"({plain} {self.pick('+', '-')} {self.pick('7', 'INTERVAL 2 WEEK', '3000000')})",
            f"DATE_TRUNC('{self.pick('month', 'week', 'year')}', {plain})",
            f"TIME_BUCKET(INTERVAL '{self.pick('7', '30', '1')} days', {plain})",
        )

    def boolean(self, columns: dict[str, list[str]], depth: int) -> str:
        """A condition."""
        x, y = self.number(columns, depth - 1), self.number(columns, depth - 1)
        word = self.text(columns, depth - 1)
        one, two, three = KEYED.get(word.rpartition(".")[2], ("surgery", "flu", "burn"))
        leaf = self.pick(
            f"{x} {self.pick('<', '<=', '=', '<>', '>', '>=')} {y}",
            f"{x} BETWEEN 0 AND 5",
            f"{self.column(columns, 'number', '1')} > {self.pick('0', '2', '50')}",
            f"{word} = '{one}'",
            f"{word} IN ('{one}', '{two}')",
            f"{word} NOT IN ('{three}')",
            f"{word} LIKE '{self.pick('s%', '%r%', '_u_', 'flu')}'",
            f"{word} IS {self.pick('', 'NOT ')}NULL",
            f"{self.date(columns)} >= '2021-01-01'",
            f"{word} ILIKE '%{self.pick('S', 'r', 'u')}%'",
            f"REGEXP_MATCHES(SUBSTRING({word}, 1, 9), '{self.pick('^s.*y$', '[aeiou]r', 'flu|^[b-d]')}')",
            f"({word}, {x}) IN (('{one}', 1), ('{two}', 0))",
            f"{x} IS DISTINCT FROM {y}",
            self.column(columns, "boolean", "TRUE"),
        )
        if depth <= 0:
            return leaf
        other = self.boolean(columns, depth - 1)
        return self.pick(leaf, f"({leaf} AND {other})", f"({leaf} OR {other})", f"NOT ({other})")

    def where(self, columns: dict[str, list[str]]) -> str:
        """Perhaps a WHERE."""
        if self.random.random() < 0.4:
            return ""
        conditions = [self.boolean(columns, 1)]
        if columns["unit"] and self.random.random() < 0.3:
            inner = self.pick("patients WHERE age > 40", "visits WHERE urgent", "patients")
            conditions.append(f"patient_id {self.pick('IN', 'NOT IN')} (SELECT patient_id FROM {inner})")
        if "ward" in columns["text"] and self.random.random() < 0.2:
            conditions.append(f"ward {self.pick('IN', 'NOT IN')} (SELECT ward FROM wards WHERE beds > 20)")
        return " WHERE " + " AND ".join(conditions)

    def source(self, depth: int) -> Source:
        """A source of rows: a table, a join, a subquery, a union, or rows per unit."""
        plain: list[Source] = [("visits", VISITS), ("patients", PATIENTS), ("answers", ANSWERS)]
        if depth <= 0:
            return self.random.choice(plain)
        shape = self.random.randrange(12)
        if shape <= 1:
            return self.random.choice(plain)
        return [
            *(self.joined, self.projected, self.united, self.per_unit, self.distinct, self.public, self.paired),
            *(self.numbered, self.unnested, self.merged),
        ][shape - 2](depth)

    def numbered(self, depth: int) -> Source:  # noqa: ARG002 - one shape for all sources
        """The first or last rows of each unit, or the numbers themselves."""
        within, by = self.pick("", ", ward", ", urgent"), self.pick("cost", "visit_date DESC", "diagnosis, cost DESC")
        number = f"ROW_NUMBER() OVER (PARTITION BY patient_id{within} ORDER BY {by}) AS rn"
        rows = f"SELECT *, {number} FROM visits{self.where(VISITS)}"
        kept = self.pick("", " WHERE rn = 1", " WHERE rn <= 2", " WHERE rn > 1", " WHERE rn = 2 AND urgent")
        more = {"number": [*VISITS["number"], "rn"], "bounded": [*VISITS["bounded"], "rn"]}
        return f"(SELECT * FROM ({rows}) AS n{kept}) AS q", VISITS | more

    def unnested(self, depth: int) -> Source:  # noqa: ARG002 - as above
        """The parts of texts."""
        split = f"STRING_SPLIT({self.pick('ward', 'diagnosis')}, '{self.pick('r', 'o', 'l')}')"
        parts = f"UNNEST({split}[1:{self.pick('1', '3')}])"
        rows = f"SELECT patient_id, cost, ward, {parts} AS part FROM visits{self.where(VISITS)}"
        found = {"number": ["cost"], "bounded": ["cost"], "text": ["part", "ward"], "boolean": [], "date": []}
        return f"({rows}) AS q", found | {"unit": ["patient_id"]}

    def merged(self, depth: int) -> Source:  # noqa: ARG002 - as above
        """Rows of units that are in two relations, or in one of them only."""
        one, two = (
            "SELECT patient_id, age AS a FROM patients",
            "SELECT patient_id, CAST(change AS BIGINT) AS a FROM visits",
        )
        rows = f"{one}{self.where(PATIENTS)} {self.pick('UNION', 'INTERSECT', 'EXCEPT')} {two}"
        columns = {"number": ["a"], "bounded": [], "text": [], "boolean": [], "date": [], "unit": ["patient_id"]}
        return f"({rows}) AS q", columns

    def joined(self, depth: int) -> Source:  # noqa: ARG002 - one shape for all sources
        kind = self.pick("JOIN", "LEFT JOIN")
        columns = {name: [c for c in VISITS[name] if c != "patient_id"] + PATIENTS[name] for name in VISITS}
        both = columns | {"unit": ["patient_id"]}
        if self.random.random() < 0.3:  # rows per unit and ward, met by all rows of the unit
            wards = "(SELECT patient_id, ward AS w, COUNT(*) AS n FROM visits GROUP BY patient_id, ward) AS q"
            more = {"text": [*VISITS["text"], "w", "w"], "number": [*VISITS["number"], "n"]}
            sides = self.pick(f"{wards} {kind} visits", f"visits {kind} {wards}")
            return f"{sides} USING (patient_id)", VISITS | more
        right = self.pick("patients", "(SELECT patient_id, age, sex, city FROM patients WHERE age > 30) AS q")
        return f"visits {kind} {right} USING (patient_id)", both

    def paired(self, depth: int) -> Source:  # noqa: ARG002 - as above
        columns = {
            "number": ["v1.cost", "v2.cost", "v1.change"],
            "bounded": ["v1.cost", "v2.change"],
            "text": ["v1.ward", "v2.diagnosis"],
            "boolean": ["v1.urgent"],
            "date": ["v2.visit_date"],
            "unit": [],
        }
        extra = self.pick("", " AND v1.ward = v2.ward", " AND v1.cost < v2.cost")
        return f"visits AS v1 JOIN visits AS v2 ON v1.patient_id = v2.patient_id{extra}", columns

    def public(self, depth: int) -> Source:  # noqa: ARG002 - as above
        columns = VISITS | {"number": [*VISITS["number"], "beds"], "bounded": [*VISITS["bounded"], "floor"]}
        return f"visits {self.pick('JOIN', 'LEFT JOIN')} wards USING (ward)", columns

    def projected(self, depth: int) -> Source:
        source, columns = self.source(depth - 1)
        value, key = self.number(columns, 2), self.text(columns, 1)
        unit = f", {columns['unit'][0]}" if columns["unit"] else ""
        constant = self.pick("5", "0.25", "-2")  # what is known of it depends on how far a plan was simplified
        select = f"SELECT {value} AS a, {self.bounded(columns, 1)} AS b, {key} AS t, {constant} AS c{unit}"
        return f"({select} FROM {source}{self.where(columns)}) AS q", {
            "number": ["a", "b", "c"],
            "bounded": ["b", "c"],
            "text": ["t"],
            "boolean": [],
            "date": [],
        } | {"unit": columns["unit"]}

    def united(self, depth: int) -> Source:  # noqa: ARG002 - as above
        one = f"SELECT patient_id, {self.bounded(VISITS, 1)} AS a, ward AS t FROM visits{self.where(VISITS)}"
        two = self.pick("SELECT patient_id, age AS a, city AS t FROM patients", one)
        columns = {"number": ["a"], "bounded": ["a"], "text": ["t"], "boolean": [], "date": [], "unit": ["patient_id"]}
        return f"({one} UNION ALL {two}) AS q", columns

    def per_unit(self, depth: int) -> Source:  # noqa: ARG002 - as above
        source, columns = self.random.choice([("visits", VISITS), ("patients", PATIENTS)])
        aggregate = self.pick("COUNT(*)", "SUM({})", "AVG({})", "MIN({})", "MAX({})", "COUNT({})", "COUNT(DISTINCT {})")
        value = aggregate.format(self.bounded(columns, 1))
        key = self.pick("", f", {self.random.choice(columns['text'])}")
        name = f"{key} AS t" if key else ""
        having = self.pick("", "", f" HAVING {value} > 1")
        rows = f"{source}{self.where(columns)} GROUP BY patient_id{key}{having}"
        text = f"(SELECT patient_id, {value} AS a{name} FROM {rows}) AS q"
        found = {"number": ["a"], "bounded": ["a"], "text": ["t"] if key else [], "boolean": [], "date": []}
        return text, found | {"unit": ["patient_id"]}

    def distinct(self, depth: int) -> Source:  # noqa: ARG002 - as above
        columns = {
            "number": [],
            "bounded": [],
            "text": ["ward"],
            "boolean": ["urgent"],
            "date": [],
            "unit": ["patient_id"],
        }
        return f"(SELECT DISTINCT patient_id, ward, urgent FROM visits{self.where(VISITS)}) AS q", columns

    def aggregate(self, columns: dict[str, list[str]]) -> str:
        """One aggregate."""
        x, y = self.bounded(columns, 1), self.bounded(columns, 1)
        return self.pick(
            "COUNT(*)",
            f"COUNT({self.number(columns, 1)})",
            f"COUNT(DISTINCT {self.pick(self.column(columns, 'unit', '1'), self.text(columns, 1))})",
            f"SUM({x})",
            f"AVG({x})",
            f"VAR_POP({x})",
            f"STDDEV({x})",
            f"MEDIAN({x})",
            f"QUANTILE_CONT({x}, 0.9)",
            f"MIN({x})",
            f"MAX({x})",
            f"CORR({x}, {y})",
            f"COVAR_SAMP({x}, {y})",
            f"COUNT(*) FILTER (WHERE {self.boolean(columns, 1)})",
            f"SUM({x}) / COUNT(*)",
            f"HISTOGRAM({x}, [0, 5, 100])",
        )

    def key(self, columns: dict[str, list[str]]) -> str:
        """One group key."""
        return self.pick(
            self.column(columns, "text", "'x'"),
            self.text(columns, 1),
            self.column(columns, "boolean", "1 = 1"),
            f"CASE WHEN {self.boolean(columns, 1)} THEN 'a' ELSE 'b' END",
            f"EXTRACT(year FROM {self.column(columns, 'date', 'DATE ' + chr(39) + '2021-01-01' + chr(39))})",
            f"WIDTH_BUCKET({self.number(columns, 1)}, 0, 100, 5)",
        )

    def question(self, depth: int = 2) -> str:
        """A whole question."""
        source, columns = self.source(depth)
        keys = [self.key(columns) for _ in range(self.random.choice([0, 0, 1, 1, 2]))]
        outputs = [f"{key} AS k{n}" for n, key in enumerate(keys)]
        outputs += [f"{self.aggregate(columns)} AS a{n}" for n in range(self.random.choice([1, 1, 2, 3]))]
        text = f"SELECT {', '.join(outputs)} FROM {source}{self.where(columns)}"
        if keys:
            text += " GROUP BY " + ", ".join(self.pick(str(n + 1), key) for n, key in enumerate(keys))
        if self.random.random() < 0.2:
            text += " HAVING COUNT(*) > 3"
        if self.random.random() < 0.3:
            text += f" ORDER BY {self.pick('1', 'a0')} {self.pick('', 'DESC')} LIMIT {self.pick('1', '5')}"
        return f"WITH q0 AS (SELECT ward FROM visits) {text}" if self.random.random() < 0.05 else text

    def broken(self) -> str:
        """A question with something dropped, doubled, swapped or put in: mostly nonsense, sometimes clever."""
        words = re.findall(r"\w+|[^\w\s]", self.question())
        for _ in range(self.random.choice([1, 1, 2, 4])):
            place = self.random.randrange(len(words))
            trick = self.random.choice(TRICKS)
            edit = self.random.randrange(4)
            if edit == 0:
                words.insert(place, trick)
            elif edit == 1 and len(words) > 1:
                del words[place]
            elif edit == 2:
                words[place] = trick
            else:
                words.insert(place, words[self.random.randrange(len(words))])
        return " ".join(words)


TRICKS = [
    *("*", ";", "; DROP TABLE visits", "--", "/* x */", "OVER ()", "LIMIT 1", "DISTINCT", "patient_id", "NULL", "ALL"),
    *("SELECT", "FROM visits", "UNION", "EXCEPT", "(SELECT AVG(cost) FROM visits)", "read_csv('x')", "random()", "'"),
    *(
        '"',
        "$1",
        "?",
        "QUALIFY 1",
        "TABLESAMPLE 5%",
        "LATERAL",
        "CROSS JOIN wards",
        "NATURAL JOIN patients",
        "0x1F",
        "\\",
    ),
    *(
        "EXISTS (SELECT 1 FROM patients p WHERE p.patient_id = visits.patient_id)",
        "ROLLUP(ward)",
        "PIVOT",
        "1e999",
        "🙂",
    ),
]
