# The few commands that a user or a developer needs. Cargo does the building; this adds what cargo does not know of.

.PHONY: demo test bench bench-check bench-baseline bench-tools build build-all tools clean

FPGRIND := target/release/fpgrind
FPBENCH := target/release/fpbench

# Finds the expression behind the wrong digits of examples/plotter.c.
demo: build
	@mkdir -p target/demo
	gcc -O2 -g examples/plotter.c -o target/demo/plotter -lm
	cd target/demo && ../../$(FPGRIND) --out report ./plotter

test: build-all
	cargo fmt --all --check
	cargo clippy --workspace --all-targets -- -D warnings
	cargo test --workspace
	python3 -B scripts/bench_check.py $(FPGRIND) $(FPBENCH) --fast

# What every mode costs, and what the peers do; about six minutes.
bench: build
	python3 -B scripts/bench.py $(FPGRIND)

# Fails when fpgrind finds less or costs more than bench/baseline.json says; about three minutes.
bench-check: build-all
	python3 -B scripts/bench_check.py $(FPGRIND) $(FPBENCH)

# Makes today's figures the baseline.
bench-baseline: build-all
	python3 -B scripts/bench_check.py $(FPGRIND) $(FPBENCH) --rewrite

# What the benchmarks compare with, as far as Debian has it.
bench-tools:
	@scripts/install-bench-tools

build: tools
	cargo build --release

# With the benchmarks' harness.
build-all: tools
	cargo build --release --workspace

# GMP's build needs m4, which a fresh machine lacks.
tools:
	@scripts/install-tools

clean:
	cargo clean
