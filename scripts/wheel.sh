#!/usr/bin/env bash
# Builds the wheel of this machine and the source archive into dist/. On Linux, zig links against the glibc of
# manylinux2014, so that the wheel runs on every distribution since 2014. Usage: wheel.sh FOLDER-WITH-MATURIN
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
export PATH="$1:$PATH"
rm -rf dist
linux=()
if [ "$(uname -s)" = Linux ]; then
    linux=(--zig --compatibility manylinux2014)
fi
maturin build --release --locked --strip --out dist "${linux[@]}"
maturin sdist --out dist
ls -l dist
