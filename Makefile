# Two commands for a fresh machine: `make demo` and `make test`. `make check` is what a change must pass.

BIN := .venv/bin

.PHONY: help setup demo test check bench interop fuzz clean

help:
	@echo "make demo    compare mixed with sequential delivery of a real page; leaves a report in runs/"
	@echo "make test    all tests"
	@echo "make check   format, lint, types, import layers, tests"
	@echo "make bench   benchmarks"
	@echo "make interop other people's HTTP/3 clients against the server; writes docs/interop.md"
	@echo "make fuzz    hostile clients against the server, for ten minutes"
	@echo "make clean   remove what was built and installed here; results in runs/ stay"

setup:
	@scripts/setup

demo: setup
	$(BIN)/mixedsched compare agency --schemes sequential,mixed --link 4g --blocks 8

test: setup
	cd lighthouse-runner && npm test --silent
	$(BIN)/python -m pytest -q

check: setup
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	@$(MAKE) test

bench: setup
	$(BIN)/python -m benchmarks

interop: setup
	$(BIN)/python -m tests.interop --write docs/interop.md

fuzz: setup
	$(BIN)/python -m tests.fuzz --minutes 10

clean:
	rm -rf .venv lighthouse-runner/node_modules sites/node_modules build mixedsched.egg-info
	rm -rf .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
