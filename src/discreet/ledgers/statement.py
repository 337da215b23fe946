"""What is spent and left, for people: as text, in a notebook, as a picture."""

from __future__ import annotations

from dataclasses import dataclass
from html import escape
from typing import TYPE_CHECKING, Any, cast

from discreet.exact import counted
from discreet.privacy.costs import fitting, units_of, used_of

if TYPE_CHECKING:
    from collections.abc import Mapping
    from fractions import Fraction

    from discreet.ledgers.line import Scope
    from discreet.ledgers.page import Head
    from discreet.ledgers.terms import Limits
    from discreet.privacy.costs import Amount, Cost
    from discreet.privacy.currencies import Budget
    from discreet.tables import Policy

__all__ = ["Account", "Statement", "Usage"]


@dataclass(frozen=True, slots=True)
class Usage:
    """How much of a budget is used, and how many more of the same would fit: what people read.

    Of several budgets that are charged it is the one of which least is left; `more` counts what fits into all of them.

    >>> from discreet.privacy import Budget
    >>> print(Usage(0.17, Budget(3, "1e-6"), "dataset", 5))
    used 17 % of ε = 3; about 5 more questions like this one
    >>> print(Usage(1.0, Budget(3), "analyst ann", 0))
    used 100 % of ε = 3 of analyst ann; no more questions like this one
    """

    share: float
    budget: Budget
    title: str = "dataset"
    more: int | None = None

    def __str__(self) -> str:
        whose = "" if self.title == "dataset" else f" of {self.title}"
        return f"used {_percent(self.share)} of ε = {float(self.budget.epsilon):.4g}{whose}{self._more}"

    @property
    def _more(self) -> str:
        if self.more is None:
            return ""
        return f"; {_more(self.more)} like this one"


_MANY = 10_000
_KEPT = {
    "pure": "a pure filter",
    "approximate": "an approximate filter",
    "zcdp": "a zcdp filter",
    "best": "the best of several certificates",
}


@dataclass(frozen=True, slots=True)
class Account:
    """One budget: whose it is, what was spent of it, and its limit if it has one of its own; which part of it is used.

    `more` counts how many spends like the last one would still fit.

    >>> from discreet.privacy import Pure
    >>> Account("analyst", "ann", Pure("0.25"), Pure(1), Pure("0.75"), "ε = 1").share
    0.25
    """

    scope: str
    name: str
    spent: Amount
    limit: Amount | None
    left: Amount | None
    budget: str = ""
    """The limit as the policy states it."""
    more: int | None = None

    @property
    def share(self) -> float | None:
        """Which part of the limit is used, by the certificate of which most is left; None without a limit."""
        return None if self.limit is None else float(used_of(units_of(self.limit), units_of(self.spent)))

    @property
    def title(self) -> str:
        """Whose budget it is."""
        return "dataset" if self.scope == "dataset" else f"{self.scope} {self.name}"

    def to_dict(self) -> dict[str, Any]:
        """The account as plain values."""
        amounts = {"spent": self.spent, "limit": self.limit, "left": self.left}
        return {
            "scope": self.scope,
            "name": self.name,
            **{word: None if amount is None else _plain(amount) for word, amount in amounts.items()},
            "share": self.share,
            "more": self.more,
        }


