# Everything a contributor or a newcomer types. Nothing but Python 3.11+, make and a package index is needed.
PYTHON ?= python3
ifeq ($(PYTHON),python3)
VENV ?= .venv
else
VENV ?= .venv-$(notdir $(PYTHON))
endif
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed

# the tests start many processes, and none need compile again what another has compiled
unexport PYTHONDONTWRITEBYTECODE

.PHONY: help demo test test-peers test-peers-wrap test-peers-rotel test-peers-dashboards format lint types mypy pyright verifytypes gate check bench bench-peers clean

help: ## this list
	@sed -n 's/^\([a-z-]*\):[^#]*## \(.*\)/  make \1|\2/p' $(MAKEFILE_LIST) | awk -F'|' '{ printf "%-24s %s\n", $$1, $$2 }'

$(STAMP): pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit(0 if sys.version_info >= (3, 11) else "tramapy needs Python 3.11 or newer; this is %s. Try: make PYTHON=python3.12" % sys.version.split()[0])'
	@echo "Setting up $(VENV) with all that these commands need. It takes about a minute, and once only."
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --upgrade 'pip>=25.1'
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt --editable '.[all]' --group test --group lint --group bench
	@touch $(STAMP)

demo: $(STAMP) ## the main job, on a real prompt file: make demo PROMPT=file
	@$(BIN)/tramapy demo $(if $(PROMPT),"$(PROMPT)",)

test: $(STAMP) ## everything that CI runs
	@$(MAKE) --no-print-directory -j2 lint types gate
	@$(MAKE) --no-print-directory check

lint: $(STAMP)
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .

types: mypy pyright verifytypes

mypy: $(STAMP)
	$(BIN)/mypy

pyright: $(STAMP)
	$(BIN)/pyright --pythonpath $(BIN)/python

# one after the other and after pyright, which fetches what all of them run
verifytypes: pyright
	PATH="$(abspath $(BIN)):$$PATH" pyright --verifytypes tramapy --ignoreexternal
	PATH="$(abspath $(BIN)):$$PATH" pyright --verifytypes safety_gate --ignoreexternal

gate: $(STAMP) ## our own gate on our own sources
	$(BIN)/safety-gate check safety_gate tramapy

check: $(STAMP)
	$(BIN)/coverage erase
	$(BIN)/coverage run -m pytest --numprocesses auto --dist worksteal
	$(BIN)/coverage combine --quiet
	$(BIN)/coverage report --include='safety_gate/*' --fail-under=96
	$(BIN)/coverage report --include='tramapy/*' --fail-under=100

format: $(STAMP)
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

bench: $(STAMP) ## what it costs, beside peers, in one run
	$(BIN)/python -m benchmarks

bench-peers: ## the same against LiteLLM and against products that redact, in environments of their own
	$(PYTHON) -m venv .venv-peers
	.venv-peers/bin/python -m pip install --quiet --disable-pip-version-check 'litellm==1.110.2' tenacity trio 'anyio>=4.4'
	.venv-peers/bin/python -W ignore -m benchmarks.peers
	$(PYTHON) -m venv .venv-peers-dlp
	-.venv-peers-dlp/bin/python -m pip install --quiet --disable-pip-version-check google-re2 'presidio-analyzer==2.2.366'
	-.venv-peers-dlp/bin/python -m pip install --quiet --disable-pip-version-check 'langchain==1.5.2' 'scrubadub==2.0.1' 'detect-secrets==1.5.0'
	.venv-peers-dlp/bin/python -m pip install --quiet --disable-pip-version-check tenacity trio 'anyio>=4.4'
	.venv-peers-dlp/bin/python -W ignore -m benchmarks.dlp_peers
	$(PYTHON) -m venv .venv-peers-otel
	.venv-peers-otel/bin/python -m pip install --quiet --disable-pip-version-check 'opentelemetry-instrumentation-genai-openai==1.3b0' opentelemetry-sdk openai google-re2 tenacity
	.venv-peers-otel/bin/python -W ignore -m benchmarks.telemetry_peers genai-openai
	$(PYTHON) -m venv .venv-peers-openllmetry
	.venv-peers-openllmetry/bin/python -m pip install --quiet --disable-pip-version-check 'opentelemetry-instrumentation-openai==0.62.4' opentelemetry-sdk openai google-re2 tenacity
	.venv-peers-openllmetry/bin/python -W ignore -m benchmarks.telemetry_peers OpenLLMetry

test-peers: test-peers-wrap test-peers-rotel test-peers-dashboards ## against independent programs, in environments of their own

test-peers-rotel:
	$(PYTHON) -m venv .venv-peers-rotel
	.venv-peers-rotel/bin/python -m pip install --quiet --disable-pip-version-check 'rotel==0.0.1a15' opentelemetry-sdk opentelemetry-exporter-otlp-proto-http opentelemetry-exporter-otlp-proto-grpc 'anyio>=4.4'
	.venv-peers-rotel/bin/python -W ignore -m tests.peers.rotel_collector

test-peers-dashboards:
	$(PYTHON) -m venv .venv-peers-dashboards
	.venv-peers-dashboards/bin/python -m pip install --quiet --disable-pip-version-check 'grafana-foundation-sdk==1769699998!10.1.0' 'promql-parser==0.12.0' pyyaml
	.venv-peers-dashboards/bin/python -m tests.peers.dashboards

test-peers-wrap: $(STAMP) ## wrapped clients against aimock (npm), old SDKs and the vendors' own tests; PARTS="aimock sdks" for some of them
	$(BIN)/python -m tests.peers $(PARTS)

clean:
	rm -rf .venv .venv-* .mypy_cache .ruff_cache .safety-gate-cache .pytest_cache .coverage .coverage.*
