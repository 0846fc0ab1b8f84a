"""The page in a real browser, against the model that is served."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlsplit

import numpy as np
import pyarrow as pa
import pytest

import tastemix as tm
from tastemix.data.datasets import demo
from tests.serve.running import Running, running

playwright = pytest.importorskip("playwright.sync_api")
axe = pytest.importorskip("axe_playwright_python.sync_playwright")

SLASHED, MARKUP = "Fish / Chips?", "<img src=x onerror=alert(1)>"
RATED = {"Lasagna": 5, "Ceviche": 2, "Linzer Torte": 4}
YOU = "/you?" + "&".join(f"r={quote(dish)}:{stars}" for dish, stars in RATED.items())
PERSON, ITEM = "/person/Abeni%20B.", f"/item/{quote(SLASHED, safe='')}"
PAGES = ("/", "/taste/3", ITEM, PERSON, YOU, "/you", "/compare")
READY = "main[aria-busy=false]"
PICTURES = Path(__file__).parent.parent.parent / "build" / "page"
"""Every state in both themes as the tests saw it last."""


def chromium() -> str:
    """The path of a Chromium; without one the tests are skipped."""
    names = ("chromium", "chromium-browser", "google-chrome-stable", "google-chrome")
    found = next(filter(None, map(shutil.which, names)), None)
    if found is None:
        pytest.skip("there is no Chromium on the PATH: apt-get install chromium")
    return found


def local(service: Running) -> str:
    return f"http://127.0.0.1:{service.port}"


def titled(name: str) -> str:
    """The title of a dish."""
    return MARKUP if name == "Adana Kebab" else f"{name}!"


@pytest.fixture(scope="session")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A small model with an id that needs encoding, and titles, one of them hostile."""
    dishes = demo.ratings()
    half = dishes.by_user
    ids = [
        SLASHED if name == "Andouille Gumbo" else name for name in dishes.items.values.to_pylist()
    ]
    items = pa.array(map(str, ids)).take(pa.array(half.indices))
    users = pa.array(map(str, dishes.users.values)).take(pa.array(half.rows))
    table = pa.table({"user": users, "item": items, "rating": half.values})
    to = tmp_path_factory.mktemp("served")
    tm.CNMF(9).fit(tm.Ratings.from_table(table, scale=(1, 5))).save(to / "dishes.tastemix")
    rows = [f'"{name}","{titled(name)}"' for name in set(ids)]
    (to / "items.csv").write_text("\n".join(["item,title", *rows]), "utf-8")
    rows = [
        {"method": "CNMF(6)", "rmse": 0.71, "ndcg": 0.9},
        {"method": "Popular", "rmse": 0.9, "ndcg": 0.5},
    ]
    (to / "methods.json").write_text(json.dumps(rows), "utf-8")
    return to


@pytest.fixture(scope="session")
def model(folder: Path) -> tm.Model:
    return tm.load(folder / "dishes.tastemix")


@pytest.fixture(scope="session")
def address(folder: Path) -> Iterator[str]:
    options = ("--items", folder / "items.csv", "--compare", folder / "methods.json")
    with running(folder / "dishes.tastemix", *options) as service:
        yield local(service)


@pytest.fixture(scope="session")
def browser() -> Iterator[Any]:
    at = chromium()
    with (
        playwright.sync_playwright() as driver,
        driver.chromium.launch(executable_path=at, args=["--no-sandbox"]) as found,
    ):
        yield found


Open = Callable[..., Any]


@pytest.fixture
def opened(browser: Any, address: str) -> Iterator[Open]:
    """Open a page, wait until it is there, and afterwards see that nothing went wrong with it."""
    contexts, wrong = [], []

    def open_page(path: str, width: int = 1280, theme: str = "light", ready: str = READY) -> Any:
        context = browser.new_context(
            viewport={"width": width, "height": 900}, color_scheme=theme, base_url=address
        )
        contexts.append(context)
        page = context.new_page()
        page.on("console", lambda said: wrong.append(said.text) if said.type == "error" else None)
        page.on("pageerror", lambda error: wrong.append(str(error)))
        page.on("request", lambda asked: hosts.add(urlsplit(asked.url).netloc))
        page.goto(path)
        page.wait_for_selector(ready)
        return page

    hosts: set[str] = set()
    yield open_page
    for context in contexts:
        context.close()
    assert hosts <= {urlsplit(address).netloc}, "a request went elsewhere"
    # That an answer was a refusal is noted by the browser itself.
    assert not [text for text in wrong if "Failed to load resource" not in text]


