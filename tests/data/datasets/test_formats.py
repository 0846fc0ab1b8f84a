"""The published formats, read from small files written in them."""

import struct
import sys

import pytest

from tastemix.data import datasets
from tastemix.data.datasets import Counts, catalogue
from tastemix.errors import DataError, RatingError

from . import made


def load(dataset, contents, counts, folder, **options):
    small = made.published(dataset, contents, counts)
    return datasets.load(small, folder=made.write(folder, contents), download=False, **options)


def titles(dataset, contents, folder):
    small = made.published(dataset, contents, Counts(0, 0, 0))
    return datasets.titles(small, folder=made.write(folder, contents), download=False)


def rows(ratings):
    return sorted(map(tuple, (row.values() for row in ratings.to_table().to_pylist())))


@pytest.fixture(autouse=True)
def _empty_cache(tmp_path, monkeypatch):
    monkeypatch.setenv("TASTEMIX_CACHE", str(tmp_path / "cache"))


def test_movielens_1m(tmp_path):
    ratings = load(
        catalogue.ML_1M, {"ml-1m.zip": made.ML_1M_ZIP}, made.ML_1M_COUNTS, tmp_path / "data"
    )
    assert rows(ratings) == [
        (1, 661, 3.0, 978302109),
        (1, 1193, 5.0, 978300760),
        (2, 1193, 4.0, 978298413),
    ]
    assert ratings.scale == (1, 5)


def test_movielens_1m_titles_are_latin_1_and_may_hold_a_colon(tmp_path):
    found = titles(catalogue.ML_1M, {"ml-1m.zip": made.ML_1M_ZIP}, tmp_path / "data")
    assert found.to_pydict() == {
        "id": [661, 1193, 73],
        "title": [
            "James and the Giant Peach (1996)",
            "One Flew: Over the Cuckoo's Nest (1975)",
            "Misérables, Les (1995)",
        ],
    }


def test_movielens_10m_has_half_stars_and_utf_8_titles(tmp_path):
    contents = {
        "ml-10m.zip": made.zipped(
            {
                "ml-10M100K/ratings.dat": b"1::122::0.5::838985046\n7::122::4.5::838983525\n",
                "ml-10M100K/movies.dat": '122::"Amélie" Poulain (2001)::Comedy\n'.encode(),
            }
        )
    }
    ratings = load(catalogue.ML_10M, contents, Counts(2, 2, 1), tmp_path / "data")
    assert rows(ratings) == [(1, 122, 0.5, 838985046), (7, 122, 4.5, 838983525)]
    assert ratings.scale == (0.5, 5)
    found = titles(catalogue.ML_10M, contents, tmp_path / "data")
    assert found["title"].to_pylist() == ['"Amélie" Poulain (2001)']


def test_movielens_100k(tmp_path):
    genres = "|".join("0" * 19)
    contents = {
        "ml-100k.zip": made.zipped(
            {
                "ml-100k/u.data": b"196\t242\t3\t881250949\n186\t302\t4\t891717742\n",
                "ml-100k/u.item": (
                    f"242|Kolya (1996)|24-Jan-1997||http://a/?Kolya|{genres}\n"
                    f"302|Noël, L' (1997)|01-Jan-1997||http://a/?L|{genres}\n"
                ).encode("latin-1"),
            }
        )
    }
    ratings = load(catalogue.ML_100K, contents, Counts(2, 2, 2), tmp_path / "data")
    assert rows(ratings) == [(186, 302, 4.0, 891717742), (196, 242, 3.0, 881250949)]
    found = titles(catalogue.ML_100K, contents, tmp_path / "data")
    assert found.to_pydict() == {"id": [242, 302], "title": ["Kolya (1996)", "Noël, L' (1997)"]}


@pytest.mark.parametrize(
    "line", [b"1::1193::5\n", b"1::1193::5::978300760::x\n", b"1::x::5::978300760\n"]
)
def test_a_line_of_another_format_is_refused(tmp_path, line):
    contents = {"ml-1m.zip": made.zipped({"ml-1m/ratings.dat": made.ML_1M_RATINGS + line})}
    with pytest.raises(DataError, match=r"ml-1m/ratings.dat in .*ml-1m.zip is not in the publ"):
        load(catalogue.ML_1M, contents, made.ML_1M_COUNTS, tmp_path / "data")


def test_a_rating_outside_the_scale_is_refused_with_the_file_named(tmp_path):
    contents = {"ml-1m.zip": made.zipped({"ml-1m/ratings.dat": b"1::2::6::978300760\n"})}
    with pytest.raises(RatingError, match=r"ml-1m.zip: the rating in row 0 is 6, outside"):
        load(catalogue.ML_1M, contents, Counts(1, 1, 1), tmp_path / "data")


