# Every need has one target, and a bare `make` lists them. The same targets run on a machine that
# integrates and on a desk.
PYTHON ?= python3
VENV_PYTHON := .venv/bin/python
# A Python on a machine with a GPU, with interlock's wheel and pytest; without it, the one that is made here.
GPU_PYTHON ?=
# Folders with more interpreters for test-pythons, separated by colons.
PYTHONS ?=
export PYTHONS

.DEFAULT_GOAL := help
.PHONY: help demo docs test test-all test-long test-pythons test-sanitized test-gpu test-vendor fuzz bench bench-gpu install \
	wheel generate format clean environment test-environment

help: ## list the targets
	@sed -n 's/^\([a-z-]*\):[^#]*## \(.*\)/\1|\2/p' $(MAKEFILE_LIST) | awk -F'|' '{ printf "make %-14s %s\n", $$1, $$2 }'

demo: environment ## build interlock from source, install it into .venv and run the quick start
	@echo "compiling interlock (about a minute on the first run) ..."
	@$(VENV_PYTHON) -m pip install --quiet --disable-pip-version-check .
	@$(VENV_PYTHON) examples/quickstart.py

test: test-environment ## build the wheel, install it and run the checks of every change
	@$(VENV_PYTHON) tools/check.py

test-all: test-environment ## run the remaining checks: loom, the release wheel with all of pytest, the fake CUDA driver
	@$(VENV_PYTHON) tools/check.py --all

test-long: test-environment ## run both with many more random examples
	@LONG_TESTS=1 $(VENV_PYTHON) tools/check.py
	@LONG_TESTS=1 $(VENV_PYTHON) tools/check.py --all

test-gpu: $(if $(GPU_PYTHON),,install) ## run what needs a GPU; GPU_PYTHON=/path/to/python with the wheel and pytest needs no Rust
	@$(or $(GPU_PYTHON),$(VENV_PYTHON)) -m pytest tests/unit/accelerator tests/hardware/gpu --driver=cuda

test-sanitized: test-environment ## run the Rust tests, Python tests and fuzzers under AddressSanitizer (Linux)
	@$(VENV_PYTHON) tools/sanitized.py

# 4 GB in an environment of its own, and so no part of `make test`.
test-vendor: test-environment ## install the real vendor libraries (4 GB) beside interlock and prove what it says of them
	@$(PYTHON) tools/environment.py vendor
	@$(VENV_PYTHON) tools/package.py install release .venv-vendor/bin/python
	@.venv-vendor/bin/python -m pytest tests/hardware/vendor --vendor

# Several times as long as `make test`, with interpreters that a machine may lack, and so no part of it.
test-pythons: test-environment ## run every test on each CPython from 3.11 to 3.15 found on PATH, in pyenv or in PYTHONS=folder:folder
	@$(VENV_PYTHON) tools/pythons.py

fuzz: test-environment ## run the fuzzers for minutes with random seeds; BENCH_PYTHON=/path/to/python with PyTorch compares with it
	@$(VENV_PYTHON) tools/package.py install release
	@$(VENV_PYTHON) -m tests.fuzz

bench: test-environment ## measure every row of the table of speeds; BENCH_PYTHON=/path/to/python with PyTorch adds its column
	@$(VENV_PYTHON) tools/package.py install release
	@$(VENV_PYTHON) -m benchmarks.run

bench-gpu: $(if $(GPU_PYTHON),,install) ## measure a GPU's driver beside PyTorch; GPU_PYTHON=/path/to/python with the wheel and PyTorch
	@$(or $(GPU_PYTHON),$(VENV_PYTHON)) -m benchmarks.gpu

docs: ## build the documentation site into target/site; a broken link is an error
	@command -v $(PYTHON) > /dev/null || { echo "$(PYTHON) was not found: install CPython 3.11 or newer." >&2; exit 1; }
	@$(PYTHON) tools/environment.py docs
	@NO_MKDOCS_2_WARNING=1 .venv-docs/bin/python -m mkdocs build --quiet
	@echo "target/site/index.html"

install: test-environment ## build the wheel and install it into .venv, for .venv/bin/python -m pytest
	@$(VENV_PYTHON) tools/package.py install

wheel: test-environment ## build the wheel into dist/
	@$(VENV_PYTHON) -m maturin build --release --interpreter $(VENV_PYTHON) --out dist

generate: test-environment ## write the files that are made from declarations
	@$(VENV_PYTHON) tools/package.py install
	@$(VENV_PYTHON) tools/generate.py

format: test-environment ## format Rust and Python
	@cargo fmt --all
	@$(VENV_PYTHON) -m ruff check --fix --quiet . || true
	@$(VENV_PYTHON) -m ruff format .

clean: ## remove everything that was built
	@cargo clean
	@rm -rf .venv .venv-* dist .mypy_cache .pytest_cache .ruff_cache .hypothesis

environment:
	@command -v $(PYTHON) > /dev/null || { echo "$(PYTHON) was not found: install CPython 3.11 or newer." >&2; exit 1; }
	@$(PYTHON) tools/environment.py

test-environment:
	@command -v $(PYTHON) > /dev/null || { echo "$(PYTHON) was not found: install CPython 3.11 or newer." >&2; exit 1; }
	@$(PYTHON) tools/environment.py test
