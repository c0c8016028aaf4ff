# A thin front: every target is one or two commands that can be run without make.
.PHONY: help setup tools build programs dist demo demo-net check-file check-suites check-id test tests bench conformance clients compat mutants rdma deploy-check slurm soak clean

help:  ## this text
	@sed -n 's/^\([a-z-]*\):.*## /  make \1	/p' Makefile

setup:  ## install Debian packages (as root, only when missing), make .venv with torch, build the Python package into it
	@tools/setup packages python torch package

tools:
	@tools/setup

build:  ## what a user runs: the plugin, railweave, net_perf, raw_tcp, in build/release; three minutes
	@tools/setup packages
	@tools/build release railweave_net railweave net_perf raw_tcp

programs: build  ## the programs of collective operations too: all_reduce_perf and its like
	@tools/build release perf/all

dist:  ## wheels, .deb, tarballs and sdist in build/dist, checked in clean systems (as root; installs packaging/packages.txt); STEPS="build sdist" makes some
	@tools/setup packages python torch
	@packaging/dist $(STEPS)

demo:  ## FSDP2 over Gloo and over railweave in the lab, with figures; eight minutes once built (the build: four more); QUICK=1: two
	@test -z "$(FILE)" || { echo "demo: FILE= is for make demo-net, which sends a file" >&2; exit 2; }
	@tools/setup packages python torch
	@tools/build torch railweave_torch railweave_net
	@tools/demo $(if $(filter-out 0,$(QUICK)),--quick)

demo-net: check-file tools  ## one transfer over two rails, with figures; FILE=... names the file
	@tools/build release railweave_net net_perf raw_tcp railweave
	@tools/demo_net $(if $(FILE),--file "$(FILE)")

check-file:  # before the build, which takes minutes
	@test -z "$(FILE)" || { test -f "$(FILE)" && test -s "$(FILE)"; } || { echo "demo-net: $(FILE): expected a file that is not empty" >&2; exit 1; }

check-suites:  # an unknown suite is reported before the build. Without Python, tests/run reports it later.
	@test -z "$(SUITES)" || ! command -v python3 >/dev/null || tests/run --list $(SUITES) >/dev/null

check-id:  # an unknown figure is reported before the build
	@test -z "$(ID)" || ! command -v python3 >/dev/null || tools/bench --list $(ID) >/dev/null

test: check-suites  ## every test; SUITES="unit tidy" runs some (tests/run --list)
	@tools/setup packages python torch
	@tests/run $(SUITES)

tests: test  # without this target, make finds the folder tests and does nothing

bench: check-id programs  ## measure the acceptance figures; ID=A1 runs one
	@tools/setup packages python torch
	@tools/build torch railweave_torch railweave_net
	@tools/bench $(ID)

conformance:  ## torch's own tests over the backend, beside Gloo's record; five minutes
	@tools/setup packages python torch
	@tools/build torch
	@tests/torch/conformance

clients:  ## Accelerate, Lightning, DeepSpeed, Ray Train and others over the backend, beside Gloo; writes tests/clients_result.txt
	@tools/setup packages python torch
	@tools/build torch railweave_torch
	@tests/clients/run --record tests/clients_result.txt

compat: tools  ## compile the torch backend against other torch versions; writes docs/guide/compat.md
	@.venv/bin/python tools/compat

mutants: tools  ## remove each cure of a known pitfall and see its test fail
	@tests/mutants/run

rdma: tools  ## RDMA in software, in VMs (as root): NCCL's proxy, many comms, faults; half an hour; writes tests/rdma_result.txt
	@tests/run --record tests/rdma_result.txt rdma

deploy-check: tools  ## validate the manifests of deploy/ under strict schemas, Kubernetes 1.33 to 1.37; writes tests/deploy_result.txt
	@tools/build release railweave
	@tests/deploy/run --record tests/deploy_result.txt

slurm:  ## fetch Debian's Slurm into build/slurm, and run the starters of deploy/ by it; later `make test` does so, too
	@tools/setup packages python torch
	@tests/torch/fetch_slurm
	@tools/build torch railweave_torch
	@ctest --test-dir build/torch -R '^torch_(starters|slurm)$$' --output-on-failure

soak: tools  ## an hour and a half at most: a virtual day, new seeds, twenty minutes of each fuzz target, more under sanitizers; writes tests/soak_result.txt
	@timeout --signal=INT 5400 tests/run --record tests/soak_result.txt day worlds deep clang-all asan-all asan-lab tsan-all tsan-lab

clean:  ## remove all that was built; .venv stays
	rm -rf build
