"""Where data sets are looked for, what is found, and what is refused."""

import hashlib
import re
from dataclasses import replace

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tastemix.data import datasets
from tastemix.data.datasets import Counts, catalogue
from tastemix.errors import ColumnError, DataError, ParameterError

from . import made

ZIP = {"ml-1m.zip": made.ML_1M_ZIP}
SMALL = made.published(catalogue.ML_1M, ZIP, made.ML_1M_COUNTS)


@pytest.fixture(autouse=True)
def cache(tmp_path, monkeypatch):
    monkeypatch.setenv("TASTEMIX_CACHE", str(tmp_path / "cache"))
    monkeypatch.delenv("TASTEMIX_DATA", raising=False)
    return tmp_path / "cache"


def parquet(path, **changes):
    columns = {
        "user": [1, 1, 2],
        "item": [1193, 661, 1193],
        "rating": [5.0, 3.0, 4.0],
        "timestamp": [978300760, 978302109, 978298413],
    }
    path.parent.mkdir(parents=True, exist_ok=True)
    kept = {name: column for name, column in (columns | changes).items() if column is not None}
    pq.write_table(pa.table(kept), path)
    return path


def load(dataset=SMALL, **options):
    return datasets.load(dataset, download=False, **options)


@pytest.mark.parametrize("under", [".", "raw"])
@pytest.mark.parametrize("place", ["folder", "TASTEMIX_DATA", "cache"])
def test_an_archive_is_found_in_each_place_and_its_raw_folder(tmp_path, monkeypatch, place, under):
    made.write(tmp_path / place / under, ZIP)
    if place == "TASTEMIX_DATA":
        monkeypatch.setenv("TASTEMIX_DATA", str(tmp_path / place))
    assert len(load(folder=tmp_path / place if place == "folder" else None)) == 3


def test_the_folder_given_stands_for_that_of_the_environment(tmp_path, monkeypatch):
    made.write(tmp_path / "data", ZIP)
    monkeypatch.setenv("TASTEMIX_DATA", str(tmp_path / "data"))
    with pytest.raises(DataError, match=f"is not in {re.escape(str(tmp_path / 'other'))} or"):
        load(folder=tmp_path / "other")


def test_parquet_and_archive_give_the_same_ratings(tmp_path):
    parquet(tmp_path / "a" / "ml-1m.parquet")
    made.write(tmp_path / "b", ZIP)
    one, other = load(folder=tmp_path / "a"), load(folder=tmp_path / "b")
    assert one.fingerprint == other.fingerprint
    assert one.timestamp.tolist() == other.timestamp.tolist()


def test_parquet_is_read_before_the_archive(tmp_path):
    made.write(tmp_path, ZIP)
    parquet(tmp_path / "ml-1m.parquet", rating=[1.0, 1.0, 1.0])
    assert load(folder=tmp_path).by_user.values.tolist() == [1, 1, 1]


def test_parquet_without_timestamps_is_enough(tmp_path):
    parquet(tmp_path / "ml-1m.parquet", timestamp=None)
    assert load(folder=tmp_path).timestamp is None


def test_what_is_nowhere_names_the_file_its_address_and_its_place(tmp_path, cache):
    with pytest.raises(DataError) as error:
        load("ml-10m", folder=tmp_path / "data")
    for part in (
        "ml-10m.zip (https://files.grouplens.org/datasets/movielens/ml-10m.zip)",
        f"not in {tmp_path / 'data'} or {cache}",
        f"put it in {tmp_path / 'data'}",
        "TASTEMIX_DATA",
        "also read: ml-10m.parquet",
    ):
        assert part in str(error.value)


def test_a_missing_file_of_several_is_the_one_named(tmp_path):
    contents = {f"jester_dataset_1_{n}.zip": b"%d" % n for n in (1, 2, 3)}
    dataset = made.published(catalogue.JESTER, contents, Counts(0, 0, 0), "https://a.org")
    del contents["jester_dataset_1_2.zip"]
    made.write(tmp_path, contents)
    asked = r"download jester_dataset_1_2.zip \(https://a.org/jester_dataset_1_2.zip\) and put"
    with pytest.raises(DataError, match=asked):
        load(dataset, folder=tmp_path)


def test_an_unknown_name_lists_the_known_ones():
    with pytest.raises(ParameterError, match="ml-100k, ml-1m, ml-10m, jester, finefoods"):
        datasets.load("netflix")


def test_a_file_with_another_checksum_is_refused_and_not_touched(tmp_path):
    other = made.zipped({"ml-1m/ratings.dat": made.ML_1M_RATINGS})
    made.write(tmp_path, {"ml-1m.zip": other})
    with pytest.raises(DataError, match=f"its sha256 is {hashlib.sha256(other).hexdigest()}"):
        load(folder=tmp_path)
    assert (tmp_path / "ml-1m.zip").read_bytes() == other


