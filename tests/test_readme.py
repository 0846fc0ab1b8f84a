"""The README's snippets are run from top to bottom, as a reader would."""

import re
import shlex
from pathlib import Path

import pytest

from tests.cli.commands import tastemix

README = Path(__file__).parent.parent / "README.md"
CSV = "user,item,rating\n" + "\n".join(
    f"{user},{item},{1 + (3 * u + 2 * i + u * i) % 5}"
    for u, user in enumerate(["ann", "bob", "cy", "dee", "eve", "fay"])
    for i, item in enumerate(["Heat", "Up", "Alien", "Jaws", "Big"])
)


def snippets(language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", README.read_text(), re.DOTALL)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "ratings.csv").write_text(CSV)
    (tmp_path / "newer.csv").write_text("user,item,rating\nann,Up,2\nbob,Big,4\ngil,Heat,5\n")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_the_python_snippets_run(folder: Path) -> None:
    program = "\n".join(snippets("python"))
    assert program.count("tm.") > 5
    exec(compile(program, str(README), "exec"), {})
    assert (folder / "movies.tastemix" / "model.json").exists()


def test_the_shell_snippets_run(folder: Path) -> None:
    lines = [line for block in snippets("sh") for line in block.splitlines() if line]
    commands = [line for line in lines if line.startswith("tastemix")]
    assert len(commands) >= 2
    for command in commands:
        _, *arguments = shlex.split(command, comments=True)
        done = tastemix(*arguments)
        assert done.returncode == 0, done.stderr


def test_no_model_is_evaluated_on_what_it_was_trained_on() -> None:
    for page in (README, README.parent / "docs" / "command-line.md"):
        for trained in re.findall(r"tastemix train (\S+) -o movies\.tastemix", page.read_text()):
            assert f"evaluate movies.tastemix {trained}" not in page.read_text()


def test_the_make_targets_exist() -> None:
    makefile = (README.parent / "Makefile").read_text()
    named = set(re.findall(r"^make (\w+)", "\n".join(snippets("sh")), re.MULTILINE))
    assert named == {"demo", "test"}
    for target in named:
        assert re.search(rf"^{target}:", makefile, re.MULTILINE)
