# Each target creates .venv and installs what it needs; run again, the set-up is skipped.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
# CPU builds of torch live in an index of their own on machines with a GPU: see README.
PIP := $(BIN)/python -m pip --disable-pip-version-check install --quiet -c constraints.txt

.PHONY: setup demo test lint check docs gallery bench bench-check torture clean

setup: $(VENV)/core

$(VENV)/core: pyproject.toml constraints.txt
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(PIP) -e .
	touch $@

$(VENV)/tests: $(VENV)/core
	$(PIP) -e '.[test]'
	touch $@

$(VENV)/bench: $(VENV)/core
	$(PIP) -e '.[bench]'
	touch $@

$(VENV)/docs: $(VENV)/core
	$(PIP) -e '.[docs]'
	touch $@

demo: $(VENV)/core
	$(BIN)/vaescope demo --out demo

# Compiled tests are kept whatever the environment says: collecting them again takes half the time.
export PYTHONDONTWRITEBYTECODE :=

# A file's tests run on one core, as they share fixtures; tests/conftest.py puts long files first.
PYTEST := $(BIN)/python -m pytest -n 2 --dist loadfile --no-loadscope-reorder --durations 20

# Everything, in one collection.
test: $(VENV)/tests
	$(PYTEST) tests src

lint: $(VENV)/tests
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy

check: lint
	$(PYTEST) -m 'not slow' tests src

# The site in site/html; warnings, broken links and loads from elsewhere are errors.
docs: $(VENV)/docs
	$(BIN)/python docs/site/build.py --out site

# Runs every example and draws its picture.
gallery: $(VENV)/core
	$(BIN)/python docs/site/gallery.py examples

bench: $(VENV)/bench
	for file in benchmarks/[a-z]*.py; do $(BIN)/python $$file || exit 1; done

# Ratios to fixed work against those that are kept; not part of the tests, as it wants a quiet machine.
bench-check: $(VENV)/bench
	$(BIN)/python benchmarks/speed.py --check

# Kills, damaged and hostile files, for as long as SECONDS says; what fails prints its own command.
SEED ?= 0
SECONDS ?= 1800
torture: $(VENV)/tests
	OMP_NUM_THREADS=1 $(BIN)/python -m tests.faults.harness --seed $(SEED) --seconds $(SECONDS) --workers 2

clean:
	rm -rf $(VENV) demo dist site
