# Two commands on a fresh machine: `make demo` and `make test`. Both set up what they need in .venv.
.PHONY: demo test check faults soak bench setup setup-demo setup-test setup-check lock contracts clean help
PYTHON ?= python3
MINUTES ?= 10
WORKERS ?= 3
VENV := .venv
BIN := $(VENV)/bin
export PIP_DISABLE_PIP_VERSION_CHECK = 1

help: ## what each command does
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | awk -F ':.*## ' '{printf "  make %-12s %s\n", $$1, $$2}'

demo: setup-demo ## the whole main job on the embedded default, in one go
	$(BIN)/afterturn demo

test: setup-test ## the tests (real Kafka where Docker or Java is there, else the embedded broker)
	$(BIN)/pytest -n $(WORKERS) --dist loadgroup $(ARGS)

check: setup-check ## formatting, lint, types
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/pyright

faults: setup-test ## every fault, and every promise after it (ARGS="--faults=zombie --fault-seed=7": one, again)
	AFTERTURN_FAULTS=all $(BIN)/pytest -n $(WORKERS) --dist loadgroup tests/faults $(ARGS)

soak: setup-test ## turns and random faults for MINUTES, then every check; a picture and a line of figures
	PYTHONPATH=tests $(BIN)/python -m faults.soak --minutes $(MINUTES) $(ARGS)

bench: setup-test ## the measured ratios (prints a table, keeps JSON under bench/results)
	PYTHONPATH=tests $(BIN)/python -m bench $(ARGS)

contracts: setup-demo ## write docs/contracts anew from the models
	$(BIN)/python -m afterturn.schemas.documents docs/contracts

lock: ## lock the dependencies anew (needs uv)
	requirements/lock.sh

setup-demo: $(VENV)/.demo
setup-test: $(VENV)/.test
setup-check: $(VENV)/.check

$(VENV)/.venv:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "Afterturn needs Python 3.11 or later; set PYTHON=python3.12, say" >&2; exit 1; }
	@$(PYTHON) -c 'import ensurepip' 2>/dev/null || { echo "This Python cannot make virtual environments; on Debian: apt install python3-venv" >&2; exit 1; }
	$(PYTHON) -m venv $(VENV)
	@touch $@

$(VENV)/.%: requirements/%.txt pyproject.toml | $(VENV)/.venv
	$(BIN)/pip install --quiet --require-hashes -r requirements/$*.txt
	$(BIN)/pip install --quiet --no-deps --no-build-isolation -e .
	@touch $@

clean: ## remove what was built and installed here
	rm -rf $(VENV) build dist *.egg-info .mypy_cache .ruff_cache .pytest_cache .cache
