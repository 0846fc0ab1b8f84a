"""The routes under /api/v1: one table that requests are answered by and the description is made
from.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal, cast

from tastemix.model.model import Of
from tastemix.serve import shapes
from tastemix.serve.answers import Answers
from tastemix.serve.limits import Limits
from tastemix.serve.problems import Refused

PREFIX = "/api/v1"


@dataclass(frozen=True)
class Parameter:
    """A parameter in the query of a URL."""

    name: str
    about: str
    default: Any
    least: int = 0
    most: int = 0
    among: tuple[str, ...] = ()

    def read(self, text: str) -> Any:
        """The value that a text spells."""
        if self.among:
            if text not in self.among:
                raise Refused(422, f"{self.name} is {text!r}: choose {' or '.join(self.among)}")
            return text
        if isinstance(self.default, bool):
            if text not in ("true", "false"):
                raise Refused(422, f"{self.name} is {text!r}: it must be true or false")
            return text == "true"
        if isinstance(self.default, int):
            return whole(self.name, text, self.least, self.most)
        if len(text) > self.most:
            raise Refused(422, f"{self.name} has {len(text):,} letters: {self.most:,} are read")
        return text


@dataclass(frozen=True)
class Call:
    """A request, read: what a route is answered from."""

    answers: Answers
    limits: Limits
    path: tuple[str, ...]
    """The texts in the places of {…} in the path."""
    query: Mapping[str, Any]
    body: Any

    def user(self) -> int:
        """The number of the user in the path."""
        return self._known(self.answers.users, self.path[0])

    def item(self, place: int = 0) -> int:
        """The number of the item in the path."""
        return self._known(self.answers.items, self.path[place])

    @staticmethod
    def _known(named: Any, text: str) -> int:
        number = int(named.spelled(text))
        if number < 0:
            what, other = named.ids.what, named.one(0) if len(named.ids) else "none"
            raise Refused(404, f"{what} {text[:60]!r} is not known: ids look like {other!r}")
        return number


@dataclass(frozen=True)
class Route:
    """A method and a path, how it is answered, and what is said about it."""

    method: Literal["GET", "POST", "PUT"]
    path: str
    about: str
    gives: Any
    answer: Callable[[Call], Any]
    parameters: tuple[Parameter, ...] = ()
    takes: Any = None
    kept: bool = False
    """Whether the answer depends on the model and the URL alone and may be kept."""


def whole(name: str, text: str, least: int, most: int) -> int:
    """The whole number that a text spells."""
    if not (text.isascii() and text.isdigit() and len(text) <= 12 and least <= int(text) <= most):
        raise Refused(422, f"{name} is {text[:40]!r}: it must be from {least:,} to {most:,}")
    return int(text)


def bounded(what: str, count: int, most: int) -> None:
    """Refuse more than so many."""
    if count > most:
        raise Refused(413, f"there are {count:,} {what}: at most {most:,} are taken at once")


def table(limits: Limits) -> tuple[Route, ...]:
    """All routes."""

    def some(default: int, what: str) -> Parameter:
        return Parameter("n", f"how many {what}", default, 1, limits.n)

    def search(what: str) -> tuple[Parameter, ...]:
        return (
            Parameter("q", "beginnings of words", "", most=200),
            Parameter("after", "where the answer before ended", 0, 0, 2**31),
            some(20, what),
        )

    def predictions(call: Call) -> shapes.Predictions:
        bounded("pairs", max(len(call.body.users), len(call.body.items)), limits.pairs)
        return call.answers.predict(call.body)

    def people(call: Call) -> shapes.PersonPage:
        bounded("ratings", len(call.body.ratings), limits.ratings)
        _check_n(call.body.n, limits)
        return call.answers.person(call.body)

    def batch(call: Call) -> shapes.Batch:
        _check_n(call.body.n, limits)
        bounded("users", len(call.body.users), limits.users)
        bounded("entries", len(call.body.users) * call.body.n, limits.entries)
        return call.answers.batch(call.body)

    return (
        Route("GET", "/model", "What is known about the model.", shapes.About, _about),
        Route(
            *("GET", "/tastes", "All tastes, the one that adds most first.", shapes.Tastes),
            lambda call: call.answers.all_tastes(call.query["n"]),
            (some(8, "items of each taste"),),
        ),
        Route(
            *("GET", "/tastes/{taste}", "One taste.", shapes.Taste),
            lambda call: call.answers.taste(_taste(call), call.query["n"]),
            (some(30, "items"),),
        ),
        Route(
            *("PUT", "/tastes/{taste}", "Give a taste a name by hand.", shapes.Taste),
            lambda call: call.answers.rename(_taste(call), call.body.label, call.query["n"]),
            (some(30, "items"),),
            shapes.Label,
        ),
        Route(
            *("GET", "/items", "Items by their titles, the most rated first.", shapes.Items),
            lambda call: call.answers.find_items(*_search(call)),
            search("items"),
            kept=True,
        ),
        Route(
            *("GET", "/items/{item}", "An item with its mix of tastes.", shapes.ItemPage),
            lambda call: call.answers.item(call.item(), call.query["n"]),
            (some(10, "of those who like it"),),
        ),
        Route(
            *("GET", "/items/{item}/similar", "Items with a similar mix.", shapes.Similar),
            lambda call: call.answers.similar(call.item(), call.query["n"]),
            (some(10, "items"),),
            kept=True,
        ),
        Route(
            *("GET", "/users", "Users by their ids, the busiest first.", shapes.Users),
            lambda call: call.answers.find_users(*_search(call)),
            search("users"),
            kept=True,
        ),
        Route(
            *("GET", "/users/{user}", "A user with their mix of tastes.", shapes.UserPage),
            lambda call: call.answers.user(call.user(), call.query["n"]),
            (some(20, "of the items they rated"),),
        ),
        Route(
            *("GET", "/users/{user}/recommendations", "The best items for a user."),
            shapes.Recommendations,
            lambda call: call.answers.recommend(
                call.user(),
                call.query["n"],
                parts=call.query["parts"],
                include_seen=call.query["include_seen"],
            ),
            (
                some(10, "items"),
                Parameter("parts", "with bars and standard deviations", False),
                Parameter("include_seen", "with items that the user rated", False),
            ),
            kept=True,
        ),
        Route(
            *("GET", "/users/{user}/items/{item}/explanation", "The parts of a prediction."),
            shapes.Explanation,
            lambda call: call.answers.explain(
                call.user(), call.item(1), cast(Of, call.query["of"])
            ),
            (Parameter("of", "what is explained", "rating", among=("rating", "score")),),
        ),
        Route(
            *("GET", "/map", "Tastes and items on a map.", shapes.Map),
            lambda call: call.answers.map(call.query["n"]),
            (some(300, "items"),),
        ),
        Route(
            *("POST", "/predictions", "Predict the ratings of pairs.", shapes.Predictions),
            *(predictions, (), shapes.Pairs),
        ),
        Route(
            *("POST", "/people", "Recommend to someone new; nothing is stored.", shapes.PersonPage),
            *(people, (), shapes.NewPerson),
        ),
        Route(
            *("POST", "/recommendations", "The best items for several users.", shapes.Batch),
            *(batch, (), shapes.Asked),
        ),
    )


def _about(call: Call) -> shapes.About:
    return call.answers.about()


def _taste(call: Call) -> int:
    text = call.path[0]
    if not (text.isascii() and text.isdigit() and len(text) <= 6):
        raise Refused(404, f"there is no taste {text[:40]!r}: they are numbered from 1")
    return int(text)


def _search(call: Call) -> tuple[str, int, int]:
    return call.query["q"], call.query["after"], call.query["n"]


def _check_n(n: int, limits: Limits) -> None:
    if not 1 <= n <= limits.n:
        raise Refused(422, f"n is {n}: it must be from 1 to {limits.n:,}")
