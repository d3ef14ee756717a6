# The few commands that a user or a developer needs. Cargo does the building; this adds what cargo does not know of.

.PHONY: demo test bench build tools clean

FPGRIND := target/release/fpgrind

# Finds the expression behind the wrong digits of examples/plotter.c.
demo: build
	@mkdir -p target/demo
	gcc -O2 -g examples/plotter.c -o target/demo/plotter -lm
	cd target/demo && ../../$(FPGRIND) --out report ./plotter

test: tools
	cargo fmt --all --check
	cargo clippy --workspace --all-targets -- -D warnings
	cargo test --workspace

bench: build
	python3 scripts/bench.py $(FPGRIND)

build: tools
	cargo build --release

# GMP's build needs m4, which a fresh machine lacks.
tools:
	@scripts/install-tools

clean:
	cargo clean
