"""`discreet train`: learn a model from a table, for a price, and keep it in a file."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from discreet.apps.cli.opening import Analyst, PolicyFile, Purpose, open_database
from discreet.apps.cli.options import Json, number_option, print_json
from discreet.apps.cli.screen import folded, working
from discreet.errors import ParameterError

if TYPE_CHECKING:
    from discreet.methods.learning.tabular.estimator import Estimator

__all__ = ["SECTION", "app"]

SECTION = "Ask"

app = typer.Typer(add_completion=False)

_MODELS = {
    "logistic": "LogisticRegression",
    "svc": "LinearSVC",
    "additive": "AdditiveModel",
    "forest": "RandomForest",
    "trees": "RandomDecisionTrees",
    "bayes": "GaussianNB",
    "linear": "LinearRegression",
}

Table = Annotated[str, typer.Option(metavar="NAME", help="The table to learn from.")]
Target = Annotated[str, typer.Option(metavar="COLUMN", help="The column to predict.")]
Out = Annotated[Path, typer.Option(metavar="FILE", help="Where the model is written, as JSON.")]
Model = Annotated[
    str,
    typer.Option(
        metavar="NAME",
        help="For a column with keys: logistic, additive, forest, svc, trees, bayes. For a number: linear.",
    ),
]
Method = Annotated[
    str | None, typer.Option(metavar="NAME", help="Where the noise goes, such as output; gradient, if not given.")
]
Columns = Annotated[
    str | None, typer.Option("--features", metavar="COLUMNS", help="What to predict from; without it, all the others.")
]


@app.command()
def train(
    policy: PolicyFile,
    *,
    table: Table,
    target: Target,
    out: Out,
    model: Model = "logistic",
    method: Method = None,
    features: Columns = None,
    epsilon: Annotated[str | None, number_option("The price of the whole training.")] = None,
    rho: Annotated[str | None, number_option("The price in zCDP, instead of --epsilon.")] = None,
    delta: Annotated[str | None, number_option("The delta of this release; the policy's, if not given.")] = None,
    analyst: Analyst = None,
    purpose: Purpose = None,
    as_json: Json = False,
) -> None:
    """Train a model on private rows: one charge, one release. What it predicts afterwards is free.

    Example: discreet train people.toml --table people --target income --model logistic --epsilon 1 --out model.json
    """
    estimator = _made(model, method, epsilon=epsilon, rho=rho, delta=delta)
    if out.exists():
        message = f"{str(out)!r} is there already; name a new file, so that no model is lost."
        raise ParameterError(message)
    with open_database(policy, analyst, purpose) as db:
        chosen = _columns(db.policy.table(table).columns, target, features)
        loan = db.table(table).select(*chosen).rows()
        with working("training"):
            estimator.fit(loan, target=target)
    estimator.save(out)
    card = estimator.card()
    if as_json:
        print_json({"file": str(out), **card})
        return
    typer.echo(folded(f"{card['model']} in {out}: {card['promise']}, charged {card['charged']}."))
    size = card["units, with noise"]
    about = "" if size is None else f"About {max(0, round(size))} units. "
    typer.echo(folded(f"{about}`discreet predict {out} rows.csv` uses it."))


def _made(model: str, method: str | None, **price: str | None) -> Estimator:
    from discreet.methods import learning

    if model not in _MODELS:
        message = f"--model is {model!r}; it must be one of {', '.join(_MODELS)}."
        raise ParameterError(message)
    if (price["epsilon"] is None) == (price["rho"] is None):
        message = "give the price of the training in one way: --epsilon 1, or --rho 0.05."
        raise ParameterError(message)
    kind = getattr(learning, _MODELS[model])
    if method is not None and not hasattr(kind, "method"):
        message = f"--method is {method!r}; logistic, svc and linear have methods, and {model} has none."
        raise ParameterError(message)
    made: Estimator = kind(**price, **({} if method is None else {"method": method}))
    return made


def _columns(columns: object, target: str, features: str | None) -> list[str]:
    """Return what is read: the features that are named, or all columns that are bounded, and the target."""
    if features is not None:
        return [*dict.fromkeys(name.strip() for name in features.split(",")), target]
    usable = [
        column.name
        for column in columns  # type: ignore[attr-defined]  # of a table
        if column.keys is not None or (column.bounds.lower is not None and column.bounds.upper is not None)
    ]
    return [*(name for name in usable if name != target), target]
