#!/bin/sh
# Prints the Python to make the virtual environment with. Each prerequisite that is missing is named on stderr in one
# line with its remedy, and the status is then 1.
#
# PYTHON names one Python to use; without it the first of the usual names that is new enough and can make
# environments. A name is tried, not looked up: the shims of pyenv are there for versions that are not.

cd "$(dirname "$0")/.." || exit 1
missing=0

absent() {
    printf 'missing: %s\n' "$1" >&2
    missing=1
}

fit() {
    "$1" -c 'import sys, venv, ensurepip; sys.exit(sys.version_info < (3, 11))' >/dev/null 2>&1
}

found=
for candidate in ${PYTHON:-python3 python3.14 python3.13 python3.12 python3.11 python}; do
    if fit "$candidate"; then
        found=$candidate
        break
    fi
done
if [ -z "$found" ]; then
    absent "Python 3.11 or newer with venv and ensurepip (${PYTHON:-python3} is not one): install it (Debian, Ubuntu: apt-get install python3 python3-venv) or name it: make PYTHON=/path/to/python3"
fi

least=$(sed -n 's/^rust-version = "\([0-9.]*\)"/\1/p' Cargo.toml)
rust=$(cargo --version 2>/dev/null | sed -n 's/^cargo \([0-9]*\.[0-9]*\).*/\1/p')
if [ -z "$rust" ]; then
    absent "cargo (Rust $least or newer): install it from https://rustup.rs, then open a new shell"
elif [ "$(printf '%s\n%s\n' "$least" "$rust" | sort -t. -k1,1n -k2,2n | head -n 1)" != "$least" ]; then
    absent "Rust $least or newer (this is $rust): rustup update stable"
fi

if ! cc --version >/dev/null 2>&1; then
    absent "a C compiler called cc: install one (Debian, Ubuntu: apt-get install gcc; macOS: xcode-select --install)"
fi

[ "$missing" -eq 0 ] && printf '%s\n' "$found"
exit "$missing"
