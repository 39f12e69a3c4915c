# Two commands: `make sweep` sets up and runs the main job, `make test` sets up and passes all tests.
# `make verify` compares the convolution engine with the golden model in every setting, for half an hour.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
OUT ?= out
JOBS ?= 2

.PHONY: sweep test verify lint setup setup-test system clean

sweep: setup
	$(BIN)/dse sweep -n alexnet -d zcu102 -b 4 --force -o $(OUT)
	$(BIN)/dse sweep -n cnn_1x -d zcu102 -m channel -m hybrid -b 4 --precision int8 --force -o $(OUT)/int8 --emit
	@echo "report: $(abspath $(OUT))/report.html"
	@echo "RTL:    $(abspath $(OUT))/int8/rtl/cnn_1x-zcu102-4"

test: system lint
	$(BIN)/python -m pytest -n $(JOBS) --dist loadgroup

verify: setup-test
	$(BIN)/python -m tests.rtl.engine_matrix --jobs $(JOBS)
	$(BIN)/python -m tests.rtl.engine_utilisation

lint: setup-test
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

system:
	@bash .ci/system

setup: $(VENV)/.installed
setup-test: $(VENV)/.installed-test

$(VENV)/bin/python:
	$(PYTHON) -m venv $(VENV)

$(VENV)/.installed: pyproject.toml | $(VENV)/bin/python
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable .
	touch $@

$(VENV)/.installed-test: pyproject.toml | $(VENV)/bin/python
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[test,rtl]'
	touch $(VENV)/.installed $@

clean:
	rm -rf $(VENV) $(OUT) build dist *.egg-info
