# The commands of this project. `make sweep` and `make test` need python3 (3.11 or newer, with venv), make and g++.
PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin

.PHONY: help sweep test test-quick gpu-test fuzz lint format docs kernels-page tutorial lock clean

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "make %-12s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

sweep: $(VENV)/.installed ## sweep six reductions, on the GPU where there is one
	@PYTHON="$(BIN)/python" sh tools/install_cuda.sh
	$(BIN)/python -m runner experiment=tutorial_reductions

# Two processes for each core, because many tests wait for a browser or a process; each needs some 400 MB.
test: $(VENV)/.installed-dev ## run the tests, on all cores
	$(BIN)/python -m pytest -n $$(n=$$(($$(nproc) * 2)); echo $$((n < 8 ? n : 8))) --dist worksteal

# Small parts of most rooms, without a browser or nvcc.
QUICK = check check_folder computed kernel_yaml lanes layers metrics other_sizes parameter_kinds recipes rounding_bounds schema search strides t4

test-quick: $(VENV)/.installed-dev ## run a part of the tests, in a minute on two cores
	$(BIN)/python -m pytest -q -n $$(nproc) --dist worksteal -k "not page and not gpu" $(QUICK:%=tests/test_%.py)

gpu-test: $(VENV)/.installed-dev ## run the tests that need a GPU
	@PYTHON="$(BIN)/python" sh tools/install_cuda.sh
	$(BIN)/python -m pytest -m gpu

# Each command has a limit of its own, so a test may take long. Each round draws other inputs; the first one that breaks a property ends it. What it prints belongs into the corpus.
minutes ?= 60
fuzz: $(VENV)/.installed-dev ## look for malformed inputs that break it, for an hour or `make fuzz minutes=5`
	@end=$$(($$(date +%s) + 60 * $(minutes))); while [ $$(date +%s) -lt $$end ]; do \
	  FUZZ=long $(BIN)/python -m pytest -q -n $$(nproc) --dist worksteal --timeout 3600 tests/test_fuzz.py || exit 1; done

lint: $(VENV)/.installed-dev ## check style, types and the Dockerfile
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	MYPYPATH=tools $(BIN)/mypy --config-file tools/mypy.ini tools
	MYPYPATH=benchmarks $(BIN)/mypy --config-file tools/mypy.ini benchmarks/*.py
	$(BIN)/hadolint --ignore DL3008 Dockerfile

format: $(VENV)/.installed-dev ## format the code
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

kernels-page: $(VENV)/.installed-dev ## write docs/kernels.md, its families and pictures
	$(BIN)/python tools/kernels_page.py

docs: $(VENV)/.installed-docs build/gallery/.made ## build the site in build/site; `python3 -m http.server -d build/site` shows it
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --quiet

build/gallery/.made: tools/gallery.py | $(VENV)/.installed-docs
	$(BIN)/python tools/gallery.py
	@touch $@

tutorial: $(VENV)/.installed-dev ## run docs/first-kernel.md and docs/how-to/, and write the outputs
	$(BIN)/python tests/test_tutorial.py --write

lock: ## write constraints.txt: the newest versions that pyproject.toml allows
	$(PYTHON) tools/lock.py

clean: ## remove what was installed and built, but not outputs/
	rm -rf $(VENV) build dist *.egg-info .mypy_cache .ruff_cache .pytest_cache .hypothesis

$(BIN)/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { \
	  echo "Python 3.11 or newer is needed; $(PYTHON) is $$($(PYTHON) --version). Choose another: make PYTHON=python3.12"; exit 2; }
	@$(PYTHON) -m venv $(VENV) || { \
	  echo "The venv could not be created. On Debian and Ubuntu: apt-get install python3-venv"; rm -rf $(VENV); exit 2; }

$(VENV)/.installed: pyproject.toml constraints.txt | $(BIN)/python
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e .
	@touch $@

$(VENV)/.installed-dev: pyproject.toml constraints.txt | $(BIN)/python
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[dev]'
	@touch $@ $(VENV)/.installed

$(VENV)/.installed-docs: pyproject.toml constraints.txt | $(VENV)/.installed-dev
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[dev,docs]'
	@touch $@
