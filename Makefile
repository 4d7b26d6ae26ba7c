# Every target sets up what it needs from a bare python3, and sets nothing up twice. Start with: make demo

PYTHON ?= python3
VENV   ?= .venv

BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip install --disable-pip-version-check
RECIPE := pyproject.toml constraints.txt setup.py build_backend.py $(wildcard src/attain/engine/*.p[xy]*)

# Pip keeps to the pinned versions where it installs and where it builds; it reads the second name from version 25.3 on.
export PIP_CONSTRAINT := constraints.txt
export PIP_BUILD_CONSTRAINT := constraints.txt

comma := ,
# $(call install,requirement): what pip says is kept in install.log, and shown where it fails.
define install
	@$(BIN)/python -m pip --version >/dev/null 2>&1 || $(BIN)/python -m ensurepip
	@echo 'Installing $(1) into $(VENV)'
	@$(PIP) --editable '$(1)' >$(VENV)/install.log 2>&1 || { cat $(VENV)/install.log >&2; \
		! grep -q 'ERROR.*ziglang' $(VENV)/install.log || echo 'attain is compiled: install a C compiler, gcc or clang.' >&2; \
		exit 1; }
	@touch $@
endef

CORE  := $(VENV)/.installed-core
DEV   := $(VENV)/.installed-dev
TORCH := $(VENV)/.installed-torch
SERVE := $(VENV)/.installed-serve

EXPERIMENTS := $(VENV)/.installed-experiments
BROWSER := $(VENV)/.installed-browser
CLUSTER := $(VENV)/.installed-cluster
LOWEST := $(VENV)-lowest

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
.PHONY: help demo app paper paper-quick test slowest record budgets test-experiments check test-sanitized test-lowest test-pythons licences test-browser test-cluster fuzz attack kill chromium coverage docs schema-page build format bench benchmarks clean

help: ## this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-12s %s\n", $$1, $$2 }' Makefile

demo: $(CORE) ## find counterfactuals in the German credit data
	$(BIN)/attain demo

app: $(SERVE) ## open the page for exploring decisions, on the German credit data
	$(BIN)/attain serve --demo

paper: $(EXPERIMENTS) ## all experiments of the paper, from the data folder, into paper/
	$(BIN)/python -m experiments paper --out paper --jobs 2

paper-quick: $(EXPERIMENTS) ## the same on German credit and the synthetic sets, for anyone, into paper-quick/
	$(BIN)/python -m experiments paper --quick --out paper-quick

# Two workers share the cores; more threads each would only wait for one another. Neighbouring tests share what they
# fit, so a worker starts with half of them in order and takes over from the other when it is done.
TESTS := test slowest record test-experiments check test-sanitized test-lowest test-pythons test-browser test-cluster fuzz attack kill coverage
$(TESTS) docs: export JAX_PLATFORMS = cpu
$(TESTS) docs: export OMP_NUM_THREADS = 1
PYTEST := pytest -n 2 --dist worksteal

# Programs that run for milliseconds are compiled without optimisation; `make check` optimises them as users do.
test slowest record test-experiments coverage test-pythons test-lowest: export XLA_FLAGS = --xla_backend_optimization_level=0
test: $(DEV) ## format, lint, types and the fast tests
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	@$(BIN)/mypy & types=$$!; $(BIN)/$(PYTEST) -m "not slow"; tests=$$?; wait $$types && exit $$tests

record: $(DEV) ## what every method answers, and its work, into tests/recorded/; says what changed
	$(BIN)/python -m tests.recorded.recording

budgets: $(DEV) ## lowers the budgets of rooms in tests/test_architecture.py to what is there
	$(BIN)/python -m tests.test_architecture

slowest: $(DEV) ## the fast tests, one at a time, and the thirty that took longest
	$(BIN)/pytest -m "not slow" --durations=30

test-experiments: $(DEV) ## the quick tests of experiments; `make check` runs all of them
	$(BIN)/$(PYTEST) -m "not slow" experiments/tests

# The tests of `make test` that draw examples are run again, with many more of them.
check: export ATTAIN_THOROUGH = 1
check: $(TORCH) ## all that `make test` leaves out, in at most an hour: what a release must pass besides
	$(BIN)/$(PYTEST) -m "slow or hypothesis"
	$(BIN)/$(PYTEST) tests/models/test_torch.py experiments/tests
	$(MAKE) test-sanitized
	$(MAKE) test-cluster
	$(MAKE) fuzz FUZZ="--files 1000"

# Reads and writes outside of an array, and whatever C leaves undefined, end the run. Only gcc names its libasan so.
SANITIZED := build/sanitized
ENGINE ?= --worlds 100
test-sanitized: $(DEV) ## the engine, tested and attacked, with every access to memory checked (gcc; ENGINE="--worlds N")
	@command -v gcc >/dev/null || { echo 'gcc is not installed, so the engine is not tested under a sanitizer.'; exit 0; }; set -ex; \
	rm -rf $(SANITIZED); CC=gcc CFLAGS='-fsanitize=address,undefined,float-cast-overflow -fno-sanitize-recover=all' \
		$(BIN)/python -m build --outdir $(SANITIZED) .; \
	$(PIP) --quiet --no-deps --target $(SANITIZED)/lib $(SANITIZED)/*.whl; \
	export LD_PRELOAD="$$(gcc -print-file-name=libasan.so) $$(gcc -print-file-name=libubsan.so)" ASAN_OPTIONS=detect_leaks=0 \
		PYTHONPATH=$(SANITIZED)/lib; \
	$(BIN)/pytest -p no:faulthandler --capture=sys -m "not slow" tests/engine tests/methods/guarded tests/attack/test_engine.py; \
	$(BIN)/python -m tests.attack.engine $(ENGINE)

test-lowest: $(DEV) ## the fast tests with the lowest versions that pyproject.toml allows
	$(BIN)/uv venv --quiet --clear --python $(PYTHON) $(LOWEST)
	$(BIN)/uv pip install --quiet --python $(LOWEST)/bin/python --resolution lowest-direct --editable ".[test]"
	$(LOWEST)/bin/$(PYTEST) -m "not slow"

# Looks for interpreters of uv, on the path and of pyenv; one that is missing is named, and fails with STRICT=1.
PYTHONS ?= 3.11 3.12 3.13
test-pythons: $(DEV) ## the fast tests with each Python that is supported and installed
	@missing=0; for version in $(PYTHONS); do \
		found=$$($(BIN)/uv python find --no-python-downloads --no-project "$$version" 2>/dev/null || \
			ls -d "$${PYENV_ROOT:-$$HOME/.pyenv}"/versions/$$version.*/bin/python 2>/dev/null | tail -n 1); \
		if [ -z "$$found" ]; then echo "Python $$version is not installed, so it is not tested."; missing=1; continue; fi; \
		echo "Python $$version: $$found"; \
		$(BIN)/uv venv --quiet --clear --python "$$found" $(VENV)-$$version && \
		$(BIN)/uv pip install --quiet --python $(VENV)-$$version/bin/python --constraint constraints.txt --build-constraint constraints.txt --editable ".[test]" && \
		$(VENV)-$$version/bin/$(PYTEST) $(PYTESTARGS) -m "not slow" || exit 1; \
	done; [ -z "$(STRICT)" ] || exit $$missing

