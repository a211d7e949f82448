#!/usr/bin/env bash
# test.sh MIRROR [KERNELS]: whether container/setup.sh makes a Debian into the image: on a root file system of its own, made
# by mmdebstrap from this mirror of Debian, where no image can be pulled. As root.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
wheels=(dist/*.whl)
[ -e "${wheels[0]}" ] || { echo "dist/ has no wheel: run \`make wheel\` first" >&2; exit 1; }
root=$(mktemp -d)
trap 'umount --quiet "$root/proc" || true; rm -rf --one-file-system "$root"' EXIT
mmdebstrap --quiet --variant=minbase bookworm "$root" "$1"
mkdir "$root/tmp/tailback"
cp container/setup.sh "${wheels[@]}" "$root/tmp/tailback/"
cp /etc/resolv.conf "$root/etc/"
# The certificates of this machine, which those of Debian do not replace there.
authorities=${PIP_CERT:-/etc/ssl/certs/ca-certificates.crt}
[ ! -e "$authorities" ] || cp "$authorities" "$root/etc/authorities-of-the-host.crt"
mount --types proc proc "$root/proc"
chroot "$root" env --unset=PIP_FIND_LINKS \
    {PIP_CERT,REQUESTS_CA_BUNDLE,CURL_CA_BUNDLE,SSL_CERT_FILE}=/etc/authorities-of-the-host.crt /tmp/tailback/setup.sh /tmp/tailback "${2:-}"
as_user() { chroot "$root" su tailback -c "cd /work && $1"; }
as_user "tailback --version --verbose"
as_user "tailback run demo && tailback plot results/demo"
[ -z "${2:-}" ] || as_user "tailback run demo --backend uml --set cc=cubic --set qdisc=fq_codel --set tsq=1ms --repeat 1"
echo "the image has $(du -sm --one-file-system "$root" | cut -f1) MB"
