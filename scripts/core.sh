#!/bin/sh
# core.sh [STATUS]: the simulator by itself, for a browser and other people's programs: it must compile for WebAssembly,
# which has no file, thread, clock or allocator of ours. Prints the path of the module that pages carry (crates/browser).
# Installs the target with rustup; where it cannot be had the step is left out, says so, and ends with STATUS, or 0.

target=wasm32-unknown-unknown
if ! test -d "$(rustc --print target-libdir --target $target 2>/dev/null)" &&
    ! { command -v rustup && timeout 120 rustup --quiet target add $target; } >/dev/null 2>&1; then
    printf 'left out: the core for WebAssembly, because the Rust target %s cannot be had: rustup target add %s\n' \
        $target $target >&2
    exit "${1:-0}"
fi
cargo build --quiet --locked --profile page --target $target --package tailback-net --package tailback-browser || exit
printf '%s/%s/page/tailback_browser.wasm\n' "${CARGO_TARGET_DIR:-$PWD/target}" $target