@pytest.mark.parametrize("counts", [Counts(4, 2, 2), Counts(3, 3, 2), Counts(3, 2, 1)])
def test_a_table_with_other_counts_is_refused_and_not_touched(tmp_path, counts):
    parquet(tmp_path / "ml-1m.parquet")
    with pytest.raises(DataError, match=r"not ml-1m: .*3 ratings of 2 users and 2"):
        load(made.published(catalogue.ML_1M, ZIP, counts), folder=tmp_path)
    assert (tmp_path / "ml-1m.parquet").is_file()


def test_a_truncated_parquet_file_is_refused(tmp_path):
    path = parquet(tmp_path / "ml-1m.parquet")
    path.write_bytes(path.read_bytes()[:-20])
    with pytest.raises(DataError, match=r"ml-1m.parquet is not a sound parquet file"):
        load(folder=tmp_path)


def test_a_parquet_file_without_a_column_is_refused_with_those_it_has(tmp_path):
    parquet(tmp_path / "ml-1m.parquet", rating=None)
    with pytest.raises(ColumnError, match=r"no column 'rating'; its columns are 'user', 'item'"):
        load(folder=tmp_path)


def test_known_says_what_is_found_where_and_what_would_be_downloaded(tmp_path):
    parquet(tmp_path / "ml-1m.parquet")
    parquet(tmp_path / "finefoods-users6plus.parquet")
    made.write(tmp_path, {"jester_dataset_1_1.zip": b"one of three"})
    status = {each.dataset.name: each for each in datasets.known(tmp_path)}
    assert list(status) == ["ml-100k", "ml-1m", "ml-10m", "jester", "finefoods"]
    assert [name for name, each in status.items() if each.found] == ["ml-1m", "finefoods"]
    assert status["ml-1m"].paths == (tmp_path / "ml-1m.parquet",)
    assert str(status["ml-1m"]) == str(tmp_path / "ml-1m.parquet")
    assert str(status["finefoods"]).endswith("(a part: users with six reviews or more, numbered)")
    assert str(status["jester"]).startswith(
        "not found; load downloads https://eigentaste.berkeley.edu/dataset/jester_dataset_1_1.zip, "
    )


def test_all_of_fine_foods_is_read_before_a_part_of_it(tmp_path):
    parquet(tmp_path / "finefoods-users6plus.parquet")
    made.write(tmp_path / "raw", {"finefoods.txt.gz": b""})
    (found,) = (each for each in datasets.known(tmp_path) if each.dataset.name == "finefoods")
    assert found.paths == (tmp_path / "raw" / "finefoods.txt.gz",)


def test_titles_come_from_parquet_or_the_archive_in_the_same_form(tmp_path):
    made.write(tmp_path / "a", ZIP)
    archived = datasets.titles(SMALL, folder=tmp_path / "a", download=False)
    path = tmp_path / "b" / "ml-1m-items.parquet"
    path.parent.mkdir()
    pq.write_table(archived.append_column("genres", pa.array(["", "", ""])), path)
    assert datasets.titles(SMALL, folder=tmp_path / "b", download=False) == archived


def test_jester_titles_are_the_jokes(tmp_path):
    pq.write_table(
        pa.table({"item": [1, 2], "text": pa.array(["Knock.", "Who?"], pa.large_string())}),
        tmp_path / "jester-items.parquet",
    )
    found = datasets.titles("jester", folder=tmp_path)
    assert found.to_pydict() == {"id": [1, 2], "title": ["Knock.", "Who?"]}


def test_titles_that_no_file_holds_are_none(tmp_path):
    assert datasets.titles("jester", folder=tmp_path) is None
    assert datasets.titles("finefoods", folder=tmp_path) is None
    assert datasets.titles("ml-1m", folder=tmp_path, download=False) is None


def test_duplicates_are_refused_unless_the_data_set_says_otherwise(tmp_path):
    path = tmp_path / "ml-1m.parquet"
    parquet(path, item=[661, 661, 1193])
    with pytest.raises(DataError, match="twice"):
        load(folder=tmp_path)
    kept = load(replace(SMALL, duplicates="last"), folder=tmp_path)
    assert kept.by_user.values.tolist() == [3, 4]


def test_the_cache_is_in_the_systems_place_for_caches(monkeypatch, tmp_path):
    monkeypatch.delenv("TASTEMIX_CACHE")
    monkeypatch.setattr("sys.platform", "linux")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert datasets.cache() == tmp_path / "tastemix"
    monkeypatch.delenv("XDG_CACHE_HOME")
    monkeypatch.setenv("HOME", str(tmp_path))
    assert datasets.cache() == tmp_path / ".cache" / "tastemix"
