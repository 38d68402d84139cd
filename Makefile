# One target for each task; `make` without arguments lists them. CI and developers run the same targets.
PYTHON ?= python3
VENV_PYTHON := .venv/bin/python
# A Python with interlock's wheel and pytest, on a machine with a GPU. The default is the Python of `make install`.
GPU_PYTHON ?=
# Further folders with interpreters for test-pythons, separated by colons.
PYTHONS ?=
export PYTHONS

# Interpreters with PyTorch for test-integrations, separated by spaces; the default is two environments of its own.
TORCH_PYTHONS ?=
# Interpreters with JAX and NumPy for it; the default is two more environments.
JAX_PYTHONS ?=
# An interpreter with Dask, Ray, joblib and PySpark for it; the default is an environment of its own.
CLUSTERS_PYTHON ?=
# The library of ONNX Runtime for it, or a folder of packages with onnxruntime; the default is an environment of its own.
ORT_DYLIB_PATH ?=
# An interpreter with the packages of watch-packages; the default is an environment of its own.
PACKAGES_PYTHON ?=

REQUIRE_PYTHON = command -v $(PYTHON) > /dev/null || \
	{ echo "$(PYTHON) was not found: install CPython 3.11 or newer." >&2; exit 1; }

.DEFAULT_GOAL := help
.PHONY: help demo demo-training docs test test-all test-integrations test-integrations-clusters test-integrations-jax \
	test-integrations-ort test-integrations-candle test-integrations-server test-long test-pythons test-sanitized test-gpu \
	test-vendor check-crates watch-packages fuzz compare bench bench-gpu install install-light wheel release release-build release-check \
	release-reproduce generate format clean environment release-environment test-environment

help: ## list the targets
	@sed -n 's/^\([a-z-]*\):[^#]*## \(.*\)/\1|\2/p' $(MAKEFILE_LIST) | awk -F'|' '{ printf "make %-18s %s\n", $$1, $$2 }'

# In an environment of their own, so that they do not replace the build of `make install`.
DEMO_PYTHON := .venv-demo/bin/python
DEMO_INSTALL := $(DEMO_PYTHON) -m pip install --quiet --disable-pip-version-check
# Its argument: options of pip.
DEMO_BUILD = started=$$(date +%s); $(DEMO_INSTALL) $(1) . && echo "compiled in $$(($$(date +%s) - started)) s"

demo: environment ## build interlock without tensors, and show flags, modes, threads, devices and memory (one minute)
	@echo "compiling interlock without the tensor runtime: one minute on two cores for the first build ..."
	@$(call DEMO_BUILD,--config-settings build-args=--no-default-features)
	@INTERLOCK_DEBUG=1 $(DEMO_PYTHON) examples/control_plane.py

demo-training: environment ## build interlock with tensors, and train a classifier of handwritten digits (four minutes)
	@echo "compiling interlock with the tensor runtime: four minutes on two cores for the first build ..."
	@$(call DEMO_BUILD)
	@$(DEMO_PYTHON) examples/quickstart.py

test: test-environment ## build the wheel, install it and run the checks for every change
	@$(VENV_PYTHON) tools/check.py

test-all: test-environment ## run the remaining checks: loom, the release wheel with all of pytest, the fake CUDA driver
	@$(VENV_PYTHON) tools/check.py --all

test-long: test-environment ## run both with many more random examples
	@LONG_TESTS=1 $(VENV_PYTHON) tools/check.py
	@LONG_TESTS=1 $(VENV_PYTHON) tools/check.py --all

test-gpu: $(if $(GPU_PYTHON),,install) ## run the tests that need a GPU; GPU_PYTHON=/path/to/python with the wheel and pytest needs no Rust
	$(if $(GPU_PYTHON),,@cargo nextest run --package interlock-cuda --test gpu)
	@$(or $(GPU_PYTHON),$(VENV_PYTHON)) -m pytest tests/unit/accelerator tests/hardware/gpu --driver=cuda

test-sanitized: test-environment ## run the Rust tests, Python tests and fuzzers under AddressSanitizer (Linux)
	@$(VENV_PYTHON) tools/sanitized.py

# Not part of `make test`, because it compiles tools (13 minutes of CPU time, once) and downloads advisories from GitHub.
check-crates: test-environment ## check that the Rust crates can be published; ADVISORIES=no without GitHub, BASELINE=COMMIT compares interfaces
	@$(VENV_PYTHON) tools/check.py --crates

