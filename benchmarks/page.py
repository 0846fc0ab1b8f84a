"""How fast the page is in a browser: python benchmarks/page.py [MODEL] [--items FILE]

First views of `/` in a fresh context, until the tastes and the map are there, and ratings on
`/you`, until the new bars are drawn. The processor time is that of the
page's main thread: on a busy machine it says more. Writes docs/performance/page.md.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import statistics
import subprocess
import sys
from pathlib import Path

from playwright.sync_api import Browser, sync_playwright

OUT = Path(__file__).parent.parent / "docs" / "performance" / "page.md"
TIMES = 15
FIRST_VIEW = """() => new Promise(done => {
  const look = () => document.querySelector(".cards li") && document.querySelector(".map .dot")
    ? requestAnimationFrame(() => done(performance.now())) : setTimeout(look, 1);
  look();
})"""
RATE = """(at) => new Promise(done => {
  const before = document.querySelector(".result").textContent;
  const began = performance.now();
  document.querySelectorAll(".offered li")[0].querySelectorAll("input")[at % 5].click();
  const look = () => document.querySelector(".result").textContent !== before
    ? requestAnimationFrame(() => done(performance.now() - began)) : setTimeout(look, 1);
  look();
})"""


class Watched:
    """A page, and the processor time of its main thread."""

    def __init__(self, browser: Browser, at: str) -> None:
        self.page = browser.new_page(base_url=at, viewport={"width": 1280, "height": 900})
        self._tools = self.page.context.new_cdp_session(self.page)
        self._tools.send("Performance.enable", {"timeDomain": "threadTicks"})

    def used(self) -> float:
        """Milliseconds of processor time so far."""
        found = self._tools.send("Performance.getMetrics")["metrics"]
        return 1000 * next(each["value"] for each in found if each["name"] == "TaskDuration")


def first_view(browser: Browser, at: str) -> tuple[float, float]:
    """Milliseconds from the start of the navigation until the overview is drawn; of processor."""
    watched = Watched(browser, at)
    watched.page.goto("/", wait_until="commit")
    found = float(watched.page.evaluate(FIRST_VIEW)), watched.used()
    watched.page.close()
    return found


def ratings(browser: Browser, at: str) -> list[tuple[float, float]]:
    """Milliseconds from a click on a star until new bars are drawn; of processor."""
    watched, found = Watched(browser, at), []
    watched.page.goto("/you")
    watched.page.wait_for_selector("main[aria-busy=false]")
    for time in range(TIMES):
        before = watched.used()
        found.append((float(watched.page.evaluate(RATE, time)), watched.used() - before))
    watched.page.close()
    return found


def row(what: str, bar: int, times: list[tuple[float, float]]) -> str:
    """A line of the table."""
    took, used = zip(*times, strict=True)
    figures = (statistics.median(took), min(took), statistics.median(used), min(used))
    return f"| {what} | {' | '.join(f'{figure:.0f}' for figure in figures)} | {bar} |"


def main() -> None:
    """Serve, measure, write."""
    parser = argparse.ArgumentParser()
    parser.add_argument("model", nargs="?", default="--demo")
    parser.add_argument("--items")
    given = parser.parse_args()
    command = [sys.executable, "-u", "-m", "tastemix", "serve", given.model, "--port", "0"]
    command += ["--items", given.items] if given.items else []
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as service:
        assert service.stdout is not None
        at = next(
            found[0] for line in service.stdout if (found := re.findall("http://[^ ]+", line))
        )
        with sync_playwright() as driver:
            chromium = shutil.which("chromium")
            browser = driver.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
            first_view(browser, at)
            views = [first_view(browser, at) for _ in range(TIMES)]
            bars = ratings(browser, at)
            browser.close()
        service.terminate()
    lines = [
        f"Milliseconds in a headless Chromium, {TIMES} times each (`python benchmarks/page.py`), "
        f"with {os.getloadavg()[0]:.0f} other processes at work on {os.cpu_count()} cores. "
        "Processor time is that of the page's main thread.",
        "",
        "| what | median | least | processor, median | processor, least | at most wanted |",
        "| --- | ---: | ---: | ---: | ---: | ---: |",
        row("first view of the overview, nothing kept", 300, views),
        row("new bars after a rating", 150, bars),
    ]
    OUT.write_text("\n".join(lines) + "\n", "utf-8")
    print(*lines, sep="\n")


if __name__ == "__main__":
    main()
