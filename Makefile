# The front door. `make help` lists the targets; JOBS and PRESET can be set: make test PRESET=debug JOBS=2
JOBS ?= $(shell nproc)
PRESET ?= release
BENCH ?=
# What `make bench-before` builds beside this tree.
COMMIT ?=
FAULT ?=
PROGRAM ?= *
PREFIX ?= /usr/local
FUZZ_RUNS ?= 1000000
# What `make compare` draws.
SEED ?= 1
# A file for the report of `make test`, in the form of JUnit.
JUNIT ?=

.DEFAULT_GOAL := help
.PHONY: help quickstart bootstrap build test install check bench bench-before bench-strategies bench-tables prove compare neighbours faults planted bare format asan tsan fuzz clang isa plugins nightly clean

help:  ## list the targets
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/  make \1#\2/p' Makefile | while IFS='#' read -r target text; do \
	  printf '%-23s %s\n' "$$target" "$$text"; done

quickstart: bootstrap build/release/build.ninja  ## install what is missing, build, train a first model
	@$(if $(MAKE_TERMOUT),:,[ -x build/release/espalier ] || echo "building the command: this takes minutes" >&2)
	cmake --build build/release -j $(JOBS) --target espalier_command $(if $(MAKE_TERMOUT),,-- --quiet)
	build/release/espalier quickstart $(if $(wildcard ../shared/data/mnist),--data ../shared/data/mnist)

bootstrap:  ## install the missing Debian packages (silent when none is)
	@scripts/bootstrap

build/%/build.ninja: CMakePresets.json
	cmake --preset $*

build: build/$(PRESET)/build.ninja  ## build PRESET (release, debug, asan, tsan)
	cmake --build build/$(PRESET) -j $(JOBS)

test:  ## install what tests use, build PRESET and run every test that is not Nightly
	@scripts/bootstrap tests
	@# Once more: what was installed since is found.
	@cmake --preset $(PRESET) > /dev/null
	@$(MAKE) --no-print-directory build PRESET=$(PRESET) JOBS=$(JOBS)
	ctest --preset $(PRESET) -j $(JOBS) -E Nightly $(if $(JUNIT),--output-junit "$(JUNIT)")

install: build/release/build.ninja  ## library, headers, command, for find_package and pkg-config: make install PREFIX=/usr/local
	cmake --build build/release -j $(JOBS) --target espalier espalier_command
	cmake --install build/release --prefix $(PREFIX)

check: build  ## before every commit: build, checks and all but the slow tests
	scripts/check-format
	scripts/check-rooms
	scripts/check-sizes
	scripts/check-words
	scripts/check-unity
	scripts/check-writes
	scripts/plant-faults tests/faults.txt --check
	scripts/check-support build/$(PRESET)
	ctest --preset $(PRESET) -j $(JOBS) -E "Slow|Nightly" --progress

bench: build/release/build.ninja  ## ours beside the installed peers', in one table: make bench BENCH="mlp cnn"
	cmake --build build/release -j $(JOBS) --target espalier_command bench_all
	@set -e; for b in $(filter-out %/bench_neighbours,$(wildcard build/release/bench_$(PROGRAM))); do \
	  echo "== $$b"; "$$b"; done
	scripts/bench-peers $(BENCH)

bench-before: build/release/build.ninja  ## an earlier commit's speeds beside this tree's: make bench-before COMMIT=HEAD~1
	scripts/bench-before $(COMMIT) $(BENCH) --jobs $(JOBS)

bench-strategies: build/release/build.ninja  ## many devices and workers beside Open MPI and PyTorch DDP
	cmake --build build/release -j $(JOBS) --target espalier_command bench_comm_all_reduce bench_strategies bench_wires
	scripts/bench-strategies $(BENCH)

bench-tables: build/release/build.ninja  ## statistics, evaluation, rows and pages beside the installed peers
	cmake --build build/release -j $(JOBS) --target espalier_command bench_all
	scripts/bench-tables $(BENCH)

neighbours: build/release/build.ninja  ## a training step beside busy programs: how much slower, how late
	cmake --build build/release -j $(JOBS) --target bench_neighbours
	build/release/bench_neighbours

format:  ## rewrite the tracked C++ files in the project's format
	scripts/check-format --fix

