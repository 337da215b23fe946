# Every target creates the environment if it is missing; nothing is installed twice.
#   make demo PYTHON=python3.12     another interpreter
#   make test ARGS="-k laplace"     arguments for pytest
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
WORKERS ?= auto

ifneq ($(shell command -v uv 2>/dev/null),)
  CREATE := uv venv --quiet --seed --python $(PYTHON) $(VENV)
  INSTALL := uv pip install --quiet --python $(BIN)/python
else
  CREATE := $(PYTHON) -m venv $(VENV)
  INSTALL := $(BIN)/python -m pip install --quiet --disable-pip-version-check
endif

.PHONY: help demo test test-slow test-all test-slow-part test-spark fuzz fuzz-part mutants mutants-recent lint format docs pictures bench constraints clean

help:
	@echo "make demo      a hospital: answers, a budget, a refusal, two attacks"
	@echo "make test      quick tests, doctests and the code blocks of the documents, in five minutes"
	@echo "make test-slow the tests that take more than two seconds each"
	@echo "make test-all  both, and then fuzz and test-spark"
	@echo "make fuzz      questions of a grammar, databases and privacy curves, by the thousands"
	@echo "make mutants   privacy constants changed one at a time: the nearest tests must turn red"
	@echo "make test-spark  the tests on a Spark cluster of this machine"
	@echo "make lint      style, types, layers, spelling, dependencies"
	@echo "make format    let the formatter rewrite the code"
	@echo "make docs      build the documentation into site/"
	@echo "make pictures  draw the pictures of the documentation again"
	@echo "make bench     print speed, tightness and accuracy beside other libraries (first run: 6 GB)"
	@echo "make constraints  pin the freshest versions that work together"
	@echo "make clean     remove everything that the other targets create"

# Two stamps: the demo needs the package alone, everything else the tools as well.
$(BIN)/python:
	$(CREATE)

$(VENV)/.package: pyproject.toml constraints.txt | $(BIN)/python
	$(INSTALL) --constraint constraints.txt --editable .
	@touch $@

$(VENV)/.tools: pyproject.toml constraints.txt | $(BIN)/python
	$(INSTALL) --constraint constraints.txt --editable '.[dev]'
	@touch $@ $(VENV)/.package

# An extra whose tests skip without it: the CPU build, which a plain `torch` is not everywhere.
$(VENV)/.torch: | $(VENV)/.tools
	$(INSTALL) 'torch==2.13.0'
	@touch $@

demo: $(VENV)/.package
	@$(BIN)/discreet demo

test: $(VENV)/.tools
	$(BIN)/python -m pytest -n $(WORKERS) --durations=5 --durations-min=3 -m "not slow and not spark and not fuzz" $(ARGS)

test-slow: $(VENV)/.tools
	$(BIN)/python -m pytest -n $(WORKERS) --durations=5 --durations-min=3 -m "slow and not spark and not fuzz" tests $(ARGS)

test-all: test test-slow fuzz test-spark

# One process: the cluster is started once. Without a Java on the machine, the one that came with the tools is used.
test-spark: $(VENV)/.tools
	$(BIN)/python -m pytest -n 0 --durations=5 --durations-min=3 -m "spark and not fuzz" tests/engines tests/doors

# -rP shows the seeds that each block printed. Other seeds: make fuzz ARGS=--fresh-seeds
fuzz: $(VENV)/.tools
	$(BIN)/python -m pytest -n $(WORKERS) --durations=5 --durations-min=3 -rP -m fuzz tests/doors tests/plans tests/privacy/test_fuzz.py $(ARGS)

# A half and a quarter of the two, others after each commit.
test-slow-part: $(VENV)/.tools
	$(MAKE) test-slow ARGS="--one-of 2"

fuzz-part: $(VENV)/.tools
	$(MAKE) fuzz ARGS="--one-of 4"

# Those of changed files: make mutants ARGS="--changed origin/main"
mutants: $(VENV)/.tools $(VENV)/.torch
	$(BIN)/python -m tests.mutants $(ARGS)

# Those whose file, test or entry the commits of the last day touched, as far as two minutes reach; which come first
# depends on the commit.
mutants-recent: $(VENV)/.tools $(VENV)/.torch
	$(BIN)/python -m tests.mutants --recent --minutes 2

lint: $(VENV)/.tools
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy src tests benchmarks examples docs conftest.py
	$(BIN)/lint-imports
	$(BIN)/deptry src
	$(BIN)/codespell

format: $(VENV)/.tools
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

docs: $(VENV)/.tools
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict --quiet

bench: $(VENV)/.tools
	$(BIN)/python -m benchmarks.setup
	$(BIN)/python -m benchmarks.noise
	$(BIN)/python -m benchmarks.accounting
	$(BIN)/python -m benchmarks.mechanisms
	$(BIN)/python -m benchmarks.command_line
	$(BIN)/python -m benchmarks.ledger
	$(BIN)/python -m benchmarks.queries --spark

# The freshest versions that work together: names and versions, nothing else.
constraints:
	rm -rf build/fresh
	$(PYTHON) -m venv build/fresh
	build/fresh/bin/python -m pip install --quiet --disable-pip-version-check --editable '.[dev]'
	build/fresh/bin/python -m pip list --format=freeze --exclude-editable --exclude pip --exclude setuptools | sort -f > constraints.txt
	rm -rf build/fresh

pictures: $(VENV)/.tools
	$(BIN)/python -m docs.pictures
	$(BIN)/python -m docs.recordings

clean:
	rm -rf $(VENV) site build dist .pytest_cache .mypy_cache .ruff_cache .import_linter_cache .hypothesis
	find src tests benchmarks docs examples -name __pycache__ -type d -prune -exec rm -rf {} +
