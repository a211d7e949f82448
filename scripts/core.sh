#!/bin/sh
# The simulator by itself, for a browser and other people's programs: it must compile for WebAssembly, which has no file,
# thread, clock or allocator of ours. Installs the target with rustup; where it cannot be had the step is left out, and
# says so.

target=wasm32-unknown-unknown
if ! test -d "$(rustc --print target-libdir --target $target 2>/dev/null)" &&
    ! { command -v rustup && timeout 120 rustup --quiet target add $target; } >/dev/null 2>&1; then
    printf 'left out: the core for WebAssembly, because the Rust target %s cannot be had: rustup target add %s\n' \
        $target $target >&2
    exit 0
fi
exec cargo check --quiet --locked --target $target --package tailback-net
