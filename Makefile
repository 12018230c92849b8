# Every target does its own set-up: a .venv made with the first Python >= 3.11 found.
# To choose another one: make PYTHON=python3.13 test

PYTHON ?= $(shell for p in python3 python3.14 python3.13 python3.12 python3.11; do \
	$$p -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && echo $$p && break; done)
VENV := .venv
BIN := $(VENV)/bin
PIP := PYTHONWARNINGS=ignore $(BIN)/python -m pip -qq --disable-pip-version-check

.PHONY: help demo test test-all test-wheel check format bench clean

help:
	@echo "make demo       a small network with places and without, compared (10 s)"
	@echo "make test       all tests but the long campaigns"
	@echo "make test-all   the long campaigns too, with ten times the random examples (about 35 minutes)"
	@echo "make test-wheel builds the wheel and tries it, installed in an environment of its own"
	@echo "make check      ruff and mypy --strict"
	@echo "make bench      all measurements in one table, beside native Zenoh and others (about 15 minutes)"
	@echo "                ONLY=network runs one part: encodings, index, network, remote, links, moves, clients"
	@echo "make format     lets ruff put the code in order"
	@echo "make clean      removes all that the others made"

$(VENV)/.package: pyproject.toml
	@test -n "$(PYTHON)" || { echo "zenoh-la needs Python 3.11 or newer; none was found" >&2; exit 1; }
	@echo "setting up $(VENV) with $(PYTHON), once …"
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	@$(PIP) install --upgrade 'pip>=25.1'
	@$(PIP) install --editable .
	@touch $@

$(VENV)/.dev: $(VENV)/.package
	@$(PIP) install --group dev
	@touch $@

demo: $(VENV)/.package
	@$(BIN)/zla demo
	@echo "(zla is $(BIN)/zla; or: . $(BIN)/activate)"

test: $(VENV)/.dev
	$(BIN)/python -m pytest -m 'not long'

test-all: $(VENV)/.dev
	ZLA_HYPOTHESIS_PROFILE=long $(BIN)/python -m pytest

# In an environment and a folder of its own, so that nothing of the work tree is imported by
# accident. What packaging can break: every command, module and document, and a network.
WHEEL_TESTS := tests/cli tests/storage tests/session/test_line.py tests/session/test_zenoh_api.py \
	$(wildcard tests/test_*.py)
test-wheel: $(VENV)/.dev
	rm -rf build dist $(VENV)-wheel
	@$(BIN)/python -m build --outdir dist >/dev/null
	@$(BIN)/python -m venv $(VENV)-wheel
	@$(VENV)-wheel/bin/python -m pip -qq install --upgrade 'pip>=25.1'
	@$(VENV)-wheel/bin/python -m pip -qq install dist/*.whl --group dev
	mkdir -p build/away && cp -r tests benchmarks docs examples README.md pyproject.toml build/away
	cd build/away && ZLA_TEST_INSTALLED=1 ../../$(VENV)-wheel/bin/python -P -m pytest -m 'not long' $(WHEEL_TESTS)

check: $(VENV)/.dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy -p zenoh_la
	$(BIN)/mypy tests benchmarks
	MYPYPATH=examples $(BIN)/mypy examples

format: $(VENV)/.dev
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

# Some parts only: make bench ONLY=network, ONLY="moves links"; to try something out: REPETITIONS=1
bench: $(VENV)/.dev
	@REPETITIONS=$(or $(REPETITIONS),5) $(BIN)/python -m benchmarks $(ONLY)

clean:
	rm -rf $(VENV) $(VENV)-wheel build dist *.egg-info .mypy_cache .ruff_cache .pytest_cache .hypothesis .benchmarks
