"""The notebooks of the documentation run from top to bottom; `make docs` shows what they print."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

FOLDER = Path(__file__).parent.parent / "docs" / "notebooks"
NOTEBOOKS = sorted(FOLDER.glob("*.ipynb"))


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_runs(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(FOLDER)
    monkeypatch.delenv("TASTEMIX_DATA", raising=False)
    names: dict[str, object] = {"__name__": "notebook"}
    for number, cell in enumerate(json.loads(path.read_text())["cells"]):
        if cell["cell_type"] == "code":
            assert cell["outputs"] == [], "outputs are made by `make docs`, and not committed"
            exec(compile("".join(cell["source"]), f"{path.name} cell {number}", "exec"), names)


def test_every_notebook_is_in_the_navigation() -> None:
    navigation = (FOLDER.parent.parent / "mkdocs.yml").read_text().partition("\nnav:")[2]
    assert len(NOTEBOOKS) >= 5
    for path in NOTEBOOKS:
        assert f"notebooks/{path.name}" in navigation