licences: $(DEV) ## the licences of all that attain requires, against those that an MIT package may depend on
	$(BIN)/python .ci/supply_chain.py licences

test-browser: export ATTAIN_BROWSER = 1
test-browser: $(BROWSER) | chromium ## the page in Chromium: the whole journey, accessibility, hostile names
	$(BIN)/pytest tests/browser

test-cluster: export ATTAIN_CLUSTER = 1
test-cluster: $(CLUSTER) ## Ray and Spark on two cores: the same bytes as one process
	$(BIN)/pytest tests/cluster

FUZZ ?= --files 5000
fuzz: $(DEV) ## mutated files of every format, each read or refused (FUZZ="--files N --seed S" for others)
	$(BIN)/python -m tests.attack.fuzz $(FUZZ)

attack: $(DEV) ## answers of every method on random schemas, checked by code of its own, until Ctrl-C (ATTACK="--first N")
	$(BIN)/python -m benchmarks.promises --until-stopped --seconds 1e9 --jobs 2 $(ATTACK)

KILL ?= --kills 150
kill: $(DEV) ## every command killed at random moments and on a full disk (KILL="--kills N" for others)
	$(BIN)/python -m tests.attack.killing $(KILL)

# Playwright's own browsers are not needed: Debian's is driven.
chromium:
	@command -v "$${CHROMIUM:-chromium}" >/dev/null || { \
		if [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null; then apt-get update -qq && apt-get install -qq -y chromium; \
		else echo "Chromium is not installed. Install it, or name its program in the environment variable CHROMIUM." >&2; exit 1; fi; }

coverage: $(DEV) ## which lines the fast tests do not reach, into htmlcov/
	$(BIN)/$(PYTEST) -m "not slow" --cov --cov-report=term:skip-covered --cov-report=html

docs: $(DEV) ## the documentation, into site/
	NO_MKDOCS_2_WARNING=1 $(BIN)/python -m mkdocs build --strict

schema-page: $(DEV) ## the table of properties in docs/use/schema.md, from the code
	$(BIN)/python -m tests.test_schema_page --write

# It is tried with what users get: the newest versions of everything, pinned or not.
build: $(DEV) ## the wheel and its bill of materials, installed into an empty environment and tried there
	rm -rf dist
	$(BIN)/python -m build --outdir dist .
	$(BIN)/python .ci/supply_chain.py sbom dist/*.whl
	@set -e; place=$$(mktemp -d); trap 'rm -rf "$$place"' EXIT; wheel=$$(ls "$(CURDIR)"/dist/*.whl); \
	$(BIN)/python -m venv "$$place/venv"; \
	for extra in "" "[autoencoders]"; do \
		env -u PIP_CONSTRAINT "$$place/venv/bin/python" -m pip install --disable-pip-version-check --quiet "$$wheel$$extra"; \
		(cd "$$place" && JAX_COMPILATION_CACHE_DIR="$$place/jax" "$$place/venv/bin/python" "$(CURDIR)/.ci/smoke.py"); \
	done

format: $(DEV) ## put the code into the project's form
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

# The whole benchmark takes hours: make bench BENCH="--out bench --jobs 16 --limit 400"
BENCH ?= --quick --out bench-quick
bench: $(EXPERIMENTS) ## every method on German credit, into bench-quick/ (BENCH= for other arguments)
	$(BIN)/python -m experiments bench $(BENCH)

benchmarks: $(DEV) ## speed and quality of single parts, into benchmarks/results/
	$(BIN)/python -m benchmarks

clean: ## remove the environment and everything that was built
	rm -rf $(VENV) $(LOWEST) $(PYTHONS:%=$(VENV)-%) build dist site htmlcov .coverage paper paper-quick bench-quick .benchmarks .hypothesis
	rm -f src/attain/engine/*.so
	rm -rf .jax_cache .docs_cache .mypy_cache .pytest_cache .ruff_cache
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

# An existing environment is kept, unless its interpreter is gone.
$(BIN)/python:
	$(PYTHON) -m venv --clear $(VENV)

$(CORE): $(RECIPE) | $(BIN)/python
	$(call install,.)

$(SERVE): $(RECIPE) | $(BIN)/python
	$(call install,.[serve$(comma)report])
	@touch $(CORE)

$(EXPERIMENTS): $(RECIPE) | $(BIN)/python
	$(call install,.[experiments])
	@touch $(CORE)

$(DEV): $(RECIPE) | $(BIN)/python
	$(call install,.[dev])
	@touch $(CORE) $(EXPERIMENTS) $(SERVE)

$(BROWSER): $(DEV)
	$(call install,.[dev$(comma)browser])

$(CLUSTER): $(DEV)
	$(call install,.[dev$(comma)cluster])

$(TORCH): $(DEV)
	$(call install,.[dev$(comma)torch])
