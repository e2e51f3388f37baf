# Every target does all its own set-up: `make demo` or `make test` in a fresh clone is enough.
VENV := .venv
BIN := $(VENV)/bin
PYTHONS := python3.11 python3.12 python3.13 python3

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
.PHONY: help setup demo test test-ray endurance lint types docs pins clean

help:
	@echo "make demo       install what the package needs, run it on a built-in network, print a table, write a report"
	@echo "make test       install what development needs, run all tests"
	@echo "make test-ray   the same for Ray: a training on two machines, one of which dies"
	@echo "make endurance  for hours: a million damaged files, kills, faults, leaks; goes on where it was stopped"
	@echo "make lint       style, format and import direction"
	@echo "make types      mypy in strict mode"
	@echo "make docs       the documentation as a site, in site/; warnings are errors"
	@echo "make pins       write constraints.txt anew; UPGRADE=\"ray optuna\" or UPGRADE=all takes the newest versions"
	@echo "make setup      only the set-up for development, in $(VENV)"
	@echo "make clean      remove $(VENV) and everything that tools have left behind"

setup: $(VENV)/.dev

demo: $(VENV)/.base
	$(BIN)/mpxgat demo --report demo-report.html

test: $(VENV)/.dev
	$(BIN)/pytest -n 2 tests --ignore tests/engines

# Apart from the others: Ray leaves sockets and processes to the end of the process, which are errors in other tests.
test-ray: $(VENV)/.dev
	$(BIN)/pytest -p no:unraisableexception tests/engines

# What tests/endurance does in small. Resumable; the summary goes into docs/reliability.md. ENDURANCE holds options.
endurance: $(VENV)/.dev
	$(BIN)/python -m benchmarks.endurance --record experiments/endurance.jsonl --into docs/reliability.md $(ENDURANCE)

lint: $(VENV)/.dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/lint-imports

types: $(VENV)/.dev
	$(BIN)/mypy

# The theme's makers announce its successor at every build unless told not to.
docs: $(VENV)/.dev
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict

# Nothing is installed by it: pip only resolves.
pins: | $(BIN)/pip
	$(BIN)/python scripts/pins.py $(if $(UPGRADE),--upgrade $(UPGRADE))

clean:
	rm -rf $(VENV) .pytest_cache .mypy_cache .ruff_cache .import_linter_cache .hypothesis build dist site
	find src tests benchmarks scripts docs examples -name __pycache__ -type d -prune -exec rm -rf {} +

# pip is the last thing venv puts in place, so its presence means that the folder is complete.
$(BIN)/pip:
	@for name in $(PYTHONS); do \
	  if $$name -c 'import sys, venv, ensurepip; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then \
	    echo "$$name -m venv $(VENV)"; exec $$name -m venv $(VENV); \
	  fi; \
	done; \
	echo "error: no Python 3.11 or newer with its venv module found (tried $(PYTHONS)); install one and run make again" >&2; exit 1

# The pins hold for what is installed and for the backend that builds the package: older versions of pip take the first variable
# for both, newer ones (25.3) the second for the backend.
INSTALL := PIP_CONSTRAINT=constraints.txt PIP_BUILD_CONSTRAINT=constraints.txt $(BIN)/pip install --quiet --disable-pip-version-check

# Stamps: the set-up happens once, and again when what it depends on has changed.
$(VENV)/.base: pyproject.toml constraints.txt | $(BIN)/pip
	$(INSTALL) -e '.[report]'
	@touch $@

# The set-up for development contains the other one.
$(VENV)/.dev: pyproject.toml constraints.txt | $(BIN)/pip
	$(INSTALL) -e '.[dev]'
	@touch $(VENV)/.base $@
