#!/bin/sh
# component.sh NAME COMMAND...: runs COMMAND if the component NAME of the Rust toolchain is installed. If it is not,
# says so and how to install it; on a CI machine (CI=true) that is a failure, elsewhere the step is left out.

name=$1
shift
if cargo "$name" --version >/dev/null 2>&1; then
    exec "$@"
fi
printf 'missing: cargo %s: rustup component add %s\n' "$name" "$(printf '%s' "$name" | sed 's/^fmt$/rustfmt/')" >&2
[ "${CI:-}" != true ] && printf 'left out: %s\n' "$*" >&2
