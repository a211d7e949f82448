#!/bin/sh
# linted.sh COMMAND...: runs COMMAND, which builds our crates, with clippy as their compiler: it builds what the compiler
# does, and a lint is an error. To lint and to build apart would compile all that they stand on twice. Without clippy they
# are built without lints and that is said; on a CI machine (CI=true) it is a failure.

scripts/component.sh clippy true || exit
driver=$(rustc --print sysroot)/bin/clippy-driver
if [ -x "$driver" ]; then
    # What cargo-clippy tells its driver.
    export RUSTC_WORKSPACE_WRAPPER="$driver" CLIPPY_ARGS=--deny__CLIPPY_HACKERY__warnings__CLIPPY_HACKERY__
fi
exec "$@"
