# make demo   the main job on embedded data
# make test   the whole test suite; make quick leaves out the tests that take seconds
# make numpy  the tests of ranking and evaluation without the compiled core; nox -s kernel_off runs the whole suite so
# make nocompiler an installation where no compiler is to be found
# make oldest all but the slow tests with the lowest versions of everything that it needs; more such sessions in noxfile.py
# make lint   ruff, mypy, the order of imports, and bandit
# make audit  known vulnerabilities in the packages that are installed
# make fuzz   every reader of files, ten minutes each, or FUZZ_SECONDS=60
# make coverage   the whole suite, and which lines and branches it leaves out
# make package    the wheel and the sdist, and the tests of the sdist in a folder of its own
# make mutants    which small changes of the code no test notices: a tenth of all mutants, or MUTANTS=1.0
# make notebooks, make docs   run the notebooks; build the documentation
# make calibration   how often the verdict is right where the truth is known, into benchmarks/CALIBRATION.md; two hours
# make bench  ratios against the libraries' own metrics and other packages, into benchmarks/RESULTS.md

PYTHON ?= python3
BIN := .venv/bin
FUZZ_SECONDS ?= 600
MUTANTS ?= 0.1
READERS := $(filter-out __init__ __main__ oracle,$(basename $(notdir $(wildcard fuzz/*.py))))
CORE := hatch_build.py $(wildcard src/gainsay/_kernel/*.cpp)
EVALUATION := $(addprefix tests/,_kernel ranking metrics evaluation oracles differential test_judgments.py)
# Tests start many processes. They find bytecode on disk, even where the environment says not to keep any, and threads of
# the libraries that wait leave the processors to others: two processes of tests wait for each other long otherwise.
RUN := OMP_NUM_THREADS=1 OMP_WAIT_POLICY=PASSIVE PYTHONDONTWRITEBYTECODE= $(BIN)/python
# Groups of packages for developers, which users need not see, are known to pip from 25.1 on.
INSTALL := $(BIN)/python -m pip install --quiet
INSTALL_GROUP := $(INSTALL) --upgrade 'pip>=25.1' && $(INSTALL) --editable '.[all,dask]' --group

.PHONY: demo test quick repeated numpy nocompiler oldest package lint audit fuzz coverage mutants notebooks docs bench calibration clean

demo: .venv/user
	$(BIN)/gainsay demo

test: .venv/developer
	$(RUN) -m pytest -n 2

quick: .venv/developer
	$(RUN) -m pytest -n 2 -m 'not slow and not repeated'

repeated: .venv/developer
	$(RUN) -m pytest -n 2 -m repeated

numpy: .venv/developer
	GAINSAY_KERNEL=0 $(RUN) -m pytest -n 2 -m 'not slow and not repeated' $(EVALUATION)

nocompiler: .venv/developer
	$(BIN)/nox --session no_compiler --error-on-missing-interpreters

package: .venv/developer
	$(BIN)/nox --session package --error-on-missing-interpreters

oldest: .venv/developer
	$(BIN)/nox --session oldest --error-on-missing-interpreters

lint: .venv/developer
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/bandit --quiet --recursive --configfile pyproject.toml src

audit: .venv/developer
	$(BIN)/pip-audit --local --skip-editable --progress-spinner off --timeout 10

fuzz: .venv/fuzz
	for reader in $(READERS); do \
		nice -n 19 $(BIN)/python -m fuzz $$reader .fuzz/$$reader \
			-max_total_time=$(FUZZ_SECONDS) -artifact_prefix=.fuzz/$$reader- || exit 1; \
	done

coverage: .venv/developer
	$(RUN) -m pytest -n 2 --cov --cov-report= --cov-fail-under=0
	GAINSAY_KERNEL=0 $(RUN) -m pytest -n 2 --cov --cov-append $(EVALUATION)

mutants: .venv/mutants
	mkdir -p .mutants
	$(BIN)/python tools/mutation make .mutants/mutants.json \
		src/gainsay/metrics src/gainsay/comparison src/gainsay/ranking src/gainsay/evaluation --share $(MUTANTS)
	rm -f .mutants/results*
	GAINSAY_KERNEL=0 $(BIN)/python tools/mutation try .mutants/mutants.json .mutants/results.jsonl --jobs 2
	$(BIN)/python tools/mutation report .mutants/results.jsonl

notebooks: .venv/developer
	$(RUN) -m pytest --nbmake notebooks

docs: .venv/docs
	OMP_NUM_THREADS=1 $(BIN)/sphinx-build -W --keep-going -b html docs docs/_build/html

calibration: .venv/developer
	$(RUN) benchmarks/calibration.py --repetitions 1000 --output benchmarks/CALIBRATION.md
	$(RUN) benchmarks/calibration_decisions.py --output benchmarks/CALIBRATION.md
	$(RUN) benchmarks/calibration_gains.py --output benchmarks/CALIBRATION.md
	$(RUN) benchmarks/real_runs.py --output benchmarks/CALIBRATION.md
	$(RUN) benchmarks/skewed_runs.py --output benchmarks/CALIBRATION.md

bench: .venv/developer
	$(BIN)/python benchmarks/run.py

.venv/bin/python:
	$(PYTHON) -m venv .venv

.venv/user: pyproject.toml $(CORE) | .venv/bin/python
	$(INSTALL) --editable '.[all]'
	touch $@

.venv/developer: pyproject.toml $(CORE) | .venv/bin/python
	$(INSTALL_GROUP) dev
	touch $@ .venv/user

.venv/fuzz: pyproject.toml | .venv/bin/python
	$(INSTALL_GROUP) fuzz
	touch $@

.venv/mutants: pyproject.toml | .venv/bin/python
	$(INSTALL_GROUP) mutants
	touch $@ .venv/developer .venv/user

.venv/docs: pyproject.toml | .venv/bin/python
	$(INSTALL_GROUP) docs
	touch $@

clean:
	rm -rf .venv .nox
