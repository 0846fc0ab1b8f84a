# The only entry points. Each creates what it needs in .venv.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
NATIVE := CMakeLists.txt pyproject.toml $(wildcard src/tastemix/engine/native/*)

.PHONY: demo test check format fuzz kills sanitize bench bench-peers docs wheel picture clean
SECONDS ?= 60

demo: $(VENV)/.installed  ## the main job on embedded data
	$(BIN)/tastemix demo --out demo-output

test: $(VENV)/.installed  ## all tests
	$(BIN)/pytest

check: $(VENV)/.installed  ## format, lint, types, import layers
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports

format: $(VENV)/.installed
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

fuzz: $(VENV)/.installed  ## spoiled files for a minute; more: make fuzz SECONDS=3600
	$(BIN)/python tools/fuzz.py --seconds $(SECONDS)

kills: $(VENV)/.installed  ## 200 kills of a save and 200 of an experiment
	$(BIN)/python tools/kills.py

sanitize: $(VENV)/.installed  ## the engine's tests with sanitizers, in build/
	sh tools/sanitize.sh address,undefined tests/engine \
		-k 'not kernels_compile and not makes_the_pool_anew and not does_not_grow'
	sh tools/sanitize.sh thread tests/engine/test_one_at_a_time.py tests/engine/test_seam.py \
		tests/engine/test_threads.py -k 'not fork and not three_threads'

bench: $(VENV)/.installed  ## timings: needs TASTEMIX_DATA for MovieLens 1M
	$(BIN)/python benchmarks/engine.py
	$(BIN)/python benchmarks/judge.py
	$(BIN)/python benchmarks/using.py
	$(BIN)/python benchmarks/loading.py

bench-peers: $(VENV)/.installed  ## beside other libraries, each in .venv-peers/: needs TASTEMIX_DATA
	$(BIN)/python benchmarks/peers/envs.py
	for part in fits whole accuracy sixteen judging topn loading footprint cost; do \
		$(BIN)/python benchmarks/peers/$$part.py || exit 1; \
	done

docs: $(VENV)/.docs  ## the documentation, into site/
	rm -rf .cache/mkdocs-jupyter  # made by other versions of the library
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict

wheel: $(VENV)/.installed  ## sdist and manylinux wheels into dist/, each tried; PYTHONS="python3.11 python3.12"
	$(BIN)/python -m pip install --quiet --editable '.[release]'
	$(BIN)/python tools/wheels.py $(PYTHONS)

picture: $(VENV)/.installed  ## the picture in the README
	$(BIN)/python tools/picture.py

$(VENV)/.docs: $(VENV)/.installed
	$(BIN)/python -m pip install --quiet --editable '.[docs]'
	@touch $@

# Python sources are used in place; a change to the C++ core builds it anew.
$(VENV)/.installed: $(NATIVE)
	@sh tools/preflight.sh $(PYTHON)
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --editable '.[dev]'
	@touch $@

clean:
	rm -rf $(VENV) build dist
