#!/usr/bin/env bash
# Builds the source archive and the wheel of this machine, or those of TARGETs, into dist/. On Linux, zig links against
# the glibc of manylinux2014, so that the wheel runs on every distribution since 2014, or against musl, for Alpine.
# Usage: wheel.sh FOLDER-WITH-MATURIN [TARGET ...], such as x86_64-unknown-linux-musl aarch64-unknown-linux-gnu
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
export PATH="$1:$PATH"
shift
rm -rf dist
# For the pages of the lab, which simulate by themselves; without it the wheel has none, and cargo says so.
! command -v rustup >/dev/null ||
    scripts/retried.sh "installing the Rust target of pages" rustup --quiet target add wasm32-unknown-unknown || true
built() { maturin build --release --locked --strip --out dist "$@"; }
if [ $# -gt 0 ]; then
    scripts/retried.sh "installing the Rust targets" rustup --quiet target add "$@"
    for target; do
        case $target in
        *-linux-musl) built --zig --compatibility musllinux_1_2 --target "$target" ;;
        *-linux-gnu) built --zig --compatibility manylinux2014 --target "$target" ;;
        *) built --target "$target" ;;
        esac
    done
elif [ "$(uname -s)" = Linux ]; then
    built --zig --compatibility manylinux2014
else
    built
fi
maturin sdist --out dist
ls -l dist
