# A thin front: every target is one or two commands that can be run without make.
.PHONY: help setup build demo the_file test bench mutants soak clean

help:  ## this text
	@sed -n 's/^\([a-z]*\):.*## /  make \1	/p' Makefile

setup:  ## install Debian packages (as root, only when missing) and make .venv
	@tools/setup

build:  ## build the release preset into build/release
	@tools/setup packages
	@tools/build release

demo: the_file setup  ## one transfer over two rails, with figures; FILE=... names the file
	@tools/build release railweave_net net_perf raw_tcp railweave-info
	@perf/demo $(if $(FILE),--file "$(FILE)")

the_file:  # told of before the build, which takes minutes
	@test -z "$(FILE)" || test -s "$(FILE)" || { echo "demo: $(FILE): expected a file that is not empty" >&2; exit 1; }

test: setup  ## every test; SUITES="unit tidy" runs some (tests/run --list)
	@tests/run $(SUITES)

bench: setup build  ## measure the acceptance figures; ID=A1 runs one
	@perf/bench $(ID)

mutants: setup  ## remove each cure of a known pitfall and see its test fail
	@tests/mutants/run

soak: setup  ## a quarter of an hour of new seeds and fuzzing; writes tests/soak_result.txt
	@tests/run --record tests/soak_result.txt worlds fuzz

clean:  ## remove all that was built
	rm -rf build
