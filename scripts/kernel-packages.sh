#!/bin/sh
# kernel-packages.sh [VERSION]: what building a kernel needs on Debian and Ubuntu. As root it is installed; anyone else
# is told the command. What is there already is left alone.

version=${1:-6.12}
packages="linux-source-$version make gcc libc6-dev flex bison bc patch tar xz-utils binutils libelf-dev libssl-dev iproute2"

absent=
for package in $packages; do
    dpkg-query --show --showformat='${db:Status-Status}' "$package" 2>/dev/null | grep -qx installed ||
        absent="$absent $package"
done
[ -z "$absent" ] && exit 0

if [ "$(id -u)" -ne 0 ]; then
    printf 'missing:%s: sudo apt-get install --no-install-recommends%s\n' "$absent" "$absent" >&2
    exit 1
fi
# Unquoted: one word per package.
"$(dirname "$0")/apt-packages.sh" $absent
