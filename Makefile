# The few commands that a user or a developer needs. Cargo does the building; this adds what cargo does not know of.

.PHONY: demo install deb test fuzz soak bench bench-long bench-check bench-baseline bench-tools build build-all tools test-tools clean

FPGRIND := target/release/fpgrind
FPBENCH := target/release/fpbench

# Finds the expression behind the wrong digits of examples/plotter.c.
demo: build
	@mkdir -p target/demo
	gcc -O2 -g examples/plotter.c -o target/demo/plotter -lm
	cd target/demo && ../../$(FPGRIND) --out report ./plotter

test: test-tools build-all
	cargo fmt --all --check
	cargo clippy --workspace --all-targets -- -D warnings
	cargo test --workspace --no-fail-fast
	python3 -B scripts/bench_check.py $(FPGRIND) $(FPBENCH) --fast

# A million instructions in random sequences, natively and in every mode; about six minutes. A seed of the day, unless
# FPGRIND_FUZZ_SEED names one.
fuzz: test-tools
	FPGRIND_FUZZ_INSTRUCTIONS=$${FPGRIND_FUZZ_INSTRUCTIONS:-1000000} FPGRIND_FUZZ_SEED=$${FPGRIND_FUZZ_SEED:-$$(date +%Y%m%d)000} \
		cargo test --release --test fuzz_instructions -- --nocapture

# The long tests that `make test` leaves out: tens of minutes.
soak: test-tools build-all
	cargo test --test soak --test real_programs --test replay -- --ignored --test-threads 1
	PROPTEST_CASES=$${PROPTEST_CASES:-5000} cargo test --release -p fpgrind-analysis --test fuzz -- --test-threads 1

# What every mode costs, and what the peers do; about ten minutes.
bench: build
	python3 -B scripts/bench.py $(FPGRIND)

# An analysis of ten thousand million operations within 2 GiB: its peak memory, and what an operation costs; tens of minutes.
OPERATIONS ?= 1e10
bench-long: build
	python3 -B scripts/bench.py $(FPGRIND) --long $(OPERATIONS)

# Fails when fpgrind finds less or costs more than bench/baseline.json says; about three minutes.
bench-check: build-all
	python3 -B scripts/bench_check.py $(FPGRIND) $(FPBENCH)

# Makes today's figures the baseline.
bench-baseline: build-all
	python3 -B scripts/bench_check.py $(FPGRIND) $(FPBENCH) --rewrite

# What the benchmarks compare with, as far as Debian has it.
bench-tools:
	@scripts/install-bench-tools

# The program, man page, completions and fpgrind.h, below DESTDIR and PREFIX. FPGRIND is the program to install.
PREFIX ?= /usr/local
install: build
	@DESTDIR="$(DESTDIR)" PREFIX="$(PREFIX)" scripts/install $(FPGRIND)

# target/fpgrind_VERSION_amd64.deb
deb: build
	@scripts/make-deb $(FPGRIND) target

build: tools
	cargo build --release

# With the benchmarks' harness.
build-all: tools
	cargo build --release --workspace

# GMP's build needs m4, which a fresh machine lacks.
tools:
	@scripts/install-tools

# What the tests compile guests with, and the programs that they run.
test-tools:
	@scripts/install-tools test

clean:
	cargo clean