# Not part of `make test`, because it installs 4 GB, in a separate environment.
test-vendor: test-environment ## install the vendors' libraries (4 GB) and test how interlock finds and queries them
	@$(PYTHON) tools/environment.py vendor
	@$(VENV_PYTHON) tools/package.py install release .venv-vendor/bin/python
	@.venv-vendor/bin/python -m pytest tests/hardware/vendor --vendor

# Not part of `make test`, because it installs 8 GB, in separate environments.
TORCH_VERSIONS := 2.13 2.15
JAX_VERSIONS := jax-0.4 jax-0.10
test-integrations: test-integrations-jax test-integrations-clusters
test-integrations: test-integrations-ort test-integrations-candle test-integrations-server
test-integrations: ## install PyTorch 2.13 and 2.15 (8 GB), JAX, NumPy, engines and Rust clients, and test them; TORCH_PYTHONS=PYTHON, JAX_PYTHONS=PYTHON use others
	@$(if $(TORCH_PYTHONS),,for version in $(TORCH_VERSIONS); do \
		$(PYTHON) tools/environment.py integrations-$$version || exit 1; done)
	@for python in $(or $(TORCH_PYTHONS),$(TORCH_VERSIONS:%=.venv-integrations-%/bin/python)); do \
		$$python -W ignore -c 'import torch; print("PyTorch", torch.__version__)' && \
		$(VENV_PYTHON) -m pytest tests/unit/settings tests/unit/threads/test_packages.py tests/unit/cli/test_watch.py \
		tests/integration/test_scoped_server.py tests/integration/processes/test_states_of_workers.py \
		--torch=$$python || exit 1; done

test-integrations-jax: install ## the part of test-integrations for JAX and NumPy (300 MB)
	@$(if $(JAX_PYTHONS),,for version in $(JAX_VERSIONS); do \
		$(PYTHON) tools/environment.py integrations-$$version || exit 1; done)
	@for python in $(or $(JAX_PYTHONS),$(JAX_VERSIONS:%=.venv-integrations-%/bin/python)); do \
		$$python -c 'import jax, numpy; print("JAX", jax.__version__, "NumPy", numpy.__version__)' && \
		$(VENV_PYTHON) -m pytest tests/unit/settings/test_jax.py tests/unit/settings/test_numpy.py \
		tests/unit/settings/test_docs_numpy_jax.py --jax=$$python || exit 1; done

# Spark needs Java 17 on PATH; its tests are skipped without it.
test-integrations-clusters: install ## the part of test-integrations for Dask, Ray, joblib and Spark (1.2 GB); CLUSTERS_PYTHON=PYTHON uses another
	@$(if $(CLUSTERS_PYTHON),,$(PYTHON) tools/environment.py integrations-clusters)
	@$(VENV_PYTHON) -m pytest tests/integration/processes/test_states_of_workers.py tests/integration/test_data_parallel.py \
		--clusters=$(or $(CLUSTERS_PYTHON),.venv-integrations-clusters/bin/python)

# Workspaces of their own, which share a folder of outputs (integrations/.cargo/config.toml).
RUST_CLIENT = cd integrations/$(1) && cargo fmt --check && cargo clippy --locked --all-targets -- -D warnings && \
	cargo test --locked && RUSTDOCFLAGS="-D warnings" cargo doc --locked --no-deps

PRINT_PACKAGES := 'import sysconfig; print(sysconfig.get_path("purelib"))'

test-integrations-ort: ## the part of test-integrations for ONNX Runtime in Rust (100 MB); ORT_DYLIB_PATH=LIBRARY uses another
	@$(REQUIRE_PYTHON)
	@$(if $(ORT_DYLIB_PATH),,$(PYTHON) tools/environment.py integrations-ort)
	@export ORT_DYLIB_PATH="$(or $(ORT_DYLIB_PATH),$$(.venv-integrations-ort/bin/python -c $(PRINT_PACKAGES)))" && \
		$(call RUST_CLIENT,ort)

test-integrations-candle: ## the part of test-integrations for candle in Rust (one GB of build outputs)
	@$(call RUST_CLIENT,candle)

# Not part of `make test`, because it installs 8 GB, in a separate environment. CHECK=--check compares the table.
CHECK ?=
watch-packages: install ## install popular packages (8 GB) and write which settings they change; PACKAGES_PYTHON=PYTHON uses another
	@$(if $(PACKAGES_PYTHON),,$(PYTHON) tools/environment.py packages)
	@$(VENV_PYTHON) tools/watch_packages.py $(or $(PACKAGES_PYTHON),.venv-packages/bin/python) $(CHECK)

