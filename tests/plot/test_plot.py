"""What notebooks show: figures and HTML with the words and the lengths of the model."""

import re
import xml.etree.ElementTree as ET

import numpy as np
import pyarrow as pa
import pytest
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

import tastemix as tm
from tastemix.data.datasets import demo
from tastemix.errors import ParameterError

METHODS = [tm.Random(), tm.Baseline(), tm.RNMF(6, steps=10)]


@pytest.fixture(scope="module")
def ratings() -> tm.Ratings:
    return demo.ratings()


@pytest.fixture(scope="module")
def model(ratings: tm.Ratings) -> tm.Model:
    return tm.RNMF(6, steps=30).fit(ratings)


@pytest.fixture(scope="module")
def results(ratings: tm.Ratings) -> tm.Results:
    return tm.cross_validate(METHODS, ratings, 2)


def words(figure: Figure) -> list[str]:
    return [text.get_text() for text in figure.texts]


def lengths(figure: Figure) -> list[float]:
    return [p.get_width() for p in figure.axes[0].patches if isinstance(p, Rectangle)]


def inside(figure: Figure) -> bool:
    """Whether no text leaves the picture."""
    figure.canvas.draw()
    box = figure.bbox
    edges = [text.get_window_extent() for text in figure.texts]
    return all(
        e.x0 >= box.x0 - 1 and e.x1 <= box.x1 + 1 and e.y0 >= box.y0 - 1 and e.y1 <= box.y1 + 1
        for e in edges
    )


def test_the_parts_of_an_explanation_are_bars_of_their_values(model: tm.Model) -> None:
    user = model.users.ids[0]
    item = model.recommend(user, 1)["item"][0].as_py()
    values = model.explain(user, item)["value"].to_pylist()
    figure = model.plot.explain(user, item)
    drawn = lengths(figure)
    shown = [*values, sum(values)]
    large = [at for at, value in enumerate(shown) if value > 0.05]
    np.testing.assert_allclose(
        [drawn[at] / drawn[-1] for at in large], [shown[at] / shown[-1] for at in large], rtol=1e-6
    )
    assert f"{item} for {user}" in words(figure)
    assert f"{sum(values):.2f}" in words(figure)
    assert inside(figure)


def test_tastes_show_their_items_and_the_map_names_some(model: tm.Model) -> None:
    figure = model.plot.tastes(3, most=4)
    rows = [row for row in model.tastes(3).to_pylist() if row["taste"] <= 4]
    assert {row["item"] for row in rows} <= set(words(figure))
    assert len(lengths(figure)) == 12
    assert any("2 more tastes" in text for text in words(figure))
    assert inside(figure)
    named = model.plot.map(20, named=10)
    known = set(model.items.ids.values.to_pylist())
    assert 3 <= len(known & set(words(named))) <= 10
    assert len(named.axes[0].collections[0].get_offsets()) == 20
    assert inside(named)


def test_the_history_is_the_objective_of_every_step(model: tm.Model) -> None:
    (line,) = model.plot.history().axes[0].lines
    assert list(line.get_ydata()) == [step.objective for step in model.history]
    with pytest.raises(ParameterError, match="has no history"):
        _ = tm.PSVD(2).fit(demo.ratings()).plot.history()


def test_ratings_and_results_are_counted_and_ordered(
    ratings: tm.Ratings, results: tm.Results
) -> None:
    figure = ratings.plot()
    values, counts = np.unique(ratings.by_user.values, return_counts=True)
    assert {f"{value:g}" for value in values} | {f"{n:,}" for n in counts} <= set(words(figure))
    assert inside(figure)
    methods = [text for text in words(results.plot()) if text in results.methods()]
    summary = results.summary().to_pylist()
    assert methods == [row["method"] for row in sorted(summary, key=lambda row: row["rmse"])]
    best = [text for text in words(results.plot("auc")) if text in results.methods()]
    assert best[0] == max(summary, key=lambda row: row["auc"])["method"]
    with pytest.raises(ParameterError, match="no metric 'rms': choose one of rmse, "):
        results.plot("rms")


def test_figures_are_images_without_pyplot(model: tm.Model) -> None:
    assert model.plot.tastes()._repr_png_().startswith(b"\x89PNG")


def parsed(html: str) -> ET.Element:
    """HTML that is well-formed, as a tree."""
    return ET.fromstring(f"<div>{html.replace('&', '&amp;')}</div>")


def rows_of(html: str) -> list[list[str]]:
    return [["".join(cell.itertext()) for cell in row] for row in parsed(html).iter("tr")]


def test_reprs_are_tables_with_what_the_library_says(
    model: tm.Model, ratings: tm.Ratings, results: tm.Results
) -> None:
    user = model.users.ids[0]
    best = model.recommend(user, 4)
    header, *rows = rows_of(tm.show(best)._repr_html_())
    assert header == ["item", "score", "", "rating"]
    assert [row[0] for row in rows] == best["item"].to_pylist()
    assert [row[1] for row in rows] == [f"{score:.3f}" for score in best["score"].to_pylist()]
    widths = [
        float(width) for width in re.findall(r'<rect width="([\d.]+)"', tm.show(best)._repr_html_())
    ]
    scores = np.array(best["score"].to_pylist())
    np.testing.assert_allclose(widths, 90 * scores / scores.max(), atol=0.06)
    tastes = rows_of(model._repr_html_())
    assert [row[0] for row in tastes[1:]] == list("123456")
    assert f"{len(ratings):,} ratings" in ratings._repr_html_()
    methods = rows_of(results._repr_html_())
    assert [row[0] for row in methods[1:]] == results.methods()
    rmse = results.summary()["rmse"].to_pylist()
    assert f"<b>{min(rmse):.3f}</b>" in results._repr_html_()
    explained = rows_of(tm.show(model.explain(user, best["item"][0].as_py())).html)
    assert explained[0][0] == "part"
    assert repr(tm.show(model)) == repr(model)
    assert tm.show(tm.Random().fit(ratings)).html  # without tastes


def test_what_people_write_cannot_break_out_of_the_html() -> None:
    evil = "<script>alert(1)</script>"
    table = pa.table({"item": [evil], "score": [1.0]})
    ratings = tm.Ratings.from_arrays([evil, "b"], [evil, "c"], [1.0, 2.0])
    model = tm.RNMF(1, steps=2).fit(ratings)
    for html in (tm.show(table).html, model._repr_html_(), tm.show(model.recommend("b")).html):
        assert "<script" not in html
