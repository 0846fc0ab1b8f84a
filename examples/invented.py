"""Invented readers, film-goers and listeners: data for the examples and notebooks, always the same.

python examples/invented.py FOLDER        # writes FOLDER/ratings.csv and FOLDER/books.csv

Everybody likes a few kinds of things, and chooses what to read, see or hear by that. The files of
books are as people have them: semicolons, Latin-1, quotes, ISBNs, and zeros that mean no rating.
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

Kinds = dict[str, tuple[str, str]]
"""Kinds of things, each with the beginnings and the ends of its titles."""
BOOKS = {
    "crime": (
        "The Silent|A Cold|The Last|A Quiet|The Crooked|An Honest|The Second|A Borrowed",
        "Harbour|Witness|Alibi|Staircase|Verdict",
    ),
    "romance": (
        "A Summer in|Letters from|The Road to|Midnight in|Return to|The Baker of|"
        "A Wedding in|Two Winters in",
        "Orléans|Córdoba|Málaga|Bruges|Skåne",
    ),
    "fantasy": (
        "The Dragon of|The Sword of|A Crown for|The Witch of|The Gates of|Songs of|"
        "The Heir of|Wolves of",
        "Eldûr|Mórwen|Ashfall|the North|Ravenmoor",
    ),
    "space": (
        "Beyond|Signals from|Adrift near|The Colony on|Return from|The Engineers of|"
        "Waking on|Last Ship to",
        "Andromeda|Europa|the Void|Station Nine|Titan",
    ),
    "history": (
        "The Fall of|A Short History of|The Kings of|The Bridges of|Merchants of|"
        "The Siege of|Daily Life in|Maps of",
        "Byzantium|Königsberg|Carthage|Sevilla|Old Prague",
    ),
    "cooking": (
        "Cooking with|The Book of|A Year of|Simply|Everyday|The Art of|Notes on|All about",
        "Crème|Jalapeños|Bread|Pickles|Soup",
    ),
}
FILMS = {
    "western": (
        "The Man from|Six Guns for|The Ballad of|Last Train to|Return to|Gold at|"
        "A Grave in|The Sheriff of",
        "Laredo|Red Canyon|Dry Creek|Abilene|Sonora",
    ),
    "comedy": (
        "My Aunt's|Three Men and a|Who Stole the|The Wrong|Honeymoon with a|Help, a|"
        "Mr Jones's|Never Trust a",
        "Parrot|Trumpet|Wedding Cake|Landlord|Piano",
    ),
    "horror": (
        "The Thing in the|Night of the|Whispers from the|Don't Open the|"
        "The Curse of the|Teeth in the|Nobody Leaves the|Children of the",
        "Cellar|Marsh|Lighthouse|Attic|Orchard",
    ),
    "musical": (
        "Dancing on|Moonlight over|All Singing|A Song for|The Girls of|Tap Shoes in|"
        "Encore at|Rhapsody in",
        "Broadway|Havana|Rosewood Street|the Riviera|Blue",
    ),
    "war": (
        "The Battle of|Beyond the|The Guns of|Retreat from|Six Days at|Letters from|"
        "No Return from|The Bridge at",
        "Arnay|Cassel|the Ridge|Port Said|Kolberg",
    ),
}
SONGS = {
    "jazz": (
        "Blue|Slow|Midnight|Uptown|Smoky|Velvet|Lonesome|Sunday",
        "Alley|Corner|Train|Rain|Waltz",
    ),
    "metal": (
        "Iron|Black|Burning|Hammer of|Oath of|Throne of|Storm of|Chains of",
        "Wolves|Ashes|Thunder|Ruin|Giants",
    ),
    "folk": (
        "The Miller's|My Sister's|The Ferryman's|A Shepherd's|Old|The Weaver's|"
        "A Sailor's|The Widow's",
        "Daughter|Well|Road|Farewell|Garden",
    ),
    "dance": (
        "Feel the|Into the|Give Me|Neon|Higher|Electric|Endless|Lose the",
        "Night|Rhythm|Summer|Lights|Gravity",
    ),
}
READERS, FILM_GOERS, LISTENERS = 900, 700, 800


def titles(kinds: Kinds) -> pa.Table:
    """Titles and the kind of each: every beginning with every end."""
    found = [
        {"title": f"{begin} {end}", "kind": kind}
        for kind, (begins, ends) in kinds.items()
        for begin in begins.split("|")
        for end in ends.split("|")
    ]
    return pa.Table.from_pylist(found)


def chosen(
    kinds: Kinds, people: int, mean: int, seed: int
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.float64]]:
    """Who chose what, and how much they liked it, around 0."""
    rng = np.random.default_rng(seed)
    kind = np.repeat(np.arange(len(kinds)), titles(kinds).num_rows // len(kinds))
    things = len(kind)
    love = rng.dirichlet(np.full(len(kinds), 0.4), people)[:, kind]  # of the kind, by person
    second = rng.dirichlet(np.full(len(kinds), 0.2), things)  # a little of another kind
    love = love + 0.5 * rng.dirichlet(np.full(len(kinds), 0.4), people) @ second.T
    quality, mildness = rng.normal(0, 0.4, things), rng.normal(0, 0.4, people)
    known = rng.lognormal(0, 0.9, things) * np.exp(quality)
    chance = (0.12 + love) * known * rng.lognormal(0, 0.7, people)[:, None]
    user, item = np.nonzero(
        rng.random(chance.shape) < np.minimum(0.9, chance * mean * people / chance.sum())
    )
    liking = 2.2 * love[user, item] + quality[item] + mildness[user]
    return user, item, liking - liking.mean() + rng.normal(0, 0.6, len(user))


def books(folder: Path) -> None:
    """Write folder/ratings.csv and folder/books.csv."""
    user, item, liking = chosen(BOOKS, READERS, 40, seed=1)
    rng = np.random.default_rng(2)
    stars = np.clip(np.rint(6.5 + 1.9 * liking), 1, 10).astype(int)
    stars[rng.random(len(stars)) < 0.35] = 0  # read, and not rated
    names = titles(BOOKS).to_pylist()
    isbn = [
        f"{number:09}{'0123456789X'[number * 7 % 11]}"
        for number in 37_000_000 + 1009 * np.arange(len(names))
    ]
    people = 276_000 + 3 * rng.permutation(READERS)
    header = '"User-ID";"ISBN";"Book-Rating"\n'
    rows = (f'"{people[u]}";"{isbn[i]}";"{s}"\n' for u, i, s in zip(user, item, stars, strict=True))
    (folder / "ratings.csv").write_text(header + "".join(rows), "latin-1")
    header = '"ISBN";"Book-Title";"Subject"\n'
    rows = (f'"{isbn[i]}";"{n["title"]}";"{n["kind"]}"\n' for i, n in enumerate(names))
    (folder / "books.csv").write_text(header + "".join(rows), "latin-1")


def films() -> tuple[pa.Table, pa.Table]:
    """Stars from a half to five, and the films: id, title, genres."""
    user, item, liking = chosen(FILMS, FILM_GOERS, 45, seed=3)
    stars = np.clip(np.rint(7 + 1.8 * liking), 1, 10) / 2
    names = titles(FILMS)
    ratings = pa.table({"user": user + 1, "item": item + 1, "rating": stars})
    return ratings, pa.table(
        {"item": np.arange(len(names)) + 1, "title": names["title"], "genres": names["kind"]}
    )


def plays() -> tuple[pa.Table, pa.Table]:
    """How often songs were played, and the songs: id, title, style."""
    user, item, liking = chosen(SONGS, LISTENERS, 30, seed=4)
    count = np.ceil(np.exp(1.2 * liking + 0.8)).astype(int)
    names = titles(SONGS)
    songs = pa.table(
        {"song": np.arange(len(names)) + 1, "title": names["title"], "style": names["kind"]}
    )
    return pa.table({"listener": user + 1, "song": item + 1, "plays": count}), songs


if __name__ == "__main__":
    books(Path(sys.argv[1]))
