# make demo       a comparison of models on simulated data
# make test       all tests except nightly ones. make quick also excludes slow tests
# make lint       ruff, mypy, the layers of imports, the size of functions, import cycles, bandit, and zizmor for the workflows
# make oldest     tests of metrics, evaluation and adapters with the lowest versions of all libraries, without the compiled core
# make nocompiler an installation without a compiler
# make nightly    all sessions of noxfile.py, notebooks, documentation, fuzzing, mutation testing, vulnerabilities
# make numpy      the tests of ranking and evaluation without the compiled core
# make audit      known vulnerabilities of the installed packages
# make fuzz       all readers of files, ten minutes each. Or FUZZ_SECONDS=60
# make trials     random metrics, trainings, numbers and damaged experiments, ten minutes each
# make coverage   the lines and branches that tests do not cover
# make package    the wheel and the sdist, and the tests of the unpacked sdist
# make mutants    mutation testing with a tenth of all mutants. Or MUTANTS=1.0
# make notebooks  run the notebooks
# make docs       run all blocks of the documentation, and build it
# make calibration  error rates on simulated populations: research/calibration/CALIBRATION.md and CLAIMS.md, many hours
# make studies    studies of real data, if DATA has them (see CONTRIBUTING.md). Stores features and values in CACHE
# make bench      times compared with built-in metrics and other packages: research/benchmarks/RESULTS.md

PYTHON ?= python3
BIN := .venv/bin
FUZZ_SECONDS ?= 600
MUTANTS ?= 0.1
DATA ?= $(or $(GAINWISE_SHARED_DATA),../shared/data)
CACHE ?= ../gainwise-studies
TRIALS := metrics trainings experiments identify
READERS := $(filter-out __init__ __main__ oracle trials $(TRIALS),$(basename $(notdir $(wildcard tests/fuzz/*.py))))
CORE := hatch_build.py $(wildcard src/gainwise/_kernel/*.cpp)
RUN := OMP_NUM_THREADS=1 OMP_WAIT_POLICY=PASSIVE $(BIN)/python
EVALUATION := $(wildcard $(addprefix tests/,_kernel ranking metrics evaluation oracles differential test_judgments.py))
ADAPTERS := $(wildcard $(addprefix tests/,training adapters contracts lightgbm xgboost catboost sklearn dask))
# Worksteal gives neighboring tests to each process, so fewer fixtures are made twice.
TEST := $(BIN)/python -m pytest -n 2 --dist worksteal
NOX := $(BIN)/nox --error-on-missing-interpreters --session
# pip supports dependency groups from version 25.1.
# Without --no-compile, most of the time is spent on compiling modules that are never imported.
INSTALL := $(BIN)/python -m pip install --quiet --no-compile
INSTALL_GROUP := $(INSTALL) --upgrade 'pip>=25.1' && $(INSTALL) --editable '.[all,dask]' --group

.PHONY: demo test quick nightly sessions numpy nocompiler oldest package lint audit fuzz trials coverage mutants notebooks docs bench calibration studies clean

demo: .venv/user
	$(BIN)/gainwise demo

test: .venv/developer
	$(TEST)

quick: .venv/developer
	$(TEST) -m 'not slow and not nightly'

nightly: sessions notebooks docs audit mutants
	$(MAKE) fuzz FUZZ_SECONDS=60
	$(MAKE) trials
	$(MAKE) studies STUDIES=--calibration

sessions: .venv/developer
	$(BIN)/nox

numpy: .venv/developer
	GAINWISE_KERNEL=0 $(TEST) -m 'not slow and not nightly' $(EVALUATION)

nocompiler: .venv/developer
	$(NOX) no_compiler

package: .venv/developer
	$(NOX) package

oldest: .venv/developer
	GAINWISE_KERNEL=0 $(NOX) oldest -- --dist worksteal -m 'not slow and not nightly' $(EVALUATION) $(ADAPTERS)

lint: .venv/developer
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/python tools/structure.py
	$(BIN)/bandit --quiet --recursive --configfile pyproject.toml src
	$(BIN)/zizmor --quiet --offline .github

audit: .venv/developer
	$(BIN)/python -m pip freeze --exclude-editable | \
		$(BIN)/pip-audit --strict --no-deps --disable-pip --requirement /dev/stdin --progress-spinner off --timeout 10

fuzz: .venv/fuzz
	for reader in $(READERS); do \
		nice -n 19 $(BIN)/python -m tests.fuzz $$reader .fuzz/$$reader \
			-max_total_time=$(FUZZ_SECONDS) -artifact_prefix=.fuzz/$$reader- || exit 1; \
	done

trials: .venv/developer
	for trial in $(TRIALS); do \
		OMP_NUM_THREADS=1 nice -n 19 $(BIN)/python -m tests.fuzz.$$trial --seconds $(FUZZ_SECONDS) || exit 1; \
	done

coverage: .venv/developer
	$(TEST) --cov --cov-report= --cov-fail-under=0
	GAINWISE_KERNEL=0 $(TEST) --cov --cov-append $(EVALUATION)

mutants: .venv/mutants
	mkdir -p .mutants
	$(BIN)/python tools/mutation make .mutants/mutants.json \
		src/gainwise/metrics src/gainwise/comparison src/gainwise/ranking src/gainwise/evaluation --share $(MUTANTS)
	rm -f .mutants/results*
	GAINWISE_KERNEL=0 $(BIN)/python tools/mutation try .mutants/mutants.json .mutants/results.jsonl --jobs 2
	$(BIN)/python tools/mutation report .mutants/results.jsonl

notebooks: .venv/developer
	$(RUN) -m pytest -n 2 --nbmake notebooks

docs: .venv/developer .venv/docs
	$(TEST) -m 'nightly or not nightly' tests/test_docs_blocks.py
	$(RUN) -m sphinx -W --keep-going -b html docs docs/_build/html

calibration: .venv/developer
	$(RUN) research/calibration/calibration.py --repetitions 1000 --output research/calibration/CALIBRATION.md
	$(RUN) research/calibration/calibration_decisions.py --output research/calibration/CALIBRATION.md
	$(RUN) research/calibration/calibration_gains.py --output research/calibration/CALIBRATION.md
	$(RUN) research/calibration/calibration_trainings.py --output research/calibration/CALIBRATION.md
	$(RUN) research/calibration/calibration_skewness.py --output research/calibration/CALIBRATION.md
	$(RUN) research/calibration/claims_bounds.py
	$(RUN) research/calibration/claims_gate.py
	$(RUN) research/calibration/claims_guards.py
	$(RUN) research/calibration/claims_inference.py
	$(RUN) research/calibration/claims_evidence.py
	$(RUN) research/calibration/claims.py

studies: .venv/developer
	$(RUN) research/studies/repeat.py --data $(DATA) --cache $(CACHE) $(STUDIES)

bench: .venv/developer
	$(BIN)/python research/benchmarks/run.py

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
