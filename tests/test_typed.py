"""What type checkers of those who use tastemix see."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
from pathlib import Path

import tastemix as tm

CONSUMER = """
import numpy as np
import pyarrow as pa
import tastemix as tm

ratings: tm.Ratings = tm.read("ratings.csv", user=0, item=1, rating=2, missing=0)
items: tm.Items = tm.read_items("movies.csv", id="movieId", title="title")
model: tm.Model = tm.fit(ratings, items=items)
one: float = model.predict("ann", "Heat")
many: np.ndarray = model.predict(["ann"], ["Heat"])
labelled: tm.Model = model.label({"Heat": "Heat (1995)"})
reveal_type(model.predict("ann", "Heat"))
reveal_type(tm.MIXD(rank=10).fit(ratings))
model.recommend("ann", m=3)
tm.read("ratings.csv", ids="numbers")
one = model.label(items)
"""


def test_a_typed_consumer_is_checked_against_our_types(tmp_path: Path) -> None:
    assert Path(tm.__file__).with_name("py.typed").is_file()
    assert importlib.util.find_spec("mypy"), "mypy comes with the extra dev"
    (tmp_path / "consumer.py").write_text(CONSUMER)
    (tmp_path / "mypy.ini").write_text("[mypy]\n[mypy-pyarrow.*]\nignore_missing_imports = True\n")
    options = ("--strict", "--config-file", tmp_path / "mypy.ini", "--no-error-summary")
    ran = subprocess.run(
        [sys.executable, "-m", "mypy", *options, "--follow-imports=silent", "consumer.py"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    told = [line.partition(": ")[::2] for line in ran.stdout.splitlines()]
    lines = [(CONSUMER.splitlines()[int(at.split(":")[1]) - 1], text) for at, text in told]
    wrong = [line for line, text in lines if text.startswith("error: ")]
    shown = {line: text for line, text in lines if "Revealed type" in text}
    assert shown['reveal_type(model.predict("ann", "Heat"))'].endswith('"float"')
    assert shown["reveal_type(tm.MIXD(rank=10).fit(ratings))"].endswith('.Model"')
    assert wrong == [
        'model.recommend("ann", m=3)',
        'tm.read("ratings.csv", ids="numbers")',
        "one = model.label(items)",
    ], ran.stdout