def show_reasons(page: Any) -> None:
    page.locator(".rec button").first.click()
    page.wait_for_selector(".why table")


def search(text: str) -> Callable[[Any], None]:
    def typed(page: Any) -> None:
        page.fill("#search input", text)
        page.wait_for_selector("#search li, #search p:not([hidden])")

    return typed


def rename(page: Any) -> None:
    page.click("text=Rename")


def unfold(page: Any) -> None:
    page.get_by_role("button", name=re.compile("more")).click()


def lost(page: Any) -> None:
    page.route("**/api/**", lambda route: route.abort())
    page.click("a[href='/you']")
    page.wait_for_selector("[role=alert]")


def nothing(page: Any) -> None:
    pass


STATES = {
    "overview": ("/", nothing),
    "taste": ("/taste/3", rename),
    "item": (ITEM, nothing),
    "person": (PERSON, show_reasons),
    "you": (YOU, show_reasons),
    "nothing rated": ("/you", nothing),
    "unknown rated": ("/you?r=nope:3", nothing),
    "methods": ("/compare", nothing),
    "unknown item": ("/item/nope", nothing),
    "suggestions": ("/", search("la")),
    "no suggestion": ("/", search("qqq")),
    "service gone": ("/", lost),
}


def settled(page: Any) -> None:
    """Wait until what was pale while it was loaded is in its own colours."""
    for _ in range(200):
        if page.evaluate("getComputedStyle(document.querySelector('main')).opacity") == "1":
            return
        page.wait_for_timeout(20)


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("state", STATES)
def test_every_state_is_accessible(opened: Open, state: str, theme: str) -> None:
    path, then = STATES[state]
    page = opened(path, theme=theme)
    then(page)
    settled(page)
    page.screenshot(path=PICTURES / f"{state}-{theme}.png", full_page=True)
    found = axe.Axe().run(page).response["violations"]
    assert [(each["id"], [node["html"] for node in each["nodes"]]) for each in found] == []


def test_what_loads_is_said_to_load(opened: Open) -> None:
    page = opened("/")
    page.route("**/api/v1/items**", lambda route: None)
    page.click("a[href='/you']")
    assert page.get_attribute("main", "aria-busy") == "true"


@pytest.mark.parametrize("width", [360, 768, 1280])
def test_nothing_is_wider_than_the_screen(opened: Open, width: int) -> None:
    page = opened("/", width=width)
    for path in PAGES:
        page.goto(path)
        page.wait_for_selector(READY)
        beyond = page.evaluate("document.documentElement.scrollWidth - innerWidth")
        assert beyond <= 0, path


def cents(text: str) -> int:
    return round(float(text.replace("\N{MINUS SIGN}", "-").split("±")[0]) * 100)


def check_bars(page: Any, ratings: dict[str, float]) -> None:
    """Bars and tables add up to the number beside them, and this is what the model predicts."""
    assert page.locator(".rec").count() == len(ratings)
    bars = page.locator(".bar")
    totals = bars.evaluate_all("bars => bars.map(bar => +bar.dataset.total)")
    for row, (title, rating) in zip(page.locator(".rec").all(), ratings.items(), strict=True):
        assert row.locator("a").first.inner_text() == titled(title)
        shown = cents(row.locator(".number").inner_text())
        assert shown == pytest.approx(100 * rating, abs=0.5 + 1e-9)
        boxes = row.locator("rect").evaluate_all(
            "boxes => boxes.map(box => [box.getBoundingClientRect().left,"
            " box.getBoundingClientRect().right, Number(box.dataset.value)])"
        )
        total = float(row.locator(".bar").get_attribute("data-total"))
        assert sum(value for _, _, value in boxes) == pytest.approx(total)
        assert min(total, 5) == pytest.approx(rating)
        left, right = row.locator(".bar").evaluate(
            "bar => [bar.getBoundingClientRect().left, bar.getBoundingClientRect().right]"
        )
        scale = (right - left) / max(5, *totals)
        starts = [left, *(end for _, end, _ in boxes[:-1])]
        for (begin, end, value), start in zip(boxes, starts, strict=True):
            assert begin == pytest.approx(start, abs=2)  # half of a line around each box
            assert end - begin == pytest.approx(value * scale, abs=2)
        row.locator("button").click()
        printed = row.locator("tbody td").all_inner_texts()
        assert sum(map(cents, printed)) == shown
        assert cents(row.locator("tfoot td").inner_text()) == shown


def predicted(table: pa.Table) -> dict[str, float]:
    return dict(zip(table["item"].to_pylist(), table["rating"].to_pylist(), strict=True))


