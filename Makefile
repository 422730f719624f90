# Trawl. `make demo` shows it, `make dev` opens the UI, `make test` checks it. Each target installs what it needs.
SHELL := /bin/bash
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PIP := PIP_DISABLE_PIP_VERSION_CHECK=1 $(BIN)/python -m pip -qq --no-input
CHROMIUM := $(shell command -v chromium || command -v chromium-browser || command -v google-chrome)
PYTEST_ARGS ?= -n 2 --dist worksteal

.PHONY: help demo dev test bench lint lock browser clean

help:
	@sed -n 's/^## //p' Makefile

$(VENV)/bin/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "Trawl needs Python 3.11 or newer; $(PYTHON) is $$($(PYTHON) -V 2>&1). Try: make $(MAKECMDGOALS) PYTHON=python3.12"; exit 2; }
	@$(PYTHON) -m venv $(VENV) || { echo "Python's venv module is missing; on Debian: apt-get install python3-venv"; exit 2; }

# Stamps hold the lock they were made from, so an install happens only when a lock has changed.
$(VENV)/.run-lock: requirements.lock pyproject.toml | $(VENV)/bin/python
	@cmp -s requirements.lock $@ || { echo "Installing Trawl's locked dependencies into $(VENV) (a minute or two, once) …"; \
	  $(PIP) install --require-hashes --no-deps -r requirements.lock; }
	@$(PIP) install --no-build-isolation --no-deps -e .
	@cp requirements.lock $@

$(VENV)/.dev-lock: requirements-dev.lock $(VENV)/.run-lock
	@cmp -s requirements-dev.lock $@ || { echo "Installing the development tools …"; \
	  $(PIP) install --require-hashes --no-deps -r requirements-dev.lock; }
	@cp requirements-dev.lock $@

# The peers that benches measure Trawl against, on top of the tools; nothing but `make bench` needs them.
$(VENV)/.bench-lock: requirements-bench.lock $(VENV)/.dev-lock
	@cmp -s requirements-bench.lock $@ || { echo "Installing the benches' peers …"; \
	  $(PIP) install --require-hashes --no-deps -r requirements-bench.lock; }
	@cp requirements-bench.lock $@

## make demo   two nights over three sample sites on loopback, then a summary, SQL, changes and a search
demo: $(VENV)/.run-lock
	@$(BIN)/python -m trawl_assets.demo

## make dev    the Dagster UI on http://127.0.0.1:3000
dev: $(VENV)/.run-lock
	@$(BIN)/python -m trawl_assets.dev

## make test   every test; no network but loopback
test: $(VENV)/.dev-lock browser
	@$(BIN)/python -m pytest $(PYTEST_ARGS)

## make bench  every bench; rewrites the table in bench/README.md
bench: $(VENV)/.bench-lock
	@$(BIN)/python -m bench

## make lint   ruff, format and rules
lint: $(VENV)/.dev-lock
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .

# One test looks at the UI with Debian's Chromium; it is installed where that is possible.
browser:
ifeq ($(CHROMIUM),)
	@if [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null; then echo "Installing Debian's chromium for the UI test …"; \
	  { apt-get -qq update && DEBIAN_FRONTEND=noninteractive apt-get -qq install -y --no-install-recommends chromium; } >/dev/null 2>&1 || echo "chromium could not be installed; the UI test will say so"; fi
endif

## make lock   resolve pyproject.toml into the three lock files (needs uv)
lock:
	@for pair in ".lock:" "-dev.lock:--extra dev -c requirements.lock" "-bench.lock:--extra bench -c requirements-dev.lock"; do \
	  uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-header --no-annotate --no-emit-index-url --no-emit-find-links \
	    --extra build $${pair#*:} pyproject.toml -o requirements$${pair%%:*} || exit 1; done

clean:
	@rm -rf $(VENV) data/demo data/lake data/work data/dagster_home data/trawl.duckdb bench/.cache
