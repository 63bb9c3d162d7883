# What a newcomer types: make demo, make test. PYTHON chooses the interpreter, VENV where the packages go.
PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
SHELL := /bin/bash
# Ansible refuses to start where the encoding is not UTF-8.
ifneq ($(filter C POSIX,$(LC_ALL)),)
export LC_ALL := C.UTF-8
endif

# What many processes load is compiled once.
unexport PYTHONDONTWRITEBYTECODE

# Every target with a plain name; those with a path are files.
.PHONY: $(shell sed -nE 's/^([a-z-]+):.*/\1/p' $(firstword $(MAKEFILE_LIST)))
.DEFAULT_GOAL := help

help: ## this list
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 16

demo: $(VENV)/run ## train a tiny model on two nodes of this machine, and write a report
	$(BIN)/ansible-playbook playbooks/megatron_multinode.yml -i inventories/local/hosts

demo-isolate: $(VENV)/run ## name the slow one of eight nodes of this machine
	@$(BIN)/ansible-playbook playbooks/isolate.yml -i examples/isolate/hosts || \
	  { status=$$?; echo "Exit status $$status, as a node is suspected."; test $$status = 2; }

TIERS := $(BIN)/python tools/tiers.py

test: machine $(VENV)/dev lint ## run the linters and the tests, less the slow ones; TESTS=tests/unit/plan runs a part
	@$(TIERS) test $(if $(TESTS),-- $(TESTS))

test-all: machine $(VENV)/docs lint docs ## the same with the slow tests, and build the site
	@$(TIERS) all

machine: ## install the programs that the tests need (Debian and Ubuntu, as root or with passwordless sudo)
	@$(PYTHON) tools/machine.py

mutations: $(VENV)/dev ## judge good logs with every change that could let a bad run pass, and plan every wrong value (some minutes)
	@TRAINOPS_ALL_MUTATIONS=1 $(TIERS) mutations -- tests/unit/mutations tests/unit/plan/test_make_plan.py

test-fresh: machine ## run make demo and make test in a bare Debian with Python, git and make (as root)
	$(PYTHON) tools/fresh.py $(TESTS)

test-fresh-user: machine ## the same as a user there who may install nothing
	$(PYTHON) tools/fresh.py --user $(TESTS)

LINT := lint-python lint-imports lint-yaml lint-prose lint-generated lint-ansible

lint: $(VENV)/dev ## check style, prose, types, and that generated files are up to date
	@$(MAKE) --jobs --output-sync=target $(LINT)

lint-python: $(VENV)/dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy collections/ansible_collections/trainops/cluster/plugins

lint-imports: $(VENV)/dev
	cd collections && $(abspath $(BIN))/lint-imports ../pyproject.toml

lint-yaml: $(VENV)/dev
	$(BIN)/yamllint --strict .
	$(BIN)/antsibull-changelog lint

lint-prose: $(VENV)/dev
	$(BIN)/python tools/prose.py

lint-generated: $(VENV)/dev
	$(BIN)/python tools/write_docs.py --check

lint-ansible: $(VENV)/dev
	$(BIN)/python tools/lint_ansible.py

matrix: $(VENV)/dev ## run sanity tests, unit tests and the demo on every supported ansible-core and Python
	$(BIN)/python tools/support_matrix.py

matrix-part: $(VENV)/dev ## the same on the oldest ansible-core and this Python, and the sanity tests of the newest ansible-core
	$(BIN)/python tools/support_matrix.py --part

artifact: $(VENV)/dev ## build the artifact for Galaxy and check it with Galaxy's own importer
	$(BIN)/nox --session galaxy

release: $(VENV)/dev ## make a release from the changelog fragments: make release VERSION=1.2.0
	PATH=$(abspath $(BIN)):$$PATH $(BIN)/python tools/release.py $(VERSION)
	$(MAKE) artifact

hooks: $(VENV)/dev ## check every commit with the linters (pre-commit)
	$(BIN)/pre-commit install

generated: $(VENV)/dev ## write the generated files: schemas, training config pages, options and AWX surveys
	$(BIN)/python tools/write_docs.py

