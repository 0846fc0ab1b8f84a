"""Takes the pictures of the page in docs/images/page, of MovieLens 1M.

Run: .venv/bin/python tools/screenshots.py
It needs TASTEMIX_DATA and a Chromium on the PATH; the letters are those of the machine (Inter here,
Debian's fonts-inter).
"""

from __future__ import annotations

import io
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import product
from pathlib import Path

from PIL import Image
from playwright.sync_api import Page, sync_playwright

import tastemix as tm

OUT = Path(__file__).parent.parent / "docs" / "images" / "page"
DATA = Path(os.environ["TASTEMIX_DATA"])
PAGES = {
    "overview": "/",
    "taste": "/taste/8",
    "item": "/item/260",
    "person": "/person/42",
    "why": "/person/42",
    "you": "/you?r=2571:5&r=1210:4&r=1:2",
    "compare": "/compare",
}
SIZES = ((1280, 960), (768, 1024), (360, 760))
COMPARED = "popular,baseline,pr,rnmf,mixd,cnmf"


@contextmanager
def served(folder: Path) -> Iterator[str]:
    """The address of a model of MovieLens 1M."""
    tm.CNMF().fit(tm.read(DATA / "ml-1m.parquet")).save(folder / "ml-1m.tastemix")
    tastemix = [sys.executable, "-u", "-m", "tastemix"]
    methods = ["--methods", COMPARED, "--folds", "2", "--json"]
    found = subprocess.check_output([*tastemix, "compare", str(DATA / "ml-100k.parquet"), *methods])
    (folder / "methods.json").write_bytes(found)
    command = [*tastemix, "serve", str(folder / "ml-1m.tastemix"), "--port", "0"]
    command += ["--items", str(DATA / "ml-1m-items.parquet")]
    command += ["--compare", str(folder / "methods.json")]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as service:
        assert service.stdout is not None
        yield next(
            found[0] for line in service.stdout if (found := re.findall("http://[^ ]+", line))
        )
        service.terminate()


def shoot(page: Page, name: str, path: str) -> bytes:
    """A page as it is seen, from its first line, or from its bars."""
    page.goto(path)
    page.wait_for_selector("main[aria-busy=false]")
    if name == "why":
        page.locator(".rec button").first.click()
        page.wait_for_selector(".why small:not(:empty)")
        page.locator(".legend").evaluate("legend => legend.parentElement.scrollIntoView()")
    page.wait_for_timeout(400)
    return page.screenshot()


def main() -> None:
    """Every page in both themes and three widths."""
    OUT.mkdir(parents=True, exist_ok=True)
    with (
        tempfile.TemporaryDirectory() as folder,
        served(Path(folder)) as at,
        sync_playwright() as driver,
        driver.chromium.launch(
            executable_path=shutil.which("chromium"), args=["--no-sandbox"]
        ) as browser,
    ):
        for (width, height), theme in product(SIZES, ("light", "dark")):
            size = {"width": width, "height": height}
            page = browser.new_page(base_url=at, color_scheme=theme, viewport=size)
            for name, path in PAGES.items():
                shot = Image.open(io.BytesIO(shoot(page, name, path)))
                shot.save(OUT / f"{name}-{width}-{theme}.webp", quality=60, method=6)
            page.close()


if __name__ == "__main__":
    main()
