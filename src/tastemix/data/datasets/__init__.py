"""Known data sets and the embedded demo data.

from tastemix.data import datasets

ratings = datasets.load("ml-1m")               # in TASTEMIX_DATA, in the cache, or downloaded
stars = datasets.to_stars(datasets.load("jester"))
filtered = datasets.at_least(datasets.load("finefoods"), users=5, items=2)
datasets.load("jester", prepared=True)         # the same transforms, by the catalogue
datasets.titles("ml-1m")                       # a table of id and title
datasets.known()                               # what there is, and where it was found
datasets.demo.ratings()                        # invented people and dishes, no network
"""

from tastemix.data.datasets import demo
from tastemix.data.datasets.catalogue import Counts, Dataset, File, Source, Transform
from tastemix.data.datasets.store import Status, cache, known, load, places, titles
from tastemix.data.datasets.transforms import at_least, to_stars

__all__ = [
    "Counts",
    "Dataset",
    "File",
    "Source",
    "Status",
    "Transform",
    "at_least",
    "cache",
    "demo",
    "known",
    "load",
    "places",
    "titles",
    "to_stars",
]
