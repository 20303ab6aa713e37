# Two environments are made on demand: .venv/base runs tacit, .venv/dev also tests it.
PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --quiet --disable-pip-version-check
SOURCES := pyproject.toml clients/python/pyproject.toml constraints.txt
TESTS ?= tests

.PHONY: help demo serve audit test test-scale scale check lint types imports docs bench accuracy adobest truncation real poisoning reference sketches regression wheels test-wheel test-plain faults load vectors clean

help:  ## what can be made
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:[^#]*## /\t/' | expand -t 14

$(BIN)/python:
	$(PYTHON) -m venv $(VENV)

$(VENV)/base: $(SOURCES) | $(BIN)/python
	$(PIP) install -c constraints.txt -e clients/python -e '.[plot,collector]'
	@touch $@

$(VENV)/dev: $(SOURCES) | $(BIN)/python
	$(PIP) install -c constraints.txt -e clients/python -e '.[dev]'
	@touch $@ $(VENV)/base

$(VENV)/bench: $(VENV)/base
	$(PIP) install -c constraints.txt -e '.[plot,bench]'
	@touch $@

demo: $(VENV)/base  ## an adaptive study of 10,000 real devices, beside other policies; then a collector that 300 people answer over HTTP
	$(BIN)/tacit demo --plot demo.png
	TACIT_PORT=0 $(BIN)/tacit serve --demo --people 300 --seconds 20

serve: $(VENV)/base  ## a collector with a sample poll, to be looked at in a browser until Ctrl-C; 300 people answer beside you
	$(BIN)/tacit serve --demo --people 300

audit: $(VENV)/dev  ## known weaknesses of what is pinned; says so loudly when the advisories cannot be reached
	$(BIN)/python .ci/audit

test: $(VENV)/dev  ## all tests
	$(BIN)/python -m pytest $(TESTS) -n auto

$(VENV)/spark: $(VENV)/dev
	$(PIP) install -c constraints.txt setuptools wheel
	$(PIP) install -c constraints.txt --no-build-isolation -e '.[spark]'
	@touch $@

test-scale: $(VENV)/spark  ## the tests that need PySpark (450 MB) and Java
	TACIT_REQUIRE=postgres,spark $(BIN)/python -m pytest tests/warehouse

check: lint types imports test  ## what continuous integration runs

lint: $(VENV)/dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: $(VENV)/dev
	$(BIN)/mypy

imports: $(VENV)/dev
	$(BIN)/lint-imports --no-cache

docs: $(VENV)/dev  ## the documentation, warnings as errors
	$(BIN)/sphinx-build -W --keep-going -q -b html docs docs/_build/html
	@echo "open docs/_build/html/index.html"

bench: $(VENV)/bench  ## speed beside other libraries, about ten minutes
	$(BIN)/python benchmarks/channels.py
	$(BIN)/python benchmarks/posterior.py
	$(BIN)/python benchmarks/laws.py
	$(BIN)/python benchmarks/nuts.py
	$(BIN)/python benchmarks/sketches.py
	$(BIN)/python benchmarks/poisoning.py
	$(BIN)/python -m benchmarks.regression
	$(BIN)/python -m benchmarks.regression_subsample

scale: $(VENV)/spark  ## tables of up to 10^8 reports, and 10,000 categories: about an hour
	$(BIN)/python benchmarks/scale.py --engines duckdb spark
	$(BIN)/python benchmarks/scale.py --cases ids subsets hashed --rows 1000000 10000000
	$(PIP) install -c constraints.txt -e '.[bench]'
	$(BIN)/python benchmarks/large_k.py

accuracy: $(VENV)/bench  ## accuracy beside other libraries; goes on where it stood, about an hour and a half in all
	$(BIN)/python benchmarks/accuracy.py
	$(BIN)/python benchmarks/regimes.py
	$(BIN)/python benchmarks/two_groups.py
	$(BIN)/python benchmarks/calibration.py

adobest: $(VENV)/dev  ## the papers' experiments; goes on where it stood, about 90 minutes on one core in all
	$(BIN)/python -m experiments.adobest.run --workers 2
	$(BIN)/python -m experiments.adobest.optimal
	$(BIN)/python -m experiments.adobest.theorems
	$(BIN)/python -m experiments.adobest.claims --write
	$(BIN)/python -m experiments.adobest.figures

real: $(VENV)/dev  ## real answers from the files in TACIT_DATA; goes on where it stood, about an hour on one core in all
	$(BIN)/python -m experiments.real.run
	$(BIN)/python -m experiments.real.summary --write
	$(BIN)/python -m experiments.real.figures

poisoning: $(VENV)/dev  ## studies with hostile respondents; goes on where it stood, six minutes on one core
	$(BIN)/python -m experiments.poisoning.run
	$(BIN)/python -m experiments.poisoning.summary --write
	$(BIN)/python -m experiments.poisoning.figures

faults: $(VENV)/dev  ## 1,000 runs of a collector whose network and processes fail at random, about an hour and a half
	$(BIN)/python tests/faults/fault_simulation.py --runs 1000 --workers 2

load: $(VENV)/dev  ## how much a collector takes in, on SQLite and PostgreSQL; about ten minutes on a machine with nothing else to do
	$(BIN)/python benchmarks/collector.py

reference: $(VENV)/bench  ## long NUTS runs for the tests of the exact sampler, about ten minutes
	$(BIN)/python tests/posterior/make_reference.py

sketches: $(VENV)/dev  ## the thesis' sketches and real streams; TACIT_DATA=DIR holds these; goes on where it stood, half an hour
	$(BIN)/python -m experiments.sketches.run
	$(BIN)/python -m experiments.sketches.compare
	$(BIN)/python -m experiments.sketches.curves
	$(BIN)/python -m experiments.sketches.figures
	$(BIN)/python -m experiments.sketches.claims --write

regression: $(VENV)/dev  ## the thesis' regressions; TACIT_DATA=DIR holds the data; goes on where it stood, about an hour on one core
	$(BIN)/python -m experiments.regression.mixture_run
	$(BIN)/python -m experiments.regression.mixture_summary --write
	$(BIN)/python -m experiments.regression.mixture_figures
	$(BIN)/python -m experiments.regression.subsample_run
	$(BIN)/python -m experiments.regression.subsample_summary --write
	$(BIN)/python -m experiments.regression.subsample_figures

truncation: $(VENV)/dev  ## the experiment about numbers; goes on where it stood, about three hours on one core in all
	$(BIN)/python -m experiments.adaptive_truncation.run
	$(BIN)/python -m experiments.adaptive_truncation.summary --write
	$(BIN)/python -m experiments.adaptive_truncation.figures

vectors: $(VENV)/base  ## write vectors/v1 again
	$(BIN)/python vectors/make.py

wheels: $(VENV)/dev  ## both wheels into dist/
	rm -rf dist
	$(BIN)/python -m build --quiet --wheel --outdir dist clients/python
	$(BIN)/python -m build --quiet --wheel --outdir dist .

test-wheel: wheels  ## all tests against the built wheels, in an environment of their own
	rm -rf .venv-wheel
	$(PYTHON) -m venv .venv-wheel
	.venv-wheel/bin/python -m pip --quiet --disable-pip-version-check install -c constraints.txt \
	  dist/tacit_client-*.whl "$$(echo dist/tacit-*.whl)[dev]"
	.venv-wheel/bin/python -m pytest $(TESTS) -n auto

test-plain: wheels  ## an install without extras: it starts, simulates and audits
	rm -rf .venv-plain
	$(PYTHON) -m venv .venv-plain
	.venv-plain/bin/python -m pip --quiet --disable-pip-version-check install -c constraints.txt \
	  dist/tacit_client-*.whl dist/tacit-*.whl
	.venv-plain/bin/tacit demo --people 2000 --devices 20
	.venv-plain/bin/tacit simulate --theta 0.6,0.3,0.1 --n 500
	.venv-plain/bin/tacit channel srr --k 4 --epsilon 1 | .venv-plain/bin/tacit audit - --samples 2000

clean:
	rm -rf .venv .venv-wheel .venv-plain build dist docs/_build .hypothesis .mypy_cache .pytest_cache .ruff_cache
