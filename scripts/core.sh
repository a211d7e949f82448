#!/bin/sh
# The simulator by itself, for a browser and other people's programs: it must compile for WebAssembly, which has no file,
# thread, clock or allocator of ours. Installs the target with rustup. Without rustup the step is left out, but on a CI
# machine (CI=true) that is a failure.

target=wasm32-unknown-unknown
if ! rustc --print target-libdir --target $target 2>/dev/null | xargs -I{} test -d {}; then
    if ! command -v rustup >/dev/null 2>&1; then
        printf 'missing: the Rust target %s, or rustup, which installs it\n' $target >&2
        [ "${CI:-}" != true ] && printf 'left out: the core for WebAssembly\n' >&2
        exit
    fi
    "$(dirname "$0")/retried.sh" "installing the Rust target $target" rustup --quiet target add $target || exit
fi
exec cargo check --quiet --locked --target $target --package tailback-world
