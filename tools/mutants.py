"""Plants small mistakes one at a time and tells which test notices each.

With names, only those: python tools/mutants.py "early stop". Mistakes in C++ build the core anew,
which needs its tools in the environment: pip install scikit-build-core nanobind cmake ninja.
"""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parent.parent
BUILD = ("-m", "pip", "install", "--quiet", "--no-build-isolation", "--no-deps", "--editable", ".")
NATIVE = "engine/native"


class Mutant(NamedTuple):
    """A mistake: the file under src/tastemix, its text, the wrong text, and who should notice."""

    name: str
    file: str
    right: str
    wrong: str
    tests: str


MUTANTS = [
    Mutant(
        "gain of a step",
        f"{NATIVE}/kernels.inl",
        "-s * (g + 0.5f * diagonal * s)",
        "-s * (g + 0.25f * diagonal * s)",
        "tests/engine",
    ),
    Mutant(
        "threshold of a row",
        f"{NATIVE}/kernels.inl",
        "row.enough = threshold > h.noise[next] ? threshold : h.noise[next];",
        "row.enough = h.noise[next];",
        "tests/engine",
    ),
    Mutant(
        "shift of the last ratings",
        f"{NATIVE}/kernels.inl",
        "a[l] = there ? value[j + l] - h.shift : 0;",
        "a[l] = there ? value[j + l] : 0;",
        "tests/engine",
    ),
    Mutant(
        "ridge that grows with the row",
        f"{NATIVE}/kernels.inl",
        "const Vec<L> same = all<L>(h.l2 + h.l2_per_rating * float(count));\n    row.number",
        "const Vec<L> same = all<L>(h.l2 + h.l2_per_rating);\n    row.number",
        "tests/engine",
    ),
    Mutant(
        "held coordinate",
        f"{NATIVE}/kernels.inl",
        "store<L>(row.inverse + i, inverse_of<L>(d, load<L>(h.movable + i)));",
        "store<L>(row.inverse + i, inverse_of<L>(d, all<L>(1.0f)));",
        "tests/engine",
    ),
    Mutant(
        "scale of choices",
        "engine/block.py",
        "np.maximum(self.rated.counts + float(np.float32(shrinkage)), 1.0)",
        "np.maximum(self.rated.counts, 1.0)",
        "tests/engine",
    ),
    Mutant(
        "penalty of choices",
        "engine/choices.py",
        "self._penalty = 0.5 * float(np.float32(penalty)) * mean",
        "self._penalty = 0.5 * float(np.float32(penalty))",
        "tests/engine",
    ),
    Mutant(
        "sums over chunks",
        f"{NATIVE}/rows.cpp",
        "sum.columns[i] += chunk.columns[i];",
        "sum.columns[i] = chunk.columns[i];",
        "tests/engine",
    ),
    Mutant(
        "early stop",
        "training/early_stop.py",
        "step.number - self.best_step >= self.patience",
        "step.number - self.best_step > self.patience",
        "tests/training/test_anls.py",
    ),
    Mutant(
        "seeds of members",
        "methods/averaged.py",
        "(int(recipe.seed) * int(count) + number)",
        "(int(recipe.seed) + number)",
        "tests/methods/test_averaged.py",
    ),
    Mutant(
        "start of a folded row",
        "model/fold_in.py",
        "if objective.dynamic or objective.centred:",
        "if objective.centred:",
        "tests/model/test_using.py",
    ),
    Mutant(
        "coefficients of uncertainty",
        "model/uncertainty.py",
        "1.0, place, place * place",
        "1.0, place, place * place * place",
        "tests/model/test_noise.py",
    ),
    Mutant(
        "ties of the best items",
        f"{NATIVE}/links.cpp",
        "score[list[at - 1]] < score[i]",
        "score[list[at - 1]] <= score[i]",
        "tests/model/test_topn.py",
    ),
    Mutant(
        "seen items",
        f"{NATIVE}/links.cpp",
        "excluded[std::size_t(l.seen[e])] = 1;",
        "excluded[std::size_t(l.seen[e])] = 0;",
        "tests/model/test_topn.py",
    ),
    Mutant(
        "lookup of an id",
        "data/lookup.py",
        "at if at < len(self._view) and self._view[at] == value else -1",
        "at if at < len(self._view) else -1",
        "tests/data/test_ids.py",
    ),
    Mutant(
        "last of two ratings",
        "data/entries.py",
        "np.lexsort((timestamp[rows], item[tied], user[tied]))",
        "np.lexsort((-timestamp[rows], item[tied], user[tied]))",
        "tests/data/test_ratings.py",
    ),
    Mutant(
        "leading zeros in csv",
        "data/spelling.py",
        "return numbers if numbers.cast(pa.string()).equals(bare) else None",
        "return numbers",
        "tests/data/test_reading.py",
    ),
    Mutant(
        "average precision",
        "evaluation/metrics/ranking.py",
        "_count_up(ranking.relevant) / ranking.hit_place",
        "_count_up(ranking.relevant) / ranking.hit_mean_place",
        "tests/evaluation/metrics",
    ),
    Mutant(
        "discount of NDCG",
        "evaluation/metrics/ranking.py",
        "1 / np.log2(np.arange(2, cut + 2))",
        "1 / np.log2(np.arange(3, cut + 3))",
        "tests/evaluation/metrics",
    ),
    Mutant(
        "ties of a ranking",
        "evaluation/metrics/order.py",
        "tied = tied[order_within(run, truth[tied])]",
        "tied = tied[order_within(run, 0 * truth[tied])]",
        "tests/evaluation/metrics",
    ),
    Mutant(
        "order of a save",
        "persistence/folder.py",
        """\
            for file, beside in made.items():
                os.replace(beside, home / file)
            beside = _beside(home, _to_json(index))
            os.fsync(handle)
            os.replace(beside, home / INDEX)
""",
        """\
            beside = _beside(home, _to_json(index))
            os.fsync(handle)
            os.replace(beside, home / INDEX)
            for file, beside in made.items():
                os.replace(beside, home / file)
""",
        "tests/persistence/test_saving.py",
    ),
    Mutant(
        "fingerprint",
        "data/ratings.py",
        "(self.by_user.pointers, self.by_user.indices, self.by_user.stored)",
        "(self.by_user.pointers, self.by_user.indices)",
        "tests/data/test_ratings.py",
    ),
    Mutant(
        "exit code of a mistake",
        "cli/console.py",
        """\
            err.print(f"[bold red]error:[/] {escape(str(error))}", soft_wrap=True)
            raise typer.Exit(2) from None
""",
        """\
            err.print(f"[bold red]error:[/] {escape(str(error))}", soft_wrap=True)
            raise typer.Exit(1) from None
""",
        "tests/cli/test_cli.py",
    ),
]


