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
    CARGO_ENCODED_RUSTFLAGS=$(printf -- '-Cprofile-use=%s\037-Cllvm-args=-no-pgo-warn-mismatch' "$profile")
    export CARGO_ENCODED_RUSTFLAGS
fi
exec "$@"