def jester(first=None):
    sheets = (
        first or [made.jokes({1: -7.82, 100: 10.0}), made.jokes({})],
        [made.jokes({2: 0.0})],
        [made.jokes({1: 9.9, 3: -9.95})],
    )
    return {
        f"jester_dataset_1_{n}.zip": made.zipped({f"jester-data-{n}.xls": made.xls(rows)})
        for n, rows in enumerate(sheets, 1)
    }


def test_jester_numbers_users_over_its_three_sheets_and_jokes_from_one(tmp_path):
    ratings = load(catalogue.JESTER, jester(), Counts(5, 3, 4), tmp_path / "data")
    expected = [(0, 1, -7.82), (0, 100, 10.0), (2, 2, 0.0), (3, 1, 9.9), (3, 3, -9.95)]
    assert rows(ratings) == [(u, i, pytest.approx(r)) for u, i, r in expected]
    assert ratings.scale == (-10, 10)


def test_jester_prepared_is_in_stars(tmp_path):
    stars = load(catalogue.JESTER, jester(), Counts(5, 3, 4), tmp_path / "data", prepared=True)
    assert rows(stars) == [(0, 1, 1.0), (0, 100, 5.0), (2, 2, 3.0), (3, 1, 5.0), (3, 3, 1.0)]
    assert stars.scale == (1, 5)


def test_jester_counts_must_agree_with_the_first_column(tmp_path):
    wrong = [[2.0, *made.jokes({1: 3.0})[1:]]]
    with pytest.raises(DataError, match=r"row 0 of jester-data-1.xls in .* states 2 ratings"):
        load(catalogue.JESTER, jester(wrong), Counts(5, 3, 4), tmp_path / "data")


def test_jester_sheet_of_another_width_is_refused(tmp_path):
    with pytest.raises(DataError, match=r"jester-data-1.xls in .* has 3 columns"):
        load(catalogue.JESTER, jester([[1.0, 2.0, 3.0]]), Counts(5, 3, 4), tmp_path / "data")


