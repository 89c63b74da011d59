# Two commands for a fresh machine: `make demo` and `make test`. `make quick` answers while you work; a change must pass `make check`.

BIN := .venv/bin
# One more worker than processors: a test that waits for a browser or a server leaves its processor to another.
PARALLEL := -n $(shell expr $$(nproc) + 1) --dist loadgroup --no-loadscope-reorder

# Files whose tests go by the clock: no other needs to be read for these few. tests/conftest.py sees that none is missed.
ALONE = $(shell grep -rlE --include='test_*.py' '"real_time"|real_time:' tests | sort)

# The programs that the tests start, hundreds of them, would compile themselves each time.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: help setup wheel lab demo test lint quick short together runner check bench sites networks studies tuned docs interop fuzz clean

help:
	@echo "make setup   Chromium, Python and Node packages; whatever needs them does this first"
	@echo "make demo    compare mixed with sequential delivery of a real page; leaves a report in runs/"
	@echo "make lint    format, lint, types, import layers"
	@echo "make quick   format, lint, types, import layers, and all tests that are short and need no browser, no real clock and no privilege"
	@echo "make test    all tests, and the slowest 20"
	@echo "make check   format, lint, types, import layers, all tests"
	@echo "make wheel   dist/*.whl, to be installed with pipx, uv or pip where there is no checkout"
	@echo "make bench   the short benchmarks; each of benchmarks/ is a command: python -m benchmarks.NAME --help"
	@echo "make sites   fetches and builds all bundled sites, about 100 MB to download"
	@echo "make lab     setup, and what the kernel's links, the router VM and tests of shipped files need: iproute2, QEMU, web servers, gtlsclient, Firefox"
	@echo "make networks  measures all emulated networks against what they should do; takes an hour, writes docs/networks.md"
	@echo "make studies goes on with the papers' studies, many hours; what is there is drawn by the draw.py of each in results/"
	@echo "make tuned   tunes all bundled sites over two networks; hours, goes on where it stopped, writes results/tuned/"
	@echo "make docs    the documentation as a site, in build/docs/; links are checked"
	@echo "make interop other people's HTTP/3 clients against the server; writes docs/interop.md"
	@echo "make fuzz    hostile clients against the server, for ten minutes"
	@echo "make clean   remove what was built and installed here; results in runs/ stay"

setup:
	@scripts/setup

demo: setup
	$(BIN)/mixedsched compare agency --schemes sequential,mixed --link 4g --blocks 8

# The runner's tests mostly wait, for browsers that hang. Tests that go by the clock have the machine to themselves, after all others.
test: setup
	@$(MAKE) --no-print-directory -j2 runner together
	$(BIN)/python -m pytest -q --durations=20 -m alone $(ALONE)

together:
	$(BIN)/python -m pytest -q $(PARALLEL) --durations=20 -m "not alone"

lint: setup
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports

check: lint
	@$(MAKE) test

# Side by side: the runner's tests wait most of the time, for browsers that hang, and lint is a program after the other.
quick: setup
	@$(MAKE) --no-print-directory --output-sync=line -j3 lint runner short

short:
	$(BIN)/python -m pytest -q $(PARALLEL) --hypothesis-profile=brief \
		-m "not (alone or browser or namespaces or slow)"

runner:
	cd lighthouse-runner && npm test --silent

wheel: setup
	$(BIN)/hatchling build --target wheel

lab:
	@scripts/setup --lab

sites: setup
	$(BIN)/mixedsched sites $(patsubst sites/%/site.toml,%,$(wildcard sites/*/site.toml sites/*/*/site.toml)) >/dev/null

networks: lab
	$(BIN)/python -m benchmarks.networks --again --rounds 1
	$(BIN)/python -m benchmarks.backends

# One after the other, and each by itself: loads in a browser want the machine. Whatever is committed is not played again.
studies: sites
	$(BIN)/python results/gupta2024/play.py
	$(BIN)/python results/sander2022/play.py
	$(BIN)/python -m benchmarks.vgprio
	$(BIN)/python results/gupta2024/play.py chromium --studies browser-slow-4g,browser,work,simulate
	$(BIN)/python results/sander2022/play.py chromium
	$(BIN)/python results/sander2022/play.py generated
	$(BIN)/python results/gupta2024/play.py chromium
	$(BIN)/python results/gupta2024/draw.py
	$(BIN)/python results/sander2022/draw.py

tuned: sites
	$(BIN)/python -m benchmarks.tuned

bench: setup
	$(BIN)/python -m benchmarks

# Links that lead nowhere are errors.
docs: setup
	$(BIN)/sphinx-build -q -W --keep-going -c docs -b html . build/docs
	@echo "documentation: build/docs/docs/index.html"

interop: setup
	$(BIN)/python -m tests.interop --write docs/interop.md

fuzz: setup
	$(BIN)/python -m tests.fuzz --minutes 10

clean:
	rm -rf .venv lighthouse-runner/node_modules sites/node_modules sites/debian_packages build dist mixedsched.egg-info
	rm -f docs/reference/commands.md
	rm -rf .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