docs: generated pictures $(VENV)/docs ## build the site, docs/_build/html/index.html
	PATH=$(abspath $(BIN)):$$PATH $(BIN)/python tools/build_site.py

pictures: $(VENV)/run ## retake the pictures of reports in docs/ if the page has changed (needs chromium)
	$(BIN)/python tools/pictures.py

pandas-page: $(VENV)/dev ## run the Python of docs/howto_pandas.md, and write its output and plots into docs/
	$(BIN)/python tools/pandas_page.py

execution-environment: $(VENV)/dev ## write the build context of the AWX job image to .execution-environment
	rm -f trainops-cluster-*.tar.gz
	$(BIN)/ansible-galaxy collection build --force
	$(BIN)/ansible-builder create --context .execution-environment --output-filename Containerfile

$(VENV)/run: requirements.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	  { echo "Python 3.11 or newer is required, but $$($(PYTHON) --version) was found. Try for example: make PYTHON=python3.12 $(MAKECMDGOALS)"; exit 1; }
	$(PYTHON) -m venv $(VENV)
	$(BIN)/pip install --quiet --disable-pip-version-check --requirement requirements.txt
	@touch $@

$(VENV)/dev: $(VENV)/run requirements-dev.txt
	$(BIN)/pip install --quiet --disable-pip-version-check --requirement requirements-dev.txt
	@touch $@

$(VENV)/docs: $(VENV)/dev requirements-docs.txt
	$(BIN)/pip install --quiet --disable-pip-version-check --requirement requirements-docs.txt
	@touch $@

CLUSTER := tests/integration/cluster/cluster.py

cluster: ## bring up four real nodes on this machine (as root, Debian or Ubuntu); the inventory is .cluster/hosts
	$(PYTHON) $(CLUSTER) up --nodes 4 --install

cluster-down: ## remove these nodes without a trace
	$(PYTHON) $(CLUSTER) down

test-cluster: $(VENV)/dev ## train on real nodes over SSH, in containers
	@$(TIERS) cluster

test-slurm: $(VENV)/dev ## train under a real Slurm on this machine and end its jobs in every way (as root, Debian or Ubuntu)
	@$(TIERS) slurm

FAULTS ?= faults.md
FAULT_TESTS := $(addprefix tests/end_to_end/test_, $(addsuffix .py, at_once faults_in_mid_run full_disk interrupts preflight)) \
  tests/unit/node/test_hostile_user.py $(addprefix tests/integration/test_training_in_containers.py::test_a_, \
    container_whose_memory_runs_out_is_named_so_whatever_its_engine_says \
    docker_daemon_that_is_stopped_is_named_and_not_the_network)

test-faults: $(VENV)/dev ## kill, hang, cut off and fill up parts of a run, and write the table of messages to FAULTS
	rows=$$(mktemp) && trap 'rm -f '$$rows EXIT && TRAINOPS_FAULTS=$$rows $(TIERS) faults -- $(FAULT_TESTS) && \
	  $(BIN)/python tests/fault_table.py $$rows >$(FAULTS)
	@cat $(FAULTS)

STEPS ?= 5000
RUNS ?= 100

soak: $(VENV)/run ## do a long run and many runs in a row on 8 nodes of this machine: memory, descriptors, sockets, processes
	$(BIN)/python benchmarks/soak.py --steps $(STEPS) --runs $(RUNS)

NODES ?= 4,64

bench: $(VENV)/dev ## time what somebody waits for, beside the last release and bare ssh, and write docs/speed.md (ten minutes; NODES=16: launches only)
	$(BIN)/python benchmarks/launch.py --rounds 2 --nodes $(NODES)
ifneq ($(origin NODES),command line)
	$(BIN)/python benchmarks/launch.py --rounds 1 --nodes 4 --arms trainops,release --steps 600 --name follow
	$(BIN)/python benchmarks/scale.py --rounds 2
	$(BIN)/python tools/write_docs.py
endif

