# `make demo` and `make test` are all that a newcomer needs; see README.md.

CARGO ?= cargo
# Programs that the tests drive for real.
NEEDED := git tmux bwrap

# The oldest Rust that builds ralph.
MSRV = $(shell sed -n 's/^rust-version = "\(.*\)"/\1/p' Cargo.toml)

.PHONY: all demo test lint deny msrv docs fmt check-tools e2e cheats bench faults fuzz pictures install build clean

all: lint test build

build:
	$(CARGO) build --release --locked

demo:
	$(CARGO) run --quiet --release --locked -p ralph -- demo

test: check-tools lint
	$(CARGO) test --workspace --locked --no-fail-fast

lint:
	$(CARGO) fmt --all --check
	$(CARGO) clippy --workspace --all-targets --locked -- -D warnings
	@CARGO="$(CARGO)" sh scripts/deny lint

# All of cargo-deny, with the advisories, whose database it fetches.
deny:
	@CARGO="$(CARGO)" sh scripts/deny all

# Whether everything still builds with the oldest supported Rust.
msrv:
	rustup toolchain install $(MSRV) --profile minimal
	$(CARGO) +$(MSRV) check --workspace --all-targets --locked --target-dir target/msrv

docs:
	RUSTDOCFLAGS="-D warnings -A rustdoc::private_intra_doc_links" $(CARGO) doc --workspace --no-deps --document-private-items --locked

fmt:
	$(CARGO) fmt --all

# Installs what the tests need where that is possible, else says what is missing.
check-tools:
	@sh scripts/install-tools $(NEEDED)
	@sh scripts/pytest

# Whole loops of the real Claude Code and Codex, against a scripted model on loopback.
e2e:
	@CARGO="$(CARGO)" sh scripts/e2e

# Every dishonest agent, also with the defence off, where it must be believed; `make test` does that with a quarter.
cheats: check-tools
	RALPH_ALL_CASES=1 $(CARGO) test --locked -p ralph --test cheats

# Ratios against the floor, side by side in one run: docs/performance.md.
bench:
	$(CARGO) bench --locked -p ralph --bench bench

# Kills everything at random moments and resumes; FAULTS=n for the number of faults,
# SEED=n to repeat a round.
faults:
	$(CARGO) build --release --locked -p ralph
	RALPH_FAULTS=$${FAULTS:-300} RALPH_FAULT_SEED=$${SEED:-} \
	  $(CARGO) test --release --locked -p ralph --test faults -- --nocapture

# Any bytes as any dialect's output, for SECONDS=n; TARGET=test_report for that of test runners, TARGET=guard for
# commands that the guard judges: docs/fuzzing.md.
SECONDS ?= 1200
TARGET ?= dialects
fuzz:
	@CARGO="$(CARGO)" sh scripts/fuzz $(SECONDS) $(TARGET)

# The pictures of the README, from a real run and a real screen.
pictures: build
	@sh scripts/install-tools git tmux python3
	python3 scripts/pictures

install:
	$(CARGO) install --locked --path crates/ralph

clean:
	$(CARGO) clean
