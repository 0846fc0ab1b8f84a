"""`tastemix demo`: the main job on embedded ratings."""

from __future__ import annotations

import time

from rich.table import Table

from tastemix import methods, splits
from tastemix.cli.console import out, say
from tastemix.metrics import mae, rmse

RANK = 6


def demo() -> None:
    """Fit a few methods to embedded ratings of dishes and show the tastes they find."""
    from tastemix.datasets import demo as dishes

    ratings = dishes.ratings()
    say(str(ratings))
    train, test = splits.holdout(ratings)
    half = test.by_user
    table = Table("method", "RMSE", "MAE", "seconds", title="A fifth of the ratings, held out")
    for method in (
        *(methods.Random(), methods.Baseline(), methods.PR(RANK), methods.PRD(RANK)),
        *(methods.RNMF(RANK), methods.MIXD(RANK)),
    ):
        began = time.perf_counter()
        model = method.fit(train)
        seconds = time.perf_counter() - began
        predicted = model.predict_numbers(half.rows, half.indices)
        errors = rmse(half.values, predicted), mae(half.values, predicted)
        table.add_row(model.method, *(f"{error:.3f}" for error in errors), f"{seconds:.2f}")
    out.print(table)
    model = methods.MIXD(RANK).fit(ratings)
    tastes = Table("taste", "its dishes", title=f"The tastes of MIXD({RANK})")
    for taste, weights in enumerate(model.factors.items.T):
        top = weights.argsort()[::-1][:5].astype("int32")
        tastes.add_row(str(taste + 1), ", ".join(model.items.ids.take(top).to_pylist()))
    out.print(tastes)
