# The front door. Each target does first what it needs; `make` alone lists them. The build itself is CMake's
# (CMakeLists.txt, CMakePresets.json): nothing here that `cmake --preset` could not do.
MAKEFLAGS += --no-print-directory
.SUFFIXES:
.PHONY: help setup build model demo test verify bench bench-propagate cases page explain asan tsan fuzz nightly docs install tidy coverage clean

JOBS      ?= $(shell nproc 2>/dev/null || echo 2)
FUZZ_TIME ?= 60
PREFIX    ?= /usr/local
MODEL     := build/models/SmolLM2-135M-Instruct.Q4_1.gguf
PROMPT    ?= What is the capital of France?

# $(call configured,PRESET) configures once, and again after a change of the presets; $(call built,PRESET) builds.
folder      = build$(if $(filter-out release,$(1)),/$(1))
configured  = test $(folder)/build.ninja -nt CMakePresets.json || cmake --preset $(1)
built       = @$(configured) && cmake --build $(folder) -j $(JOBS)
ctest       = ctest --test-dir $(folder) --output-on-failure -j 2

help:                   ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-15s %s\n", $$1, $$2 }' Makefile

setup:                  ## install what building and testing need (apt-get, where it may)
	@tools/setup build
	@tools/setup --optional mpi

build: setup            ## build/meshwise, build/libmeshwise.{a,so}, build/examples/*
	$(call built,release)

model: setup            ## fetch SmolLM2-135M-Instruct into build/models (96 MB, once)
	@tools/fetch-model build/models

demo: build model       ## answer a question on 2 ranks and show what moved, and why
	build/meshwise run $(MODEL) --mesh tp=2 --chat "$(PROMPT)" --stats

test: build             ## build, and run all tests
	@$(call ctest,release)

verify: build model     ## all tests, those of the real model among them
	@$(call ctest,release)

bench: build model      ## measure, against bounds measured in the same run
	build/meshwise bench dispatch
	build/meshwise bench decode --model $(MODEL)
	@for bench in build/bench/bench_*; do echo "== $$bench"; $$bench || exit 1; done

bench-propagate: build  ## bytes that 200 random programs move, against the fewest possible
	build/bench/bench_propagate

cases: build            ## texts to explain: what is right, missing and wrong in each
	@build/cases tests/cases/*.case

page: build             ## explain's page in Chromium: its script, hostile text, pictures into build/page
	@tests/page/run build/meshwise build/page

explain: setup          ## build/meshwise-explain: explain, diff, show and plan in one static file
	@$(call configured,release) && cmake --build build -j $(JOBS) --target meshwise_explain

asan: setup             ## the tests under address and undefined-behaviour sanitizers
	$(call built,asan)
	@$(call ctest,asan)

tsan: setup             ## the tests under the thread sanitizer
	$(call built,tsan)
	@$(call ctest,tsan)

fuzz: setup             ## each fuzzer for FUZZ_TIME=60 seconds, from its corpus
	@tools/setup fuzz
	$(call built,fuzz)
	@tools/run-fuzzers build/fuzz $(FUZZ_TIME)

nightly: verify asan tsan tidy coverage  ## everything, slowly: sanitizers, lint, coverage, fuzzers for 10 minutes each
	@$(MAKE) fuzz FUZZ_TIME=600

docs: setup             ## write what is made from tables: include/meshwise/ops.h, docs/ops.md, man/meshwise.1
	@$(call configured,release) && cmake --build build -j $(JOBS) --target gen_ops
	@tools/gen-docs build/gen_ops

install: build          ## install to PREFIX=/usr/local (DESTDIR is honoured)
	@cmake --install build --prefix $(PREFIX)

tidy: setup             ## clang-format and clang-tidy
	@tools/setup tidy
	@tools/check-format
	@$(call configured,release)
	@tools/tidy build $(JOBS)

coverage: setup         ## the tests, counting lines; what they never reach
	$(call built,coverage)
	@$(call ctest,coverage) && tools/coverage build/coverage

clean:                  ## remove what was built (the fetched model stays)
	@find build -mindepth 1 -maxdepth 1 ! -name models -exec rm -rf {} + 2>/dev/null || true