def test_the_bars_of_a_person_add_up_to_what_the_model_predicts(
    opened: Open, model: tm.Model
) -> None:
    page = opened(PERSON)
    check_bars(page, predicted(model.recommend("Abeni B.", 10)))
    reason = page.locator(".why small:not(:empty)").first
    playwright.expect(reason).to_have_text(re.compile("^from .*!"))


def test_the_bars_of_someone_new_add_up_to_what_the_model_predicts(
    opened: Open, model: tm.Model
) -> None:
    check_bars(opened(YOU), predicted(model.fold_in(RATED).recommend(10)))


def test_a_rating_shows_new_bars_and_is_kept_in_the_address(opened: Open, model: tm.Model) -> None:
    page = opened("/you")
    line = page.locator(".offered li").first
    title = line.locator("a").inner_text()
    line.locator("label").nth(3).click()
    page.wait_for_selector(".rec")
    assert page.url.endswith(f"/you?r={quote(title[:-1])}:4")
    best = model.fold_in({title[:-1]: 4}).recommend(10)
    assert page.locator(".rec > a").all_inner_texts() == [*map(titled, predicted(best))]
    assert f"the first is {titled(best['item'][0].as_py())}" in page.inner_text("#live")
    page.keyboard.press("ArrowRight")  # the fourth star still has the focus
    page.wait_for_url("**:5")
    page.get_by_role("button", name=f"Take back {title}").click()
    playwright.expect(page.locator(".empty")).to_be_visible()
    assert page.url.endswith("/you")


def test_an_item_is_found_by_its_title_and_rated(opened: Open) -> None:
    page = opened("/you")
    page.get_by_role("combobox", name="Find something you know").type("gravlax")
    page.wait_for_selector(".you [role=option]")
    page.keyboard.press("Enter")
    page.wait_for_selector(".rec")
    assert "r=Gravlax:5" in page.url


def test_the_tables_of_a_mix_are_the_weights_of_the_model(opened: Open, model: tm.Model) -> None:
    page = opened(PERSON)
    unfold(page) if page.get_by_role("button", name=re.compile("more")).count() else None
    shown = page.locator("section").first.locator("tbody tr").all_inner_texts()
    tastes = model.tastes_of("rating")
    user = model.users.ids.number("Abeni B.")
    weights = np.sort(tastes.user_weights(model.factors.users[user]))[::-1]
    assert [float(line.split()[-1].rstrip("×")) for line in shown] == weights.round(1).tolist()


def test_a_title_is_text_and_an_id_may_have_slashes(opened: Open) -> None:
    page = opened("/item/Adana%20Kebab")
    assert page.inner_text("h1") == MARKUP
    page.goto(ITEM)
    playwright.expect(page.locator("h1")).to_have_text(f"{SLASHED}!")


def test_search_by_keyboard_opens_what_it_suggests(opened: Open) -> None:
    page = opened("/")
    search("lasag")(page)
    assert "suggestion" in page.inner_text("#live")
    page.keyboard.press("ArrowDown")
    chosen = page.get_attribute("#search input", "aria-activedescendant")
    text = page.locator(f"#{chosen}").inner_text()
    page.keyboard.press("Enter")
    page.wait_for_url(re.compile("/(item|taste)/"))
    playwright.expect(page.locator("h1")).to_have_text(text.rsplit("\n", 1)[0])
    assert page.evaluate("document.activeElement.tagName") == "H1"
    page.go_back()
    playwright.expect(page.locator("h1")).to_have_text("9 tastes")


def test_a_taste_is_renamed_and_keeps_its_name(opened: Open, folder: Path) -> None:
    page = opened("/taste/2")
    before = page.inner_text("h1")
    for typed, name in (("Smoke & ash", "Smoke & ash"), ("", before)):
        rename(page)
        page.fill("#label", typed)
        page.keyboard.press("Enter")
        playwright.expect(page.locator("h1")).to_have_text(name)
        kept = (folder / "dishes.tastemix" / "labels.json").read_text("utf-8")
        assert ("Smoke & ash" in kept) == bool(typed)


def test_methods_are_shown_with_the_best_figures_bold(opened: Open) -> None:
    page = opened("/")
    page.click("text=Methods")
    playwright.expect(page.locator("tbody tr")).to_have_text(
        ["CNMF(6)0.7100.900", "Popular0.9000.500"]
    )
    assert page.locator("tbody b").all_inner_texts() == ["0.710", "0.900"]


