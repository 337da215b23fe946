"""What is spent and left, for people: as text, in a notebook, as a picture."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from html import escape
from typing import TYPE_CHECKING, Any, cast

from discreet.ledgers.amounts import left_of
from discreet.privacy import Approximate

if TYPE_CHECKING:
    from collections.abc import Mapping

    from discreet.ledgers.heads import Head
    from discreet.ledgers.line import Scope
    from discreet.ledgers.terms import Limits
    from discreet.privacy.currencies import Currency
    from discreet.tables import Policy

__all__ = ["Account", "Statement"]


@dataclass(frozen=True, slots=True)
class Account:
    """One budget: whose it is, what was spent of it, and its limit if it has one of its own.

    >>> from discreet.privacy import Pure
    >>> Account("analyst", "ann", Pure("0.25"), Pure(1), Pure("0.75")).share
    0.25
    """

    scope: str
    name: str
    spent: Currency
    limit: Currency | None
    left: Currency | None

    @property
    def share(self) -> float | None:
        """Which part of the limit is used, in the number that is used most; None without a limit."""
        if self.limit is None:
            return None
        limits, spent = (cast("dict[str, Fraction]", amount.fields()) for amount in (self.limit, self.spent))
        return float(max((spent[name] / most for name, most in limits.items() if most), default=Fraction(1)))

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
        }


@dataclass(frozen=True, slots=True)
class Statement:
    """All budgets of a ledger at one moment.

    >>> from discreet.ledgers import MemoryLedger
    >>> from discreet.privacy import Pure
    >>> from discreet.ledgers import Entry
    >>> from discreet.tables import Policy
    >>> ledger = MemoryLedger(Policy([], epsilon=2, dataset="hospital"))
    >>> _ = ledger.reserve(Pure("0.5"), Entry("", ("visits",), analyst="ann"))
    >>> print(ledger.statement)
    budget of hospital: ε = 2 in all, kept by a pure filter
    dataset      ██████░░░░░░░░░░░░░░░░░░  25 %  spent ε = 0.5, left ε = 1.5
    analyst ann  no limit of its own             spent ε = 0.5
    """

    dataset: str
    budget: str
    filter: str
    accounts: tuple[Account, ...]
    entries: int
    head: str

    @staticmethod
    def of(policy: Policy, limits: Limits, spent: Mapping[Scope, Currency], head: Head) -> Statement:
        """Collect the budgets that the policy names and those that were charged."""
        scopes = [*limits.named, *(scope for scope in sorted(spent) if scope not in limits.named)]
        accounts = []
        for scope in scopes:
            limit, used = limits.of(scope), spent.get(scope, limits.nothing)
            left = None if limit is None else left_of(limit, used)
            accounts.append(Account(*scope, used, None if limit is None else limit.limit, left))
        whole = Approximate(policy.budget.epsilon, policy.budget.delta)
        return Statement(policy.dataset, _words(whole), policy.filter, tuple(accounts), head.number + 1, str(head))

    @property
    def whole(self) -> Account:
        """The dataset's own account."""
        return self.accounts[0]

    def __str__(self) -> str:
        lines = [f"budget of {self.dataset}: {self.budget} in all, kept by a {self.filter} filter"]
        width = max(len(account.title) for account in self.accounts)
        for account in self.accounts:
            words = f"spent {_words(account.spent)}"
            if account.left is not None:
                words += f", left {_words(account.left)}"
            lines.append(f"{account.title:{width}}  {_bar(account.share)}  {words}")
        return "\n".join(lines)

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
            left = "" if account.left is None else escape(_words(account.left))
            cells = (escape(account.title), bar, escape(_words(account.spent)), left)
            rows.append("<tr>" + "".join(f"<td style='text-align:left'>{cell}</td>" for cell in cells) + "</tr>")
        head = "<tr><th>budget</th><th>used</th><th>spent</th><th>left</th></tr>"
        caption = escape(f"{self.dataset}: {self.budget} in all, kept by a {self.filter} filter")
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


_SYMBOLS = {"epsilon": "ε", "delta": "δ", "rho": "ρ"}
_BAR = 24


def _words(amount: Currency) -> str:
    """Write an amount in symbols with four digits; what is charged stands exactly in the entries."""
    numbers = cast("dict[str, Fraction]", amount.fields())
    parts = [f"{_SYMBOLS[name]} = {float(value):.4g}" for name, value in numbers.items() if value or name != "delta"]
    return ", ".join(parts)


def _percent(share: float) -> str:
    return f"{100 * share:.0f} %" if share == 0 or share >= 0.01 else "< 1 %"


def _bar(share: float | None) -> str:
    if share is None:
        return f"{'no limit of its own':{_BAR + 6}}"
    full = min(_BAR, int(share * _BAR + 0.5))
    return f"{'█' * full}{'░' * (_BAR - full)} {_percent(share):>5}"


def _plain(amount: Currency) -> dict[str, str]:
    return {name: str(value) for name, value in amount.fields().items()}
