"""A report with one of everything, and what tests read out of a page."""

from __future__ import annotations

from dataclasses import dataclass, field
from html.parser import HTMLParser

import numpy as np

from tastemix.report.exhibits import Heat, Lines, Section, Series, Table

METRICS = ("RMSE", "MAE", "F1", "Accuracy", "MAP", "AUC", "NDCG", "F1@10", "NDCG@10")
FACTS = {"command": "tastemix reproduce", "date": "2024-02-29"}

HERE = Table(
    "Here",
    ("method", "rank", "RMSE", "MAP"),
    [
        ("RANDOM", "", 2.1787, 0.6641),
        ("PRD", "15", 0.9252, 0.8321),
        ("MIXD(20)", "10", 0.8614, 0.8384),
    ],
    best={"RMSE": "low", "MAP": "high"},
    role="here",
    baselines=("RANDOM",),
    note="Means over the folds.",
)
PAPER = Table(
    "The paper",
    ("method", "RMSE", "MAP"),
    [("RANDOM", 2.181, 0.685), ("PRD", 0.926, 0.832), ("MIXD(20)", 0.861, 0.843)],
    best={"RMSE": "low", "MAP": "high"},
    role="printed",
)
APART = Table(
    "Here minus the paper",
    ("method", "RMSE", "MAP"),
    [("RANDOM", -0.0023, -0.0209), ("PRD", -0.0008, 0.0001), ("MIXD(20)", 0.0074, -0.0046)],
    role="difference",
    note="Small, but for RANDOM.",
)
RANKS = Lines(
    "RankScore against rank",
    "rank",
    "RankScore",
    [
        Series("PRD", [2, 6, 10], [0.80, 0.82, 0.81]),
        Series("MIXD(20)", [2, 6, 10], [0.79, 0.83, 0.85], dashed=True),
    ],
    note="Dashed: MIXD.",
)
STEPS = Lines(
    "Largest prediction",
    "steps",
    "largest",
    [
        Series("NMF", [2, 5, 10], [80, 900, 4200]),
        Series("MIXD(20)", [2, 5, 10], [4.2, 5.5, 5.1]),
        Series("PRD", [2, 5, 10], [4.2, 5.5, 5.1]),
    ],
    log_y=True,
)
HEAT = Heat(
    "Spearman's ρ",
    ("RMSE", "MAP", "AUC"),
    np.array([[1, 0.7, 0.5], [0.7, 1, -0.2], [0.5, -0.2, 1]]),
)


def sections() -> list[Section]:
    return [
        Section("comparison", "The comparison", "Every method.", [HERE, PAPER, APART]),
        Section("correlation", "How metrics agree", "One.\n\nTwo.", [HEAT]),
        Section("curves", "Curves", "Two of them.", [RANKS, STEPS]),
    ]


VOID = {"meta", "link", "br", "hr", "img", "input"}


@dataclass
class Element:
    tag: str
    attributes: dict[str, str | None] = field(default_factory=dict)
    children: list[Element | str] = field(default_factory=list)

    @property
    def text(self) -> str:
        return "".join(c if isinstance(c, str) else c.text for c in self.children)

    def all(self, tag: str = "", kind: str = "") -> list[Element]:
        """The elements below with this tag and this class, in order."""
        found = []
        for child in self.children:
            if isinstance(child, Element):
                classes = (child.attributes.get("class") or "").split()
                if tag in ("", child.tag) and (not kind or kind in classes):
                    found.append(child)
                found += child.all(tag, kind)
        return found

    def one(self, tag: str = "", kind: str = "") -> Element:
        (found,) = self.all(tag, kind)
        return found


class _Parser(HTMLParser):
    """A tree of elements; a tag that is not closed, or closed by another, is an error."""

    def __init__(self) -> None:
        super().__init__()
        self.open = [Element("")]

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        assert len(attrs) == len(dict(attrs)), f"<{tag}> has an attribute twice"
        element = Element(tag, dict(attrs))
        self.open[-1].children.append(element)
        if tag not in VOID:
            self.open.append(element)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.open[-1].children.append(Element(tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop().tag == tag

    def handle_data(self, data: str) -> None:
        self.open[-1].children.append(data)


def parsed(html: str) -> Element:
    parser = _Parser()
    parser.feed(html)
    parser.close()
    (root,) = parser.open
    return root
