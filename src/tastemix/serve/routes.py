"""The routes under /api/v1: one table that requests are answered by and the description is made
from.
"""

from __future__ import annotations

from tastemix.serve import looking, predicting, shapes
from tastemix.serve.asked import Call, Parameter, Route
from tastemix.serve.limits import Limits

PREFIX = "/api/v1"


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

    return (
        Route(
            *("GET", "/model", "What is known about the model.", shapes.About),
            lambda call: looking.about(call.known),
        ),
        Route(
            *("GET", "/tastes", "All tastes, the one that adds most first.", shapes.Tastes),
            lambda call: looking.all_tastes(call.known, call.n),
            (some(8, "items of each taste"),),
        ),
        Route(
            *("GET", "/tastes/{taste}", "One taste.", shapes.Taste),
            lambda call: looking.taste(call.known, call.taste(), call.n),
            (some(30, "items"),),
        ),
        Route(
            *("PUT", "/tastes/{taste}", "Give a taste a name by hand.", shapes.Taste),
            lambda call: looking.rename(call.known, call.taste(), call.body.label, call.n),
            (some(30, "items"),),
            shapes.Label,
        ),
        Route(
            *("GET", "/items", "Items by their titles, the most rated first.", shapes.Items),
            lambda call: looking.find_items(call.known, *call.search()),
            search("items"),
            kept=True,
        ),
        Route(
            *("GET", "/items/{item}", "An item with its mix of tastes.", shapes.ItemPage),
            lambda call: looking.item(call.known, call.item(), call.n),
            (some(10, "of those who like it"),),
        ),
        Route(
            *("GET", "/items/{item}/similar", "Items with a similar mix.", shapes.Similar),
            lambda call: looking.similar(call.known, call.item(), call.n),
            (some(10, "items"),),
            kept=True,
        ),
        Route(
            *("GET", "/users", "Users by their ids, the busiest first.", shapes.Users),
            lambda call: looking.find_users(call.known, *call.search()),
            search("users"),
            kept=True,
        ),
        Route(
            *("GET", "/users/{user}", "A user with their mix of tastes.", shapes.UserPage),
            lambda call: looking.user(call.known, call.user(), call.n),
            (some(20, "of the items they rated"),),
        ),
        Route(
            *("GET", "/users/{user}/recommendations", "The best items for a user."),
            *(shapes.Recommendations, _recommend),
            (
                some(10, "items"),
                Parameter("parts", "with bars and standard deviations", False),
                Parameter("include_seen", "with items that the user rated", False),
            ),
            kept=True,
        ),
        Route(
            *("GET", "/users/{user}/items/{item}/explanation", "The parts of a prediction."),
            *(shapes.Explanation, _explain),
            (Parameter("of", "what is explained", "rating", among=("rating", "score")),),
        ),
        Route(
            *("GET", "/map", "Tastes and items on a map.", shapes.Map),
            lambda call: looking.map_of(call.known, call.n),
            (some(300, "items"),),
        ),
        Route(
            *("POST", "/predictions", "Predict the ratings of pairs.", shapes.Predictions),
            *(_predict, (), shapes.Pairs),
        ),
        Route(
            *("POST", "/people", "Recommend to someone new; nothing is stored.", shapes.PersonPage),
            *(_person, (), shapes.NewPerson),
        ),
        Route(
            *("POST", "/recommendations", "The best items for several users.", shapes.Batch),
            *(_batch, (), shapes.Asked),
        ),
    )


def _recommend(call: Call) -> shapes.Recommendations:
    parts, seen = call.query["parts"], call.query["include_seen"]
    return predicting.recommend(call.known, call.user(), call.n, parts=parts, include_seen=seen)


def _explain(call: Call) -> shapes.Explanation:
    return predicting.explain(call.known, call.user(), call.item(1), call.query["of"])


def _predict(call: Call) -> shapes.Predictions:
    most = max(len(call.body.users), len(call.body.items))
    call.bounded("pairs", most, call.limits.pairs)
    return predicting.predict(call.known, call.body)


def _person(call: Call) -> shapes.PersonPage:
    call.check_n()
    call.bounded("ratings", len(call.body.ratings), call.limits.ratings)
    return predicting.person(call.known, call.body)


def _batch(call: Call) -> shapes.Batch:
    call.check_n()
    users = len(call.body.users)
    call.bounded("users", users, call.limits.users)
    call.bounded("entries", users * call.body.n, call.limits.entries)
    return predicting.batch(call.known, call.body)