def main(names: list[str], root: Path = ROOT) -> int:
    """Plant those mutants, or all; the number that no test noticed."""
    mutants = [mutant for mutant in MUTANTS if not names or mutant.name in names]
    failing = first_failure(sorted({mutant.tests for mutant in mutants}), root)
    if failing is not None:
        raise SystemExit(f"{failing} fails without any mutant: see to it first")
    survivors, stale = 0, False
    try:
        for mutant in mutants:
            with planted(mutant, root):
                native = not mutant.file.endswith(".py")
                if native or stale:
                    stale = native
                    build(root)
                killer = first_failure([mutant.tests], root)
            survivors += killer is None
            verdict = "survived" if killer is None else f"killed by {killer}"
            print(f"{mutant.name:32}{verdict}", flush=True)
    finally:
        if stale:
            build(root)
    return survivors


@contextmanager
def planted(mutant: Mutant, root: Path) -> Iterator[None]:
    """The mutant in the place of the right text, and undone."""
    path = root / "src" / "tastemix" / mutant.file
    before = path.read_text()
    if before.count(mutant.right) != 1:
        raise ValueError(f"{mutant.name}: {path} does not hold its text once")
    path.write_text(before.replace(mutant.right, mutant.wrong))
    try:
        yield
    finally:
        path.write_text(before)


def build(root: Path) -> None:
    """Build the compiled core of the tree as it is."""
    subprocess.run([sys.executable, *BUILD], cwd=root, check=True)


def first_failure(tests: list[str], root: Path) -> str | None:
    """The first of the tests that fails, if one does."""
    command = [sys.executable, "-m", "pytest", "-x", "-q", *tests]
    ran = subprocess.run(command, cwd=root, capture_output=True, text=True, check=False)
    if ran.returncode == 0:
        return None
    found = re.search(r"^(?:FAILED|ERROR) ([^\s\[]+)", ran.stdout, re.MULTILINE)
    if found is None:
        raise RuntimeError(ran.stdout + ran.stderr)
    return found[1]


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