@dataclass(frozen=True, slots=True)
class Statement:
    """All budgets of a ledger at one moment.

    >>> from discreet.ledgers import Entry, MemoryLedger
    >>> from discreet.privacy import Pure
    >>> from discreet.tables import Policy
    >>> ledger = MemoryLedger(Policy([], epsilon=2, dataset="hospital"))
    >>> _ = ledger.reserve(Pure("0.5"), Entry("", ("visits",), analyst="ann"))
    >>> print(ledger.statement)
    budget of hospital: ε = 2 in all, kept by a pure filter
    dataset      ██████░░░░░░░░░░░░░░░░░░  25 %  of ε = 2; about 3 more questions like the last one
    analyst ann  no limit of its own             25 % of the dataset's
    """

    dataset: str
    budget: str
    filter: str
    accounts: tuple[Account, ...]
    entries: int
    head: str

    @staticmethod
    def of(
        policy: Policy, limits: Limits, spent: Mapping[Scope, Cost], head: Head, last: Amount | None = None
    ) -> Statement:
        """Collect the budgets that the policy names and those that were charged; `last` is what the last spend cost."""
        accounts = []
        for scope in [*limits.named, *(scope for scope in sorted(spent) if scope not in limits.named)]:
            most, used, budget = limits.of(scope), spent.get(scope, limits.dataset * 0), limits.budget(scope)
            if most is None or budget is None:
                accounts.append(Account(*scope, limits.told(used), None, None))
                continue
            more = None if last is None else fitting(most, used, units_of(last))
            left = limits.told(most - used)
            accounts.append(Account(*scope, limits.told(used), limits.told(most), left, _words(budget), more))
        whole = _words(policy.budget)
        return Statement(policy.dataset, whole, policy.filter, tuple(accounts), head.number + 1, str(head))

    @property
    def whole(self) -> Account:
        """The dataset's own account."""
        return self.accounts[0]

    def __str__(self) -> str:
        lines = [f"budget of {self.dataset}: {self.budget} in all, kept by {_KEPT[self.filter]}"]
        width = max(len(account.title) for account in self.accounts)
        lines += [f"{one.title:{width}}  {_bar(one.share)}  {self._words(one)}" for one in self.accounts]
        return "\n".join(lines)

    def _words(self, account: Account) -> str:
        """What people read of an account, beside which part of it is used."""
        if account.share is None:
            used = used_of(units_of(self.whole.limit or account.spent), units_of(account.spent))
            return f"{_percent(float(used))} of the dataset's"
        more = "" if account.more is None else f"; {_more(account.more)} like the last one"
        return f"of {account.budget}{more}"

    def to_dict(self) -> dict[str, Any]:
        """The statement as plain values, for JSON."""
        return {
            "dataset": self.dataset,
            "budget": self.budget,
            "filter": self.filter,
            "accounts": [account.to_dict() for account in self.accounts],
            "entries": self.entries,
            "head": self.head,
        }

    def _repr_html_(self) -> str:
        rows = []
        for account in self.accounts:
            share = account.share
            bar = (
                "no limit of its own"
                if share is None
                else f"<progress value='{min(share, 1):.4f}' max='1'></progress> {_percent(share)}"
            )
            cells = (escape(account.title), bar, escape(self._words(account)))
            rows.append("<tr>" + "".join(f"<td style='text-align:left'>{cell}</td>" for cell in cells) + "</tr>")
        head = "<tr><th>budget</th><th>used</th><th>of</th></tr>"
        caption = escape(f"{self.dataset}: {self.budget} in all, kept by {_KEPT[self.filter]}")
        return f"<table><caption>{caption}</caption><thead>{head}</thead><tbody>{''.join(rows)}</tbody></table>"

    def plot(self) -> Any:  # noqa: ANN401 - matplotlib is optional
        """Draw the used part of each limited budget as bars; returns matplotlib's axes."""
        import matplotlib.pyplot as plt

        limited = [account for account in self.accounts if account.share is not None]
        figure, axes = plt.subplots(figsize=(6, 0.6 + 0.4 * len(limited)), layout="constrained")
        titles = [account.title for account in limited]
        axes.barh(titles, [1.0] * len(limited), color="#e6e6e6")
        axes.barh(titles, [min(account.share or 0.0, 1.0) for account in limited], color="#30688e")
        axes.invert_yaxis()
        axes.set_xlim(0, 1)
        axes.xaxis.set_major_formatter(lambda value, _: f"{value:.0%}")
        axes.set_xlabel("spent")
        axes.set_title(f"Budget of {self.dataset}: {self.budget}")
        axes.spines[["top", "right"]].set_visible(False)
        del figure
        return axes


_BAR = 24


def _words(budget: Budget) -> str:
    """Write a budget in symbols with four digits."""
    delta = f", δ = {float(budget.delta):.4g}" if budget.delta else ""
    return f"ε = {float(budget.epsilon):.4g}{delta}"


def _more(count: int) -> str:
    if count > _MANY:
        return f"more than {_MANY} questions"
    return f"about {counted(count, 'more question')}" if count else "no more questions"


def _percent(share: float) -> str:
    return f"{100 * share:.0f} %" if share == 0 or share >= 0.01 else "< 1 %"


def _bar(share: float | None) -> str:
    if share is None:
        return f"{'no limit of its own':{_BAR + 6}}"
    full = min(_BAR, int(share * _BAR + 0.5))
    return f"{'█' * full}{'░' * (_BAR - full)} {_percent(share):>5}"


def _plain(amount: Amount) -> dict[str, float]:
    return {name: float(cast("Fraction", value)) for name, value in amount.fields().items()}
