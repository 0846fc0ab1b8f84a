"""What the service is asked and what it answers: the types behind the JSON and its description."""

from __future__ import annotations

from typing import Any

from msgspec import UNSET, Struct, UnsetType

Id = int | float | str | bool
"""An id as JSON has it: a number, or a text (dates and other types as text)."""


class Shape(Struct, gc=False):
    """A tree of values. None refers to itself, so the garbage collector need not visit it."""


class Titled(Shape):
    """An item and what to call it."""

    id: Id
    title: str


class Item(Shape):
    """An item, and how often and how well it was rated in training."""

    id: Id
    title: str
    ratings: int
    mean: float | None


class Items(Shape):
    """Items, the most rated first, and where the next ones begin."""

    items: list[Item]
    after: str | None
    """Give it as `after` for the next ones; null where there are no more."""


class User(Shape):
    """A user, and how often and how well they rated in training."""

    id: Id
    ratings: int
    mean: float | None


class Users(Shape):
    """Users, those with most ratings first, and where the next ones begin."""

    users: list[User]
    after: str | None


class Kinds(Shape):
    """What the ids of a model are: integer, text, or the name of another type, shown as text."""

    users: str
    items: str


class About(Shape):
    """The model that answers."""

    name: str
    generation: int
    """Counts the models that this service has loaded."""
    method: str
    parameters: dict[str, Any]
    users: int
    items: int
    ratings: int | None
    """The number of training ratings; null in a model saved without them."""
    tastes: int
    low: float
    high: float
    mean: float
    kinds: Kinds
    predicts: bool
    """Whether it predicts ratings, not only an order."""
    ranges: bool
    """Whether it knows how certain its predictions are."""
    titled: bool
    renames: bool
    """Whether tastes can be renamed here."""
    compared: bool
    """Whether there is a comparison of methods to show."""


class Typical(Shape):
    """An item that is typical of a taste."""

    id: Id
    title: str
    weight: float
    """What the taste adds to the item for the mean user."""
    typical: float
    """What it adds on average for those who rated the item; items are ordered by it."""


class Near(Shape):
    """Another taste, and how alike the two are: from 0 to 1."""

    taste: int
    name: str
    similarity: float


class Taste(Shape):
    """A taste: what it is called, what it adds for the mean user, and its typical items."""

    taste: int
    name: str
    label: str | None
    """The name that was given by hand."""
    adds: float
    items: list[Typical]
    near: list[Near]


class Tastes(Shape):
    """All tastes, the one that adds most first."""

    tastes: list[Taste]


class Label(Shape, forbid_unknown_fields=True):
    """A name for a taste given by hand; null takes it away."""

    label: str | None


class Share(Shape):
    """A taste in the mix of an item or of a user."""

    taste: int
    name: str
    weight: float
    """Of an item: what the taste adds to it for the mean user. Of a user: relative to the mean
    user, who has 1."""
    adds: float
    """What the taste adds: to the item for the mean user, or for the user to an average item."""


class Rater(Shape):
    """A user who rated an item."""

    id: Id
    rating: float
    mean: float | None


class ItemPage(Shape):
    """An item with its mix of tastes and who likes it."""

    id: Id
    title: str
    ratings: int
    mean: float | None
    words: list[str]
    tastes: list[Share]
    likers: list[Rater] | None
    """The highest ratings, first of users with a low mean; null without training ratings."""


class Alike(Shape):
    """An item with a similar mix of tastes."""

    id: Id
    title: str
    similarity: float


class Similar(Shape):
    """The items most similar to one."""

    items: list[Alike]


class Rated(Shape):
    """An item that a user rated."""

    id: Id
    title: str
    rating: float


class UserPage(Shape):
    """A user with their mix of tastes and what they rated highest."""

    id: Id
    ratings: int
    mean: float | None
    tastes: list[Share]
    rated: list[Rated] | None


class Bar(Shape):
    """A predicted rating as a sum: the baseline, and what each taste adds, by its number."""

    baseline: float
    tastes: list[float]
    total: float
    """The sum, before it is clipped to the scale."""


class Recommended(Shape):
    """A recommended item."""

    id: Id
    title: str
    score: float
    """What the order is by."""
    rating: float | None
    """The predicted rating; null where the model predicts none."""
    std: float | UnsetType | None = UNSET
    """The standard deviation of the rating around its prediction."""
    bar: Bar | UnsetType | None = UNSET


class Recommendations(Shape):
    """The best items for a user, the best first."""

    user: Id
    items: list[Recommended]


class Part(Shape):
    """A part of a prediction."""

    kind: str
    """baseline, taste, rated or popularity."""
    taste: int | None
    name: str
    value: float
    user_weight: float | None
    item_weight: float | None
    because: list[Titled]
    """Rated items with the largest weight in the taste."""


class Explanation(Shape):
    """The parts of a prediction, the largest first; their values add up to the total."""

    user: Id
    item: Id
    title: str
    of: str
    total: float
    rating: float | None
    """The predicted rating, clipped to the scale."""
    std: float | None
    parts: list[Part]


class Place(Shape):
    """A taste on the map; x and y go from 0 to 1."""

    taste: int
    name: str
    x: float
    y: float


class Point(Shape):
    """An item on the map, among its tastes."""

    id: Id
    title: str
    taste: int
    """The taste that it has most of."""
    x: float
    y: float
    ratings: int


class Map(Shape):
    """Tastes, related ones near each other, and the most rated items among them."""

    tastes: list[Place]
    items: list[Point]


class Pairs(Shape, forbid_unknown_fields=True):
    """Pairs to predict: one item for each user."""

    users: list[Id]
    items: list[Id]
    std: bool = False


class Predictions(Shape):
    """The predicted ratings, in the order of the pairs."""

    ratings: list[float]
    std: list[float] | UnsetType = UNSET


class Given(Shape, forbid_unknown_fields=True):
    """A rating by a new person."""

    item: Id
    rating: float


class NewPerson(Shape, forbid_unknown_fields=True):
    """The ratings of someone new."""

    ratings: list[Given]
    n: int = 10
    parts: bool = True


class PersonPage(Shape):
    """Someone new: their mix of tastes, and the best items for them."""

    tastes: list[Share]
    items: list[Recommended]


class Asked(Shape, forbid_unknown_fields=True):
    """Users to recommend items to."""

    users: list[Id]
    n: int = 10


class Batch(Shape):
    """Recommendations for several users."""

    users: list[Recommendations]


class Problem(Shape):
    """Why a request was refused (RFC 9457)."""

    title: str
    status: int
    detail: str
    type: str = "about:blank"
