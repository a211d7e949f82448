#!/bin/sh
# apt-packages.sh PACKAGE...: installs Debian packages as root, again and again if the network fails or if another apt
# holds a lock, such as the one that updates the machine in the background.

export DEBIAN_FRONTEND=noninteractive
# The list of packages is read anew each time, because it may name files that the archive has replaced. Whether all of it
# could be had does not matter: installing does.
install='
    apt-get --quiet=2 --option Acquire::Retries=3 update
    exec apt-get --quiet=2 --option DPkg::Lock::Timeout=600 --option Acquire::Retries=3 \
        install --yes --no-install-recommends "$@" >/dev/null'
exec "$(dirname "$0")/retried.sh" "installing $*" sh -c "$install" sh "$@"
