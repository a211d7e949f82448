#!/bin/sh
# test-packages.sh: installs the Debian packages that only tests need, where they are missing. For CI machines and
# containers; a developer's machine leaves out the tests that need them, and says so.
#
# chromium    shows reports (tests/python/validation/test_report.py, tests/python/report)
# flent       opens what `tailback export --flent` writes (tests/python/formats/test_flent.py)
# tshark      opens the captures of a run (tests/python/formats/test_captures.py)
# groff-base  reads the manual pages (tests/python/docs/test_man.py)
# valgrind    counts instructions (tests/python/performance)
# dpkg-dev, gnupg
#             make a small archive of packages (tests/python/backends/uml/test_debian.py)
# openssh-server, iproute2, ethtool, iputils-ping, tcpdump, iperf3, procps
#             are the testbed of namespaces (scripts/testbed-lab.sh, tests/python/backends/ssh)
# nginx-light, curl, nghttp2-client, dnsmasq-base, dnsperf, mptcpize
#             run inside guests (tests/python/backends/uml/test_program_jobs.py)
# clang, bpftool, libbpf-dev
#             give the kernel congestion controls in BPF (tests/python/backends/test_bpf.py)

missing=
has() { command -v "$1" >/dev/null 2>&1; }
has chromium || has chromium-browser || has google-chrome || missing="$missing chromium"
has flent && has python3 && python3 -c 'import matplotlib' 2>/dev/null || missing="$missing flent python3-matplotlib"
has tshark && has capinfos || missing="$missing tshark"
has groff || missing="$missing groff-base"
has valgrind || missing="$missing valgrind"
has dpkg-scanpackages || missing="$missing dpkg-dev"
has gpg || missing="$missing gnupg"
PATH=$PATH:/usr/sbin:/sbin
has sshd || missing="$missing openssh-server"
has ssh || missing="$missing openssh-client"
has ip && has tc && has ss || missing="$missing iproute2"
has ping || missing="$missing iputils-ping"
has sysctl || missing="$missing procps"
for program in ethtool tcpdump iperf3 curl dnsperf; do has "$program" || missing="$missing $program"; done
has nginx || missing="$missing nginx-light"
has mptcpize || missing="$missing mptcpize"
has h2load || missing="$missing nghttp2-client"
has dnsmasq || missing="$missing dnsmasq-base"
for program in clang bpftool; do has "$program" || missing="$missing $program"; done
[ -f /usr/include/bpf/bpf_helpers.h ] || missing="$missing libbpf-dev"
[ -z "$missing" ] && exit 0

if ! has apt-get || [ "$(id -u)" -ne 0 ]; then
    printf 'missing:%s: install them (Debian: as root, apt-get install%s)\n' "$missing" "$missing" >&2
    exit 1
fi
# Unquoted: one word per package.
"$(dirname "$0")/apt-packages.sh" $missing