# Not part of `make test`: it takes several times as long, and needs interpreters that a machine may lack.
test-pythons: test-environment ## run every test on each CPython from 3.11 to 3.15 found on PATH, in pyenv or in PYTHONS=folder:folder
	@$(VENV_PYTHON) tools/pythons.py

# A workspace of its own, with the crates of a server. The model uses PyTorch in an environment of the same version of Python.
SERVER := integrations/server
SERVER_PACKAGES := $(CURDIR)/target/server-packages
SERVER_TORCH := $(or $(TORCH_PYTHONS),.venv-integrations-2.15/bin/python)
test-integrations-server: install ## the part of test-integrations for an axum server with an embedded model; TORCH_PYTHONS=PYTHON
	@$(if $(TORCH_PYTHONS),,$(PYTHON) tools/environment.py integrations-2.15)
	@mkdir -p $(SERVER_PACKAGES)
	@ln -sfn "$$($(VENV_PYTHON) -c 'import interlock; print(interlock.__path__[0])')" $(SERVER_PACKAGES)/interlock
	@cd $(SERVER) && export PYO3_PYTHON=$(CURDIR)/$(VENV_PYTHON) && cargo fmt --check && \
		cargo clippy --locked --all-targets -- -D warnings && VIRTUAL_ENV=$(CURDIR)/.venv cargo test --locked
	@for python in $(SERVER_TORCH); do \
		prefix=$$($$python -c 'import sys; print(sys.prefix)') && cd $(CURDIR)/$(SERVER) && PYO3_PYTHON=$(CURDIR)/$(VENV_PYTHON) \
		VIRTUAL_ENV=$$prefix PYTHONPATH=$(SERVER_PACKAGES) cargo test --locked --test states || exit 1; done

fuzz: test-environment ## run the fuzzers for minutes with random seeds; BENCH_PYTHON=/path/to/python with PyTorch compares results
	@$(VENV_PYTHON) tools/package.py install release
	@$(VENV_PYTHON) -m tests.fuzz

compare: install ## compare recorded cases, names and differences with PyTorch; BENCH_PYTHON=/path/to/python with PyTorch 2.15
	@$(VENV_PYTHON) -m tests.conformance.compare

bench: test-environment ## run the benchmarks; BENCH_PYTHON=/path/to/python with PyTorch adds a column
	@$(VENV_PYTHON) tools/package.py install published
	@$(VENV_PYTHON) -m benchmarks.run

bench-gpu: $(if $(GPU_PYTHON),,install) ## compare the driver of a GPU with PyTorch; GPU_PYTHON=/path/to/python with the wheel and PyTorch
	@$(or $(GPU_PYTHON),$(VENV_PYTHON)) -m benchmarks.gpu

docs: ## build the documentation site into target/site; a broken link is an error
	@$(REQUIRE_PYTHON)
	@$(PYTHON) tools/environment.py docs
	@NO_MKDOCS_2_WARNING=1 .venv-docs/bin/python -m mkdocs build --quiet
	@echo "Built target/site. To read and search it: $(PYTHON) -m http.server -d target/site"

