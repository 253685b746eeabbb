# The entry points of the project; `make help` lists them. Scripts do the work, so that each can be read alone.

SHELL := /bin/bash
.DEFAULT_GOAL := help

BINARY = $(or $(CARGO_TARGET_DIR),target)/release/ciphermill

# make demo DEMO_ARGS=…      arguments for `ciphermill demo`
DEMO_ARGS ?=
# make test ISA_PASSES=…     instruction-set paths under which all tests run once more: portable avx2 avx512
export ISA_PASSES ?=
# make soak SOAK_MINUTES=…   minutes of the soak
export SOAK_MINUTES ?= 30
# make fuzz FUZZ_SECONDS=…   seconds per fuzz target; FUZZ_TARGETS=… takes some of them only; SANITIZER=address
export FUZZ_SECONDS ?= 60
export FUZZ_TARGETS ?=
export SANITIZER ?=
# make hw-quick HW_UNITS=…    configurations of hw/units.toml: quick, all, or a list of units and unit/configuration
export HW_UNITS ?= quick
# make hw UNIT=…, make hw-waves UNIT=…   units or unit/configuration, separated by commas; `make hw` without it takes all
export UNIT ?=
# make bench CASES=…         families of cases: ntt,fft,pbs,ks,keygen,table,hmvp,modexp,paillier; python, federated or ray alone;
#                            BENCH_ARGS=--quick to try it
export CASES ?=
export BENCH_ARGS ?=
# make hls HLS_ARGS=…        --known redraws from the points that are mapped already
export HLS_ARGS ?=
# make fresh FRESH_COMMANDS=…  commands to prove, separated by semicolons
export FRESH_COMMANDS ?= make demo; make test
# make fresh FRESH_USERS=…     root, builder (a plain user), or both
export FRESH_USERS ?= root builder

.PHONY: help demo test python wheel docs arch hls hw-quick hw hw-waves hw-mutations hw-coverage bench evidence soak fuzz miri mutants sbom fresh setup fmt clean

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-12s %s\n", $$1, $$2 }' $(firstword $(MAKEFILE_LIST))

demo: ## build the release binary and run `ciphermill demo` (DEMO_ARGS=…)
	@scripts/setup.sh build
	cargo build --release --locked -p ciphermill
	$(BINARY) demo $(DEMO_ARGS)

test: ## everything that must hold: format, lints, licences, tests, documentation
	@scripts/test.sh

python: ## build the Python package and install it into .venv
	@scripts/python.sh install

wheel: ## write a wheel into target/wheels and prove it in bare environments of Python 3.11 to 3.13
	@scripts/python.sh wheel

docs: ## build the documentation site in target/site/html; warnings are errors
	@scripts/docs.sh build

bench: ## compare with peers, write bench/results.json (CASES=ntt,fft,pbs,ks,keygen,table,hmvp,modexp,paillier, python, federated or ray)
	@scripts/bench.sh

evidence: ## run an area's full counts, write evidence/<area>.json (AREA=…)
	@scripts/evidence.sh $(AREA)

soak: ## soak a served device under load, attacks, kills and backups; write evidence/soak.json (SOAK_MINUTES=30)
	@scripts/evidence.sh soak

arch: ## run the architecture models, write docs/arch, its page's figures and pictures
	@scripts/arch.sh

hls: ## compile and map the choices of a transform from C; write hw/reports/hls.json, docs/hls, the pages' tables
	@scripts/hls.sh

hw-quick: ## lint the RTL, run short proofs, test the hardware units in co-simulation (HW_UNITS=…)
	@scripts/hw.sh

hw: ## lint, simulate, prove, synthesise, place and route; writes hw/reports/summary.json (UNIT=…)
	@scripts/hw-full.sh

hw-waves: ## write waveforms of a unit into target/waves, its picture into docs/hw/pictures (UNIT=…)
	@scripts/hw-waves.sh

hw-mutations: ## put faults into the RTL, one at a time, and see each caught; write hw/reports/mutations.json
	@scripts/setup.sh hw-cocotb
	. scripts/hw-lock.sh && .tools/hw/bin/python hw/flow/mutate.py

hw-coverage: ## count lines and toggles that the tests of the RTL reach; write hw/reports/coverage.json
	@scripts/setup.sh hw
	. scripts/hw-lock.sh && .tools/hw/bin/python hw/flow/coverage.py

fuzz: ## run the fuzz targets (FUZZ_SECONDS=60 each, FUZZ_TARGETS=…, SANITIZER=address)
	@scripts/fuzz.sh

miri: ## run tests of unsafe code outside of SIMD under Miri (needs a nightly toolchain with miri)
	@scripts/miri.sh

mutants: ## make small faults in the code, one at a time; a test must find each (AREAS="store nvme …", all by default)
	@scripts/setup.sh mutants
	.venv/bin/python scripts/mutants.py $(AREAS)

sbom: ## list the packages of the binary in target/sbom, in the format CycloneDX, and validate the list
	@scripts/setup.sh sbom
	.tools/sbom/bin/python scripts/sbom.py

fresh: ## prove the README in a bare Debian 12, as root and as a plain user (needs root)
	@scripts/fresh.sh

setup: ## install what `make test` needs
	@scripts/setup.sh test

fmt: ## format the sources
	cargo fmt --all

clean: ## remove what was built and the installed tools
	cargo clean
	rm -rf .tools .venv
