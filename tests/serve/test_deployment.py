"""The clients and commands that the page about deployment shows."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import tastemix as tm
from tests.serve.running import Running, running

PAGE = (Path(__file__).parent.parent.parent / "docs" / "deployment.md").read_text()
NEW = {"Pecan Pie": 5}
AS_JSON = "console.log = (found) => process.stdout.write(JSON.stringify(found) + '\\n');\n"


def shown(language: str) -> str:
    """The one block of the page in a language."""
    (block,) = re.findall(rf"^```{language}\n(.*?)^```$", PAGE, re.DOTALL | re.MULTILINE)
    return str(block)


def at(service: Running, code: str) -> str:
    assert "localhost:8000" in code
    return code.replace("localhost:8000", f"127.0.0.1:{service.port}")


def test_the_python_client_prints_recommendations(service: Running, dishes: tm.Model) -> None:
    done = subprocess.run(
        [sys.executable, "-c", at(service, shown("py"))], capture_output=True, text=True, check=True
    )
    *best, new = done.stdout.splitlines()
    rows = dishes.recommend("Ada", 3).to_pylist()
    assert best == [f"{row['item']} {round(row['rating'], 2)}" for row in rows]
    assert new == str(dishes.fold_in(NEW).recommend(3)["item"].to_pylist())


@pytest.mark.skipif(shutil.which("node") is None, reason="Node is not installed")
def test_the_javascript_client_prints_recommendations(service: Running, dishes: tm.Model) -> None:
    code = AS_JSON + at(service, shown("js"))
    done = subprocess.run(
        ["node", "--input-type=module", "-e", code], capture_output=True, text=True, check=True
    )
    found = [json.loads(line) for line in done.stdout.splitlines()]
    assert found == [
        dishes.recommend("Ada", 3)["item"].to_pylist(),
        dishes.fold_in(NEW).recommend(3)["item"].to_pylist(),
    ]


@pytest.mark.skipif(shutil.which("curl") is None, reason="curl is not installed")
def test_a_service_with_a_token_is_asked_as_the_page_shows(folder: Path, tmp_path: Path) -> None:
    made, served, asked = re.search(r"```bash\n(openssl.*?)```", PAGE, re.DOTALL)[1].splitlines()  # type: ignore[index]
    if shutil.which("openssl") is None:
        pytest.skip("openssl is not installed")
    subprocess.run(["sh", "-c", made], cwd=tmp_path, check=True)
    options = served.removeprefix("tastemix serve movies.tastemix --host 0.0.0.0 ").split()
    options[options.index("--token") + 1] = str(tmp_path / "token")
    with running(folder, "--log", "off", *options) as service:
        there = f"--connect-to tastes.example.org:8000:127.0.0.1:{service.port}"
        line = asked.replace("curl ", f"curl -sS {there} ", 1)
        done = subprocess.run(
            ["sh", "-c", line], cwd=tmp_path, capture_output=True, text=True, check=True
        )
        assert json.loads(done.stdout)["name"] == folder.stem