bench-parts: $(VENV)/run ## time the parts: following thousands of nodes and Slurm jobs, reading a log, a long history
	$(BIN)/python benchmarks/simulate.py
	$(BIN)/python benchmarks/slurm.py
	$(BIN)/python benchmarks/parser.py
	$(BIN)/python benchmarks/history.py

# A Python of this version from PATH, or from pyenv, whose shims on PATH fail for versions that are not active.
python_of = $(or $(lastword $(wildcard $(or $(PYENV_ROOT),$(HOME)/.pyenv)/versions/$(1).*/bin/python$(1))),python$(1))
need_python = @$(1) --version >/dev/null 2>&1 || { echo "$(1) is required for $@. Install it, or set $(2) to another Python."; exit 1; }

MEGATRON := .venv-megatron
MEGATRON_TRAINER_PYTHON ?= $(call python_of,3.11)

test-megatron: $(VENV)/dev $(MEGATRON)/ready ## train with Megatron Core from PyPI on CPUs (Python 3.11, 1 GB)
	@MEGATRON_PYTHON=$(abspath $(MEGATRON)/bin/python) $(TIERS) megatron -- tests/end_to_end/test_real_megatron.py

$(MEGATRON)/ready: requirements-megatron.txt
	$(call need_python,$(MEGATRON_TRAINER_PYTHON),MEGATRON_TRAINER_PYTHON)
	$(MEGATRON_TRAINER_PYTHON) -m venv $(MEGATRON)
	$(MEGATRON)/bin/pip install --quiet --disable-pip-version-check --requirement requirements-megatron.txt
	@touch $@

TORCHTITAN := .venv-torchtitan

test-torchtitan: $(VENV)/dev $(TORCHTITAN)/ready ## train with TorchTitan 0.2.2 from PyPI on CPUs (Python 3.11, 1.5 GB)
	@TORCHTITAN_PYTHON=$(abspath $(TORCHTITAN)/bin/python) $(TIERS) torchtitan -- tests/end_to_end/test_real_torchtitan.py

$(TORCHTITAN)/ready: requirements-torchtitan.txt
	$(call need_python,$(MEGATRON_TRAINER_PYTHON),MEGATRON_TRAINER_PYTHON)
	$(MEGATRON_TRAINER_PYTHON) -m venv $(TORCHTITAN)
	$(TORCHTITAN)/bin/pip install --quiet --disable-pip-version-check --requirement requirements-torchtitan.txt
	$(TORCHTITAN)/bin/pip install --quiet --disable-pip-version-check --no-deps torchtitan==0.2.2
	@touch $@

MAXTEXT := .venv-maxtext
XPK := .venv-xpk
TRAINER_PYTHON ?= $(call python_of,3.12)

# What can be missing comes first.
test-trainers: $(MAXTEXT)/ready $(XPK)/ready test-megatron ## the same, plus MaxText and XPK from PyPI (Python 3.12, 1.5 GB more)
	@MAXTEXT_PYTHON=$(abspath $(MAXTEXT)/bin/python) XPK=$(abspath $(XPK)/bin/xpk) \
	  $(TIERS) trainers -- tests/end_to_end/test_real_maxtext.py tests/end_to_end/test_maxtext_gke.py

$(XPK)/ready: requirements-xpk.txt
	$(call need_python,$(TRAINER_PYTHON),TRAINER_PYTHON)
	$(TRAINER_PYTHON) -m venv $(XPK)
	$(XPK)/bin/pip install --quiet --disable-pip-version-check --requirement requirements-xpk.txt
	@touch $@

$(MAXTEXT)/ready: requirements-maxtext.txt
	$(call need_python,$(TRAINER_PYTHON),TRAINER_PYTHON)
	$(TRAINER_PYTHON) -m venv $(MAXTEXT)
	$(MAXTEXT)/bin/pip install --quiet --disable-pip-version-check uv
	$(MAXTEXT)/bin/uv pip install --quiet --python $(MAXTEXT)/bin/python --requirement requirements-maxtext.txt
	@touch $@

clean: ## remove the installed environments, the built site and the runs
	rm -rf $(VENV) .nox docs/_build runs