# A container's header, right as far as its byte order and sector sizes, of which xlrd complains.
HEADER = struct.pack("<8s20xHHH478x", b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", 0xFFFE, 9, 6)


@pytest.mark.parametrize(
    "damaged", [b"no sheet" * 100, HEADER + bytes(700), made.xls([made.jokes({1: 3.0})])[:-7]]
)
def test_jester_that_is_not_xls_is_refused_and_nothing_is_printed(tmp_path, capfd, damaged):
    contents = jester() | {"jester_dataset_1_1.zip": made.zipped({"jester-data-1.xls": damaged})}
    with pytest.raises(DataError, match=r"jester-data-1.xls in .* cannot be read as .xls"):
        load(catalogue.JESTER, contents, Counts(5, 3, 4), tmp_path / "data")
    assert capfd.readouterr() == ("", "")


def test_without_xlrd_the_way_out_is_named(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "xlrd", None)
    with pytest.raises(DataError, match="pip install xlrd"):
        load(catalogue.JESTER, jester(), Counts(5, 3, 4), tmp_path / "data")


FOODS = (
    ("B001", "A1", 5, 300, "Bought\u00e9 twice."),
    ("B001", "A2", 4, 200, "Fine."),
    ("B001", "A1", 2, 100, "An older review, later in the file."),
    ("B002", "#oc-R1", 1, 400, "review/score 5.0 is not a key"),
    ("B002", "A2", 3, 500, "Early in the file."),
    ("B002", "A2", 1, 500, "As late, and later in the file."),
)
KEPT = [
    ("#oc-R1", "B002", 1.0, 400),
    ("A1", "B001", 5.0, 300),
    ("A2", "B001", 4.0, 200),
    ("A2", "B002", 1.0, 500),
]
FOOD_COUNTS = Counts(6, 3, 2)


def food_text():
    reviews = (made.review(p, u, f"{s:.1f}", t, text) for p, u, s, t, text in FOODS)
    return {"finefoods.txt.gz": made.finefoods_text(*reviews)}


def food_csv():
    head = "Id,ProductId,UserId,ProfileName,HelpfulnessNumerator,HelpfulnessDenominator,"
    lines = [
        f'{n},{p},{u},"One, ""Some""",1,1,{s},{t},Tasty,"{text}\nmore"\n'
        for n, (p, u, s, t, text) in enumerate(FOODS, 1)
    ]
    return {"Reviews.csv": (head + "Score,Time,Summary,Text\n" + "".join(lines)).encode()}


@pytest.mark.parametrize("contents", [food_text(), food_csv()], ids=["text", "csv"])
def test_of_two_fine_foods_reviews_of_one_pair_the_newer_counts(tmp_path, contents):
    ratings = load(catalogue.FINEFOODS, contents, FOOD_COUNTS, tmp_path / "data")
    assert rows(ratings) == KEPT
    assert ratings.scale == (1, 5)


def test_fine_foods_prepared_is_filtered(tmp_path):
    reviews = [made.review(f"B{n}", "many", "4.0", n) for n in range(6)]
    reviews += [made.review(f"B{n}", "some", "3.0", n) for n in range(1, 6)]
    reviews += [made.review("B0", "few", "1.0", n) for n in range(7)]
    contents = {"finefoods.txt.gz": made.finefoods_text(*reviews)}
    counts = Counts(18, 3, 6)
    ratings = load(catalogue.FINEFOODS, contents, counts, tmp_path / "data", prepared=True)
    assert ratings.users.values.to_pylist() == ["many", "some"]
    assert ratings.items.values.to_pylist() == [f"B{n}" for n in range(1, 6)]
    assert len(ratings) == 10


def test_fine_foods_lines_may_run_over_and_end_in_carriage_returns(tmp_path):
    text = made.review("B1", "A1", "5.0", 1).replace("Some One", "Some\nOne").replace("\n", "\r\n")
    contents = {"finefoods.txt.gz": made.finefoods_text(text, text.replace("A1", "A2"))}
    ratings = load(catalogue.FINEFOODS, contents, Counts(2, 2, 1), tmp_path / "data")
    assert rows(ratings) == [("A1", "B1", 5.0, 1), ("A2", "B1", 5.0, 1)]


def test_of_many_fine_foods_reviews_at_one_time_the_last_in_the_file_counts(tmp_path):
    many = 2000
    last = max(n for n in range(many) if n % 3 == 2)
    reviews = [made.review("B1", "A1", "4.0" if n == last else "1.0", n % 3) for n in range(many)]
    contents = {"finefoods.txt.gz": made.finefoods_text(*reviews)}
    ratings = load(catalogue.FINEFOODS, contents, Counts(many, 1, 1), tmp_path / "data")
    assert rows(ratings) == [("A1", "B1", 4.0, 2)]


def long_text(many):
    text = [made.review(f"B{n % 300}", f"A{n}", "3.0", n, "x" * 700) for n in range(many)]
    return {"finefoods.txt.gz": made.finefoods_text(*text)}


def long_csv(many):
    text = "and more\n" * 80
    lines = [f'B{n % 300},A{n},3,{n},"{text}"\n' for n in range(many)]
    return {"Reviews.csv": ("ProductId,UserId,Score,Time,Text\n" + "".join(lines)).encode()}


@pytest.mark.parametrize("contents", [long_text, long_csv])
def test_fine_foods_longer_than_what_is_read_at_once_loses_no_review(tmp_path, contents):
    many = 30_000
    counts = Counts(many, many, 300)
    ratings = load(catalogue.FINEFOODS, contents(many), counts, tmp_path / "data")
    assert sorted(ratings.timestamp.tolist()) == list(range(many))


@pytest.mark.parametrize("key", ["review/userId", "review/score", "review/time"])
@pytest.mark.parametrize("at", [0, 1, 2])
def test_a_fine_foods_review_without_a_field_is_refused(tmp_path, key, at):
    reviews = [made.review("B1", f"A{n}", "5.0", n) for n in range(3)]
    reviews[at] = reviews[at].replace(key, "review/other")
    contents = {"finefoods.txt.gz": made.finefoods_text(*reviews)}
    with pytest.raises(DataError, match="lacks its user, score or time"):
        load(catalogue.FINEFOODS, contents, Counts(3, 3, 1), tmp_path / "data")


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("finefoods.txt.gz", made.finefoods_text("something else\n")),
        ("finefoods.txt.gz", made.finefoods_text()),
        ("finefoods.txt.gz", made.finefoods_text(made.review("B1", "A1", "five", 1))),
        ("Reviews.csv", b"user,item\n1,2\n"),
        ("Reviews.csv", b""),
    ],
)
def test_fine_foods_in_another_format_is_refused(tmp_path, name, content):
    with pytest.raises(DataError, match=r"is not in the published format"):
        load(catalogue.FINEFOODS, {name: content}, Counts(1, 1, 1), tmp_path / "data")
