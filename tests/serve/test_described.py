"""The description of the service, and the answers that the documentation shows."""

from __future__ import annotations

import json
import re
import shlex
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.serve.running import Running

PAGE = Path(__file__).parent.parent.parent / "docs" / "api-http.md"
SHOWN = re.compile(r"```bash\n(curl.*?)```\n(?:\n```json\n(.*?)```)?", re.DOTALL)
CALLS = SHOWN.findall(PAGE.read_text())


def shape(value: Any) -> Any:
    """What is left of JSON without its values: names, and types of what they have."""
    if isinstance(value, dict):
        return {name: shape(part) for name, part in value.items()}
    if isinstance(value, list):
        return [shape(part) for part in value[:1]]
    return "number" if isinstance(value, int | float) else type(value).__name__


@pytest.mark.skipif(shutil.which("curl") is None, reason="curl is not installed")
@pytest.mark.parametrize("call", CALLS, ids=lambda call: call[0].splitlines()[0][:60])
def test_a_call_on_the_page_answers_as_the_page_shows(
    service: Running, call: tuple[str, str]
) -> None:
    command, shown = call
    for line in command.replace("\\\n", " ").strip().splitlines():
        words = shlex.split(line.replace("localhost:8000", f"127.0.0.1:{service.port}"))
        done = subprocess.run(words, capture_output=True, text=True, check=True)
        if shown:
            assert shape(json.loads(done.stdout)) == shape(json.loads(shown))
        else:
            assert done.stdout


def test_every_route_has_a_call_on_the_page(service: Running) -> None:
    described = service.ask("/openapi.json").json["paths"]
    called = " ".join(command for command, _ in CALLS)
    for path, methods in described.items():
        pattern = re.sub(r"{\w+}", r"[^/?\\s']+", path) + r"(?=[?'\s])"
        assert re.search(pattern, called), path
        if "put" in methods:
            assert "-X PUT" in called


def test_answers_are_as_described(service: Running) -> None:
    said = service.ask("/openapi.json").json
    assert said["openapi"] == "3.1.0"
    schemas = said["components"]["schemas"]
    for path, methods in said["paths"].items():
        if "get" not in methods:
            continue
        spelled = path.replace("{user}", "Ada").replace("{item}", "Pecan%20Pie")
        answer = service.ask(spelled.replace("{taste}", "1"))
        kind = methods["get"]["responses"]["200"]["content"]["application/json"]["schema"]["$ref"]
        described = schemas[kind.rpartition("/")[2]]
        assert set(described["required"]) <= set(answer.json) <= set(described["properties"])


def test_a_walk_over_the_description_finds_no_failure(service: Running) -> None:
    schemathesis = pytest.importorskip("schemathesis")
    from hypothesis import HealthCheck, Phase, given, settings

    schema = schemathesis.openapi.from_url(f"http://127.0.0.1:{service.port}/openapi.json")
    found: list[int] = []
    for operation in schema.get_all_operations():
        case_of = operation.ok().as_strategy()

        @settings(
            max_examples=25,
            deadline=None,
            database=None,
            phases=[Phase.generate],
            suppress_health_check=list(HealthCheck),
        )
        @given(case=case_of)
        def walk(case: Any) -> None:
            answer = case.call(timeout=30)
            found.append(answer.status_code)
            assert answer.status_code < 500, (case.as_curl_command(), answer.text)

        walk()
    assert len(found) > 200
