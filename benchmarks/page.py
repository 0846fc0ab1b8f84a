"""How fast the page is in a browser: python benchmarks/page.py [MODEL] [--items FILE]

First views of `/` in a fresh context, until the tastes and the map are there, and ratings on
`/you`, until the new bars are drawn. Writes docs/performance/page.md.
"""

from __future__ import annotations

import argparse
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


def first_view(browser: Browser, at: str) -> float:
    """Milliseconds from the start of the navigation until the overview is drawn."""
    page = browser.new_page(base_url=at, viewport={"width": 1280, "height": 900})
    page.goto("/", wait_until="commit")
    found = page.evaluate(FIRST_VIEW)
    page.close()
    return float(found)


def ratings(browser: Browser, at: str) -> list[float]:
    """Milliseconds from a click on a star until new bars are drawn."""
    page = browser.new_page(base_url=at, viewport={"width": 1280, "height": 900})
    page.goto("/you")
    page.wait_for_selector("main[aria-busy=false]")
    found = [float(page.evaluate(RATE, time)) for time in range(TIMES)]
    page.close()
    return found


def row(what: str, bar: int, times: list[float]) -> str:
    """A line of the table."""
    middle = statistics.median(times)
    return f"| {what} | {middle:.0f} | {min(times):.0f} | {max(times):.0f} | {bar} |"


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
        f"Milliseconds in a headless Chromium, {TIMES} times each (`python benchmarks/page.py`).",
        "",
        "| what | median | least | most | at most wanted |",
        "| --- | ---: | ---: | ---: | ---: |",
        row("first view of the overview, nothing kept", 300, views),
        row("new bars after a rating", 150, bars),
    ]
    OUT.write_text("\n".join(lines) + "\n", "utf-8")
    print(*lines, sep="\n")


if __name__ == "__main__":
    main()
