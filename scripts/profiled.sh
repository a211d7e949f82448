#!/bin/sh
# profiled.sh NAME COMMAND...: runs the command, which builds the extension, with the profile performance/profiles/NAME,
# by which the compiler optimises what runs often (docs/performance.md). A compiler finds functions in a profile only if
# it names them as the one does that the profile was collected with: another one, or one with flags of the user's, builds
# without it. Both give the same results.

profiles=$(cd "$(dirname "$0")/.." && pwd)/performance/profiles
profile=$profiles/$1.profdata
shift
if [ -z "${RUSTFLAGS-}${CARGO_ENCODED_RUSTFLAGS-}" ] && [ -f "$profile" ] &&
    [ "$(rustc -vV)" = "$(cat "$profiles/compiler.txt")" ]; then
    # Encoded, so that the path may have spaces. A function that has changed since is compiled as if it had no profile.
    # What runs often is copied from crate to crate up to the usual size, and the rest up to a tenth of it: the linking
    # of the profile `fast` takes three quarters of its time.
    CARGO_ENCODED_RUSTFLAGS=$(printf -- '-Cprofile-use=%s\037-Cllvm-args=%s' "$profile" \
        '-no-pgo-warn-mismatch -import-instr-limit=10 -import-hot-multiplier=100 -import-critical-multiplier=1000')
    export CARGO_ENCODED_RUSTFLAGS
fi
exec "$@"
