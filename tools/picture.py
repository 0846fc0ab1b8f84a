"""Draws docs/images/tastes.svg: predictions of the demo model as sums of tastes.

Run: .venv/bin/python tools/picture.py
"""

from pathlib import Path

from matplotlib.figure import Figure

import tastemix as tm
from tastemix.data.datasets import demo

COLOURS = {
    "sweet": "#d1495b",
    "spicy": "#e98a15",
    "seafood": "#00798c",
    "comfort": "#8d6a9f",
    "green": "#66a182",
    "smoky": "#5c5c5c",
}
LETTER, MARGIN = 0.056, 0.12
"""Stars: the width of a letter, and what is left beside a text."""
PERSON = "Abeni"
DISHES = ("Macaroni and Cheese", "Smoked Duck Breast", "Dan Dan Noodles", "Sachertorte")


def taste_names(model: tm.Model) -> dict[str, str]:
    """The planted taste that most of a found taste's top dishes come from."""
    rows = model.tastes(8).to_pylist()
    names = {}
    for taste in {row["taste"] for row in rows}:
        top = {row["item"] for row in rows if row["taste"] == taste}
        planted = demo.tastes()
        names[f"taste {taste}"] = max(planted, key=lambda name: len(top & set(planted[name])))
    return names


def fits(text: str, value: float) -> bool:
    """Whether a text has room in a bar of so many stars."""
    return value > LETTER * len(text) + MARGIN


def main() -> None:
    """Fit, take four predictions apart, draw."""
    model = tm.RNMF(6).fit(demo.ratings())
    names = taste_names(model)
    figure = Figure(figsize=(8.4, 2.9), layout="constrained")
    axes = figure.subplots()
    for row, dish in enumerate(reversed(DISHES)):
        left = 0.0
        for part in model.explain(PERSON, dish).to_pylist():
            taste, value = names[part["part"]], part["value"]
            axes.barh(row, value, left=left, color=COLOURS[taste], height=0.62)
            label = next(
                (text for text in (f"{taste} {value:.1f}", taste) if fits(text, value)), ""
            )
            axes.text(
                left + value / 2, row, label,
                ha="center", va="center", color="white", fontsize=9.5,
            )  # fmt: skip
            left += value
        axes.text(left + 0.05, row, f"{left:.1f}", va="center", fontsize=11, fontweight="bold")
    axes.set_yticks(range(len(DISHES)), reversed(DISHES), fontsize=11)
    axes.set_xlim(0, 5.4)
    axes.set_xticks(range(6))
    axes.set_xlabel("predicted stars, as a sum of tastes", fontsize=10, color="#555555")
    axes.tick_params(length=0, colors="#333333")
    for side in axes.spines.values():
        side.set_visible(False)
    axes.set_title(f"What {PERSON} would think of four dishes, and why", loc="left", fontsize=12)
    target = Path(__file__).parent.parent / "docs" / "images" / "tastes.svg"
    import matplotlib as mpl

    with mpl.rc_context({"svg.hashsalt": "tastes", "svg.fonttype": "path"}):
        figure.savefig(target, metadata={"Date": None}, bbox_inches="tight", pad_inches=0.15)


if __name__ == "__main__":
    main()
