# One environment, two commands: `make demo` to look, `make test` to trust.
PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
# No update check, and nothing fetched: the modules of the page import each other alone.
DENO := DENO_NO_UPDATE_CHECK=1 $(BIN)/deno
# The training frameworks are large and pin each other's versions, so they have an environment of their own.
INTEGRATIONS_VENV ?= .venv-integrations
INTEGRATIONS_BIN := $(INTEGRATIONS_VENV)/bin

# So that a dependency's new version fails no test by chance: `make constraints` takes the newest, all at once.
PINNED := --constraint tests/constraints.txt

# Tests start hundreds of Pythons, each of which would compile the modules again.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: demo test check static lint types types-of-python types-of-page units loops tests test-versions test-integrations test-engines benchmarks constraints protos sample-logs peer-pack screenshots site clean

demo: $(VENV)/.installed
	$(BIN)/stepscope --logdir sample_logs

test: static tests

# What can be known in three minutes: all but the tests that drive a browser, read what other tools wrote, or take long.
check: static
	$(BIN)/pytest -n 3 --dist loadfile --no-loadscope-reorder -m "not browser and not peers and not long"

# Each of these works on one processor.
static: $(VENV)/.installed-test
	$(MAKE) --jobs=2 loops lint types units

lint: $(VENV)/.installed-test
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/codespell .
	$(BIN)/python -m tools.refused_words
	$(DENO) lint --quiet
	$(DENO) fmt --check --quiet

types: types-of-python types-of-page

types-of-python: $(VENV)/.installed-test
	$(BIN)/mypy

types-of-page: $(VENV)/.installed-test
	$(DENO) check --quiet dashboard

units: $(VENV)/.installed-test
	$(DENO) test --quiet --parallel dashboard

# Each of the tests' workers would compile them for itself.
loops: $(VENV)/.installed-test
	$(BIN)/stepscope warm-up

# Two processors are busy where three workers take turns at waiting.
tests: $(VENV)/.installed-test
	sh tools/ensure_browser.sh headless
	$(BIN)/pytest -n 3 --dist loadfile --no-loadscope-reorder

# The lowest and the newest of each dependency, on each Python; ARGUMENTS="--python 3.12 --which core" for some of it.
test-versions: $(VENV)/.installed-test
	PATH="$(abspath $(BIN)):$$PATH" $(BIN)/python -m tools.test_versions $(ARGUMENTS)

# Those of the debugger too, for JAX and TensorFlow are here alone.
test-integrations: $(INTEGRATIONS_VENV)/.installed
	$(INTEGRATIONS_BIN)/pytest tests/integrations tests/debug

# Work on a Ray of this machine, which is too large for every environment; Dask is among the tests.
test-engines: $(VENV)/.installed-engines
	$(BIN)/pytest tests/engines

benchmarks: $(VENV)/.installed-benchmarks
	sh tools/ensure_browser.sh
	$(BIN)/python -m benchmarks

# The newest versions that go together, on each Python and system. The former ones may not fit what has changed.
constraints: | $(BIN)/python
	$(BIN)/python -m pip install --quiet uv
	printf '%s\n' '-e ./core' '-e .[test]' | $(BIN)/uv pip compile --quiet --upgrade --universal --python-version 3.11 \
		--custom-compile-command 'make constraints' --no-annotate --no-emit-package stepscope --no-emit-package stepscope-core \
		--output-file tests/constraints.txt -

protos: $(VENV)/.installed-test
	$(BIN)/python -m tools.generate_protos

sample-logs: $(VENV)/.installed-test
	$(BIN)/python -m sample_logs.make

screenshots: $(VENV)/.installed-test
	sh tools/ensure_browser.sh
	$(BIN)/python -m docs.screenshots.make

# What other tools write, for the tests, in tests/peers/pack or in FOLDER: TensorFlow and others in environments of their own.
peer-pack: $(VENV)/.installed-test
	PATH="$(abspath $(BIN)):$$PATH" $(BIN)/python -m tools.peer_pack $(FOLDER)

# The documentation as a site, in site/.
site: $(VENV)/.installed-test
	$(BIN)/mkdocs build --strict

$(BIN)/python:
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "Stepscope needs Python 3.11 or newer; name one with make PYTHON=...")'
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade pip

$(VENV)/.installed: pyproject.toml core/pyproject.toml tests/constraints.txt | $(BIN)/python
	$(BIN)/python -m pip install --quiet $(PINNED) --editable core --editable '.[scikit-learn]'
	touch $@

$(VENV)/.installed-test: pyproject.toml core/pyproject.toml tests/constraints.txt | $(BIN)/python
	$(BIN)/python -m pip install --quiet $(PINNED) --editable core --editable '.[test]'
	touch $@ $(VENV)/.installed

$(VENV)/.installed-engines: pyproject.toml core/pyproject.toml tests/constraints.txt | $(BIN)/python
	$(BIN)/python -m pip install --quiet $(PINNED) --editable core --editable '.[test,ray]'
	touch $@ $(VENV)/.installed $(VENV)/.installed-test

$(VENV)/.installed-benchmarks: pyproject.toml core/pyproject.toml tests/constraints.txt | $(BIN)/python
	$(BIN)/python -m pip install --quiet $(PINNED) --editable core --editable '.[benchmarks]'
	touch $@ $(VENV)/.installed

$(INTEGRATIONS_VENV)/.installed: pyproject.toml core/pyproject.toml
	test -x $(INTEGRATIONS_BIN)/python || $(PYTHON) -m venv $(INTEGRATIONS_VENV)
	$(INTEGRATIONS_BIN)/python -m pip install --quiet --upgrade pip
	$(INTEGRATIONS_BIN)/python -m pip install --quiet --editable core --editable '.[integrations]'
	touch $@

clean:
	rm -rf $(VENV) $(INTEGRATIONS_VENV) site .pytest_cache .mypy_cache .ruff_cache .hypothesis
