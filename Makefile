# make demo   the main job on embedded data
# make test   the whole test suite
# make lint   ruff and mypy
# make notebooks, make docs   run the notebooks; build the documentation
# make bench  ratios against the libraries' own metrics and other packages, into benchmarks/RESULTS.md

PYTHON ?= python3
BIN := .venv/bin
RUN := OMP_NUM_THREADS=1 $(BIN)/python

.PHONY: demo test lint notebooks docs bench clean

demo: .venv/user
	$(BIN)/gainsay demo

test: .venv/developer
	$(RUN) -m pytest -n 2

lint: .venv/developer
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

notebooks: .venv/developer
	$(RUN) -m pytest --nbmake notebooks

docs: .venv/docs
	OMP_NUM_THREADS=1 $(BIN)/sphinx-build -W --keep-going -b html docs docs/_build/html

bench: .venv/developer
	$(BIN)/python benchmarks/run.py

.venv/bin/python:
	$(PYTHON) -m venv .venv

.venv/user: pyproject.toml | .venv/bin/python
	$(BIN)/python -m pip install --quiet --editable '.[all]'
	touch $@

.venv/developer: pyproject.toml | .venv/bin/python
	$(BIN)/python -m pip install --quiet --editable '.[test]'
	touch $@ .venv/user

.venv/docs: pyproject.toml | .venv/bin/python
	$(BIN)/python -m pip install --quiet --editable '.[docs]'
	touch $@

clean:
	rm -rf .venv
