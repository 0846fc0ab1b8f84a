"""What a user may import, and that importing it stays cheap."""

import ast
import subprocess
import sys
from pathlib import Path

import tastemix as tm

NAMES = """
ANLS ANMF CNMF Baseline Factors Implicit Items MIXD MIXR Model NMF Neighbours Objective PR PRD PSVD
Phase Popular RNMF Random Ratings Results SSVD TastemixError cross_validate datasets engines errors
fit folds holdout ingest leave_out load metrics open read read_items search set_threads show
temporal
"""


def test_the_public_names_are_these() -> None:
    assert sorted(tm.__all__) == sorted(NAMES.split())
    for name in tm.__all__:
        assert getattr(tm, name) is not None


def test_the_stub_for_type_checkers_names_the_same() -> None:
    stub = Path(tm.__file__).with_name("__init__.pyi")
    named = {
        alias.asname
        for node in ast.walk(ast.parse(stub.read_text()))
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    }
    assert named == set(tm.__all__)


def test_an_unknown_name_is_an_attribute_error() -> None:
    assert not hasattr(tm, "MIXX")
    assert "MIXD" in dir(tm)


def test_import_loads_nothing_that_only_some_need() -> None:
    program = "import sys, tastemix, tastemix.methods.paper; print(*sys.modules)"
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    loaded = set(done.stdout.split())
    assert "tastemix.methods.paper" in loaded
    assert not loaded & {
        "scipy",
        "pandas",
        "matplotlib",
        "rich",
        "typer",
        "sklearn",
        "pyarrow.parquet",
    }