.PHONY: check-workflows check-minimum-rust release-musl release-notes publish-crates github-release
WORKFLOWS_SCHEMA := .venv-workflows/bin/python -m check_jsonschema --builtin-schema
check-workflows: ## check GitHub's workflows, Dependabot's configuration and the issue forms
	@$(REQUIRE_PYTHON)
	@$(PYTHON) tools/environment.py workflows
	@.venv-workflows/bin/zizmor --offline --pedantic --strict-collection --no-progress --quiet .
	@$(WORKFLOWS_SCHEMA) vendor.github-workflows .github/workflows/*.yml
	@$(WORKFLOWS_SCHEMA) vendor.dependabot .github/dependabot.yml
	@$(WORKFLOWS_SCHEMA) vendor.github-issue-forms $(filter-out %/config.yml,$(wildcard .github/ISSUE_TEMPLATE/*.yml))
	@$(WORKFLOWS_SCHEMA) vendor.github-issue-config .github/ISSUE_TEMPLATE/config.yml
	@$(WORKFLOWS_SCHEMA) vendor.citation-file-format CITATION.cff

# Through rustup, which installs the version if it is missing.
MINIMUM_RUST ?= $(shell sed -n 's/^rust-version = "\(.*\)"/\1/p' Cargo.toml)
check-minimum-rust: ## compile every crate with the oldest supported Rust; MINIMUM_RUST=1.N.0 uses another one
	@rustup run $(MINIMUM_RUST) cargo --version || rustup toolchain install --profile minimal --no-self-update $(MINIMUM_RUST)
	@CARGO_TARGET_DIR=target/minimum-rust rustup run $(MINIMUM_RUST) cargo check --workspace --locked

# On a musl system, because the wheel must run on one, and Rust links its own. Containers that GitHub starts there cannot run
# actions on ARM.
MUSL_IMAGE := rust:1.97-alpine@sha256:3c38f3f82c2f3d73da3b38e18d279393a04cb43ddded0e35088a8c3324d40900
release-musl: ## build and check the wheel for musl in a container of Alpine Linux; needs docker
	@docker run --rm --volume "$(CURDIR)":/interlock --workdir /interlock \
		--env GIT_CONFIG_COUNT=1 --env GIT_CONFIG_KEY_0=safe.directory --env GIT_CONFIG_VALUE_0=/interlock $(MUSL_IMAGE) \
		sh -c 'apk add --quiet git make musl-dev patchelf python3 && make release-build release-check COMPATIBILITY=musllinux_1_2'

# The steps of a release that .github/workflows/release.yml runs for a tag.
TAG ?= v$(shell sed -n 's/^version = "\(.*\)"/\1/p' Cargo.toml)
release-notes: ## write the changelog's entry of the version TAG=vX.Y.Z into target/release-notes.md
	@$(REQUIRE_PYTHON)
	@$(PYTHON) tools/release_notes.py $(TAG)

publish-crates: ## publish every crate on crates.io; needs CARGO_REGISTRY_TOKEN
	@$(if $(CARGO_REGISTRY_TOKEN),,echo "publish-crates needs the variable CARGO_REGISTRY_TOKEN" >&2; exit 1)
	@cargo publish --workspace --locked

github-release: release-notes ## create the release TAG=vX.Y.Z on GitHub with the files in dist/; needs gh
	@gh release create $(TAG) --verify-tag --title $(TAG) --notes-file target/release-notes.md dist/*

install: test-environment ## build the wheel and install it into .venv, for .venv/bin/python -m pytest
	@$(VENV_PYTHON) tools/package.py install

install-light: test-environment ## like install, without the tensor runtime: for work on flags, modes, threads, devices and memory
	@$(VENV_PYTHON) tools/package.py light

wheel: test-environment ## build the wheel into dist/
	@$(VENV_PYTHON) -m maturin build --release --interpreter $(VENV_PYTHON) --out dist

# docs/releasing.md describes the targets and their variables.
COMPATIBILITY ?=
export COMPATIBILITY
RELEASE_PYTHON := .venv-release/bin/python

release: release-build ## build the artifacts of a release into target/dist, and check them
	@$(RELEASE_PYTHON) tools/release_check.py

release-build: release-environment ## build the source distribution and this platform's wheel; COMPATIBILITY=manylinux_2_28 and such selects its tag
	@$(RELEASE_PYTHON) tools/release_build.py

release-check: release-environment ## check what is in target/dist, also on each CPython from 3.11 to 3.15 found, as in test-pythons
	@$(RELEASE_PYTHON) tools/release_check.py

release-reproduce: release-environment ## build again from a clone in another folder, and compare the bytes with target/dist
	@$(RELEASE_PYTHON) tools/release_build.py --reproduce

generate: test-environment ## write the generated files
	@$(VENV_PYTHON) tools/third_party.py
	@$(VENV_PYTHON) tools/package.py install
	@$(VENV_PYTHON) tools/generate.py

format: test-environment ## format Rust and Python
	@cargo fmt --all
	@$(VENV_PYTHON) -m ruff check --fix --quiet . || true
	@$(VENV_PYTHON) -m ruff format .

clean: ## remove all build outputs
	@cargo clean
	@rm -rf .venv .venv-* dist .mypy_cache .pytest_cache .ruff_cache .hypothesis

environment:
	@$(REQUIRE_PYTHON)
	@$(PYTHON) tools/environment.py

release-environment:
	@$(REQUIRE_PYTHON)
	@$(PYTHON) tools/environment.py release

test-environment:
	@$(REQUIRE_PYTHON)
	@$(PYTHON) tools/environment.py test
