# Everything here needs only python3 and make. Each target sets up the environment it uses, once; an environment is
# set up again when pyproject.toml or the version of Python changes: make test PYTHON=python3.14

PYTHON ?= python3
JOBS ?= 2

BIN := .venv/bin
INTEROP := .venv-interop/bin
BENCH := .venv-bench/bin
# The stamp of a finished environment carries the version of Python it was made with.
VERSION := $(shell $(PYTHON) -c 'import sys; print("%d.%d" % sys.version_info[:2])')
READY := .venv/ready-$(VERSION)
READY_INTEROP := .venv-interop/ready-$(VERSION)
READY_BENCH := .venv-bench/ready-$(VERSION)

SOURCES := src tests examples bench docs

export PIP_DISABLE_PIP_VERSION_CHECK := 1
export PIP_NO_INPUT := 1
MAKEFLAGS += --no-print-directory
.DEFAULT_GOAL := help
.DELETE_ON_ERROR:

.PHONY: help demo train test lint types rooms surface pytest test-interop bench format hooks clean

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-13s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

demo: $(READY) ## capture, print, edit, compile, run, differentiate, train, save and load a program
	@$(BIN)/python examples/demo.py

train: $(READY) ## train the four examples to their goals, with loss curves in build/training
	@$(BIN)/python examples/train_all.py build/training

test: lint types rooms surface pytest ## every check and every test

lint: $(READY)
	$(call step,ruff)
	@$(BIN)/ruff check --quiet --output-format concise $(SOURCES)
	@$(BIN)/ruff format --check --quiet $(SOURCES) || { echo "not formatted: run 'make format'"; exit 1; }

types: $(READY)
	$(call step,mypy --strict)
	@$(BIN)/mypy --no-error-summary

rooms: $(READY)
	$(call step,imports between rooms)
	@$(BIN)/lint-imports --no-logo > .venv/rooms.txt 2>&1 || { cat .venv/rooms.txt; exit 1; }

surface: $(READY)
	$(call step,pre-commit and licence)
	@$(BIN)/pre-commit validate-config .pre-commit-config.yaml
	@for file in LICENSE README.md CHANGELOG.md CONTRIBUTING.md; do \
	    test -s $$file || { echo "$$file is missing or empty"; exit 1; }; done

pytest: $(READY)
	$(call step,pytest)
	@$(BIN)/pytest -q -n $(JOBS)

test-interop: $(READY_INTEROP) ## compare with torch and JAX (fetches both, CPU)
	$(call step,pytest against torch and JAX)
	@$(INTEROP)/pytest tests/interop -o addopts= --import-mode=importlib -q

bench: $(READY_BENCH) ## time weft beside torch.fx and jax (fetches both, CPU)
	@$(BENCH)/python -m bench

format: $(READY) ## format the code and fix what can be fixed
	@$(BIN)/ruff check --fix --quiet $(SOURCES)
	@$(BIN)/ruff format --quiet $(SOURCES)

hooks: $(READY) ## run the checks at every commit
	@$(BIN)/pre-commit install

clean: ## remove environments, caches and builds
	@rm -rf .venv .venv-interop .venv-bench build dist .cache .hypothesis .mypy_cache .pytest_cache .ruff_cache \
	    .import_linter_cache
	@find $(SOURCES) -name __pycache__ -type d -prune -exec rm -rf {} +

$(READY): pyproject.toml
	$(call environment,.venv,dev)

$(READY_INTEROP): pyproject.toml
	$(call environment,.venv-interop,interop)

$(READY_BENCH): pyproject.toml
	$(call environment,.venv-bench,bench)

define step
@printf '== %s\n' '$(1)'
endef

# $(1): folder, $(2): the extra of pyproject.toml to install
define environment
@printf '== setting up %s\n' '$(1)'
@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "weft needs Python 3.11 or later"; exit 1; }
@test -x $(1)/bin/python$(VERSION) || rm -rf $(1)
@$(PYTHON) -m venv $(1) || { echo "python3 cannot make environments: install your system's python3-venv"; exit 1; }
@$(1)/bin/python -m pip install -qq -e '.[$(2)]'
@touch $@
endef
