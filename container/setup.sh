#!/bin/sh
# setup.sh FOLDER KERNELS: makes a Debian into the image of Tailback, as root: the wheel in FOLDER in an environment of
# its own, a user `tailback`, and the kernels whose versions KERNELS lists (each some minutes).
set -eu
folder=$1 kernels=$2
export DEBIAN_FRONTEND=noninteractive
apt-get --quiet=2 update
apt-get --quiet=2 install --yes --no-install-recommends python3 python3-venv iproute2 openssh-client tcpdump >/dev/null
python3 -m venv /opt/tailback
for wheel in "$folder"/*.whl; do
    /opt/tailback/bin/pip --disable-pip-version-check --no-cache-dir --quiet install "$wheel[plot]"
done
ln -s /opt/tailback/bin/tailback /usr/local/bin/tailback
useradd --create-home --shell /bin/sh tailback
mkdir -p /work
chown tailback /work

if [ -n "$kernels" ]; then
    apt-get --quiet=2 install --yes --no-install-recommends ca-certificates debian-archive-keyring gcc make libc6-dev \
        flex bison bc patch tar xz-utils binutils libelf-dev libssl-dev >/dev/null
    for version in $kernels; do
        su tailback -c "tailback kernel build --version $version"
    done
    # The trees make a second build faster, which an image never makes.
    rm -rf /home/tailback/.cache/tailback/trees /home/tailback/.cache/tailback/sources
fi
rm -rf /var/lib/apt/lists/*