def test_the_map_is_walked_by_arrow_keys(opened: Open, model: tm.Model) -> None:
    page = opened("/")
    page.wait_for_selector(".map svg")
    assert page.locator(".map .dot").count() == len(model.items.ids)
    page.focus(".map")
    page.keyboard.press("ArrowRight")
    title = page.inner_text("figure b")
    counts = model.items.count
    assert title[:-1] in [model.items.ids[at] for at in np.flatnonzero(counts == counts.max())]
    page.keyboard.press("Enter")
    playwright.expect(page.locator("h1")).to_have_text(title)


def stretched() -> tm.Ratings:
    """The dishes on a scale from -10 to 10."""
    dishes = demo.ratings()
    half = dishes.by_user
    users = [str(dishes.users[at]) for at in half.rows]
    items = [str(dishes.items[at]) for at in half.indices]
    return tm.Ratings.from_arrays(users, items, half.values * 5 - 15, scale=(-10, 10))


def values_that_add_up(row: Any) -> list[float]:
    """The parts of a bar, after a look that they and their table add up."""
    values = row.locator("rect").evaluate_all("all => all.map(one => +one.dataset.value)")
    assert sum(values) == pytest.approx(float(row.locator(".bar").get_attribute("data-total")))
    row.locator("button").click()
    printed = row.locator("tbody td").all_inner_texts()
    assert sum(map(cents, printed)) == cents(row.locator(".number").inner_text())
    return list(values)


def test_a_wide_scale_has_sliders_and_bars_from_a_baseline_below_zero(
    browser: Any, tmp_path: Path
) -> None:
    tm.CNMF(4).fit(stretched()).save(tmp_path / "wide.tastemix")
    with running(tmp_path / "wide.tastemix") as service:
        page = browser.new_page(base_url=local(service))
        page.goto("/you")
        page.wait_for_selector(READY)
        page.locator("[type=range]").first.focus()
        page.keyboard.press("End")
        page.wait_for_selector(".rec")
        assert page.url.endswith(":10")
        assert values_that_add_up(page.locator(".rec").first)[0] < 0
        page.close()


def test_tastes_below_zero_go_back_along_the_bar(browser: Any, tmp_path: Path) -> None:
    tm.SSVD(5).fit(stretched()).save(tmp_path / "svd.tastemix")
    with running(tmp_path / "svd.tastemix") as service:
        page = browser.new_page(base_url=local(service))
        page.goto("/person/Ada")
        page.wait_for_selector(".rec")
        rows = page.locator(".rec").all()
        assert min(min(values_that_add_up(row)) for row in rows) < 0
        page.close()


def test_a_model_that_only_orders_shows_an_order(browser: Any, tmp_path: Path) -> None:
    dishes = demo.ratings()
    model = tm.Neighbours().fit(dishes)
    model.save(tmp_path / "order.tastemix")
    with running(tmp_path / "order.tastemix") as service:
        page = browser.new_page(base_url=local(service))
        page.goto("/person/Ada")
        page.wait_for_selector(READY)
        best = model.recommend("Ada", 10)["item"].to_pylist()
        assert page.locator(".plain a").all_inner_texts() == best
        page.goto("/")
        playwright.expect(page.locator(".empty")).to_be_visible()
        page.close()


class Clock:
    """The milliseconds of processor time that a page takes: others at work do not change them."""

    def __init__(self, page: Any) -> None:
        self._tools = page.context.new_cdp_session(page)
        self._tools.send("Performance.enable", {"timeDomain": "threadTicks"})

    def used(self) -> float:
        found = self._tools.send("Performance.getMetrics")["metrics"]
        return 1000 * next(each["value"] for each in found if each["name"] == "TaskDuration")


def test_the_first_view_takes_less_than_300_ms(browser: Any, address: str) -> None:
    views = []
    for _ in range(3):
        page = browser.new_page(base_url=address)
        clock = Clock(page)
        page.goto("/")
        page.wait_for_selector(".map .dot")
        views.append(clock.used())
        page.close()
    assert min(views) <= 300


def test_new_bars_come_within_150_ms_of_a_rating(browser: Any, address: str) -> None:
    page = browser.new_page(base_url=address)
    clock, ratings = Clock(page), []
    page.goto("/you")
    page.wait_for_selector(READY)
    for number in range(3):
        before = clock.used()
        with page.expect_response("**/people"):
            page.locator(".offered input").first.evaluate("star => star.click()")
        playwright.expect(page.locator(".ratings").first.locator("li")).to_have_count(number + 1)
        page.wait_for_selector(".rec")
        ratings.append(clock.used() - before)
    assert min(ratings) <= 150
    page.close()