asan:  ## build and test with the address and undefined behaviour sanitizers
	@$(MAKE) --no-print-directory test PRESET=asan JOBS=$(JOBS)

# Rooms whose code runs on several threads. Left out are: slow tests, which measure size, memory and time, one of them
# (ShardWorkersSlow) with less memory for a rank than the sanitizer needs; those that measure a tenth of a second; and
# what runs on devices of a plugin, which is not built with the sanitizer: most of it is code that it does not see. And
# children that are forked by a process of several threads, which the sanitizer lets start none.
tsan_rooms := base comm data eager launch place runtime step strategy train
tsan_left_out := Slow|/SharedRanks\.AbortWakesWithinATenthOfASecond|/Waiting\.ASleeperGoesOn|OnDevice|/Pods\.|/OwnProcess\.AForked|/Forked\.AChildOf

tsan:  ## the rooms with threads and launched ranks with the thread sanitizer: every report is an error
	@scripts/bootstrap tests
	cmake --preset tsan
	cmake --build build/tsan -j $(JOBS) --target $(tsan_rooms:%=test_%) test_launched
	ctest --preset tsan -j $(JOBS) -L '^($(subst $(empty) ,|,$(tsan_rooms)))$$' -E '$(tsan_left_out)' --progress
	ctest --preset tsan -j $(JOBS) -L '^launched$$'

fuzz: build/asan/build.ninja  ## every fuzzer under the sanitizers: 20,000 graphs, 1,000,000 mutated inputs a parser
	cmake --build build/asan -j $(JOBS) --target fuzz_all
	build/asan/fuzz_graphs --runs 20000
	@set -e; for parser in $(filter-out graphs,$(basename $(notdir $(wildcard fuzz/*.cc)))); do \
	  echo "== fuzz_$$parser"; build/asan/fuzz_$$parser --runs $(FUZZ_RUNS); done

prove: build/release/build.ninja  ## detectors against planted faults and clean data, over many seeds
	cmake --build build/release -j $(JOBS) --target prove_all
	@scripts/prove

# Fits need Keras, and are left out by name where there is none: scripts/compare-fits ends with 3 then.
compare: build/release/build.ninja  ## drawn fits beside Keras', drawn pipelines killed and resumed, made tables: make compare SEED=2
	cmake --build build/release -j $(JOBS) --target espalier_command compare_all
	scripts/compare-pipelines --self-test --pipelines 20
	scripts/compare-pipelines --seed $(SEED)
	scripts/compare-tables --self-test --tables 20
	scripts/compare-tables --seed $(SEED)
	scripts/compare-fits --self-test || [ $$? -eq 3 ]
	scripts/compare-fits --seed $(SEED) || [ $$? -eq 3 ]

clang:  ## compile everything with the second compiler, clang++-14
	@scripts/bootstrap clang
	cmake --preset clang
	cmake --build build/clang -j $(JOBS) --target all bench_all fuzz_all prove_all compare_all

isa: build/release/build.ninja  ## the tests of the core under each lower instruction set
	cmake --build build/release -j $(JOBS)
	@set -e; for isa in portable avx2 avx512; do echo "== $$isa"; ESPALIER_ISA=$$isa ctest --preset release -j $(JOBS) -E "Slow|Nightly" --progress; done

plugins: build/release/build.ninja  ## ops and training steps by other plugins, and by the compilers of an H100 and a TPU v5e
	@scripts/bootstrap pjrt
	cmake --build build/release -j $(JOBS) --target test_ops test_pjrt test_tests
	scripts/check-plugins build/release

faults: build/release/build.ninja  ## what .ci/run tries once of a kind: ranks, hosts, links that break; other users (root)
	cmake --build build/release -j $(JOBS)
	ctest --preset release -R Nightly -j $(JOBS)
	scripts/check-others
	scripts/check-fake-device

planted: build/release/build.ninja  ## each fault of tests/faults.txt, planted in a copy, is found by a test: make planted FAULT=NAME for one
	scripts/plant-faults tests/faults.txt --jobs $(JOBS) $(if $(FAULT),--only $(FAULT))

bare:  ## README's two commands and .ci/run on a Debian that has nothing (root, debootstrap)
	scripts/check-bare

nightly: clang asan isa plugins neighbours faults planted tsan fuzz prove compare bare  ## what .ci/run has no time for

clean:  ## remove build/
	rm -rf build
