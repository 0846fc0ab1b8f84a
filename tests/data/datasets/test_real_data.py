"""The real files, where TASTEMIX_DATA holds them."""

import numpy as np
import pytest

from tastemix.data import datasets
from tastemix.data.datasets import catalogue


@pytest.fixture(autouse=True)
def _no_cache(tmp_path, monkeypatch):
    monkeypatch.setenv("TASTEMIX_CACHE", str(tmp_path))


def from_each_source(dataset, data):
    """The ratings of every source that is there, alone."""
    found = {}
    for source in dataset.sources:
        places = [folder / file.name for file in source.files for folder in (data, data / "raw")]
        if sum(path.is_file() for path in places) >= len(source.files):
            one = type(dataset)(dataset.name, dataset.about, dataset.scale, (source,))
            found[source.files[0].name] = datasets.load(one, folder=data, download=False)
    return found


@pytest.mark.parametrize(
    ("dataset", "mean"), [(catalogue.ML_1M, 3.5816), (catalogue.JESTER, 0.74215)]
)
def test_archive_and_parquet_hold_the_same_ratings(data, dataset, mean):
    found = from_each_source(dataset, data)
    if len(found) < 2:
        pytest.skip(f"TASTEMIX_DATA holds {dataset.name} in one form only")
    assert len({ratings.fingerprint for ratings in found.values()}) == 1
    for ratings in found.values():
        assert ratings.by_user.values.mean(dtype=np.float64) == pytest.approx(mean, abs=5e-5)


def test_movielens_titles_of_archive_and_parquet_agree(data, tmp_path):
    (tmp_path / "ml-1m.zip").symlink_to(data / "raw" / "ml-1m.zip")
    if not (data / "raw" / "ml-1m.zip").is_file():
        pytest.skip("TASTEMIX_DATA holds no ml-1m.zip")
    archived = datasets.titles("ml-1m", folder=tmp_path, download=False)
    assert archived == datasets.titles("ml-1m", folder=data, download=False)
    assert archived["title"][72].as_py() == "Misérables, Les (1995)"


@pytest.mark.parametrize("name", ["ml-100k", "finefoods", "ml-10m"])
def test_the_other_data_sets_load(data, name):
    (status,) = (each for each in datasets.known(data) if each.dataset.name == name)
    if not status.found:
        pytest.skip(f"TASTEMIX_DATA does not hold {name}")
    ratings = datasets.load(name, folder=data, download=False)
    assert len(ratings.users) == status.source.counts.users


def test_fine_foods_prepared_keeps_the_promise_of_its_filter(data):
    ratings = datasets.load("finefoods", folder=data, download=False, prepared=True)
    assert ratings.by_user.counts.min() >= 5
    assert ratings.by_item.counts.min() >= 2


def test_jester_as_stars_has_the_papers_spread(data):
    stars = datasets.load("jester", folder=data, download=False, prepared=True)
    assert np.bincount(stars.by_user.values.astype(int)).tolist() == [
        *(0, 388_700, 768_144, 1_237_966, 1_320_234, 421_316)
    ]
