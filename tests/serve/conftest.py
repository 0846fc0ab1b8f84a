"""A model of dishes, and a service of it that many tests ask."""

from collections.abc import Iterator
from pathlib import Path

import pytest

import tastemix as tm
from tests.serve.running import Running, running

pytest.importorskip("msgspec")
pytest.importorskip("uvloop")


@pytest.fixture(scope="session")
def dishes() -> tm.Model:
    return tm.CNMF(6).fit(tm.datasets.demo.ratings())


@pytest.fixture(scope="session")
def folder(dishes: tm.Model, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The model of dishes, saved."""
    path = tmp_path_factory.mktemp("served") / "dishes.tastemix"
    dishes.save(path)
    return path


@pytest.fixture(scope="session")
def service(folder: Path) -> Iterator[Running]:
    """A service that answers about dishes, with small bounds."""
    with running(folder, "--log", "off", "--max-body", "4096", "--timeout", "1") as here:
        yield here
