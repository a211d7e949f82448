#!/bin/sh
# testbed-lab.sh up DIR [PREFIX]    builds a testbed on this machine, to try `--backend ssh` without one; as root
# testbed-lab.sh down DIR [PREFIX]  takes it away
#
# Six hosts and a router, each a network namespace with an sshd of its own on a management network (eth0):
#
#     h1 h2 h3 ── lan1 ── router ── lan2 ── h4 h5 h6        10.1.1.0/24 and 10.1.2.0/24, eth1 (and eth2 of the router)
#
# DIR gets the keys, known_hosts, the logs, and testbed.yaml, which names all of them. The management network is a bridge
# of this machine, PREFIXm, 198.18.N.0/24 with N from PREFIX; nothing else of the machine is touched, and nothing leaves it.

set -eu

usage() { sed -n '2,3s/^# //p' "$0" >&2; exit 2; }
[ $# -ge 2 ] || usage
what=$1
prefix=${3:-tblab}
[ "$(id -u)" -eq 0 ] || { echo "testbed-lab.sh: namespaces and sshd need root: sudo $0 $*" >&2; exit 1; }
mkdir -p "$2"
folder=$(cd "$2" && pwd)
bridge=${prefix}m
# By its whole name: it starts itself anew for each connection.
daemon=$(PATH=$PATH:/usr/sbin:/sbin command -v sshd) || { echo "missing: sshd: apt-get install openssh-server" >&2; exit 1; }
# Each host has a processor of its own when it wants one: whatever else this machine does comes after, if it may be told.
# They take turns: iperf3 does not wait, and would keep the only processor of a small machine for ever.
first=
command -v chrt >/dev/null && chrt --rr 1 true 2>/dev/null && first="chrt --rr 1"
octet=$(($(printf %s "$prefix" | cksum | cut -d ' ' -f 1) % 250))
management=198.18.$octet
hosts="h1 h2 h3 router h4 h5 h6"

down() {
    for host in $hosts lan1 lan2; do
        for process in $(ip netns pids "$prefix-$host" 2>/dev/null); do kill -KILL "$process" 2>/dev/null || true; done
        ip netns del "$prefix-$host" 2>/dev/null || true
    done
    # Those that lead into a namespace go with it, a little later.
    for number in 1 2 3 4 5 6 9; do ip link del "$bridge$number" 2>/dev/null || true; done
    ip link del "$bridge" 2>/dev/null || true
}

# host NAME NUMBER LAN ADDRESS [LAN ADDRESS]: a namespace, its devices, its sshd.
host() {
    name=$1 number=$2 space=$prefix-$1
    shift 2
    ip netns add "$space"
    ip -n "$space" link set lo up
    ip link add name "$bridge$number" type veth peer name eth0 netns "$space"
    ip link set "$bridge$number" master "$bridge" up
    ip -n "$space" address add "$management.$number/24" dev eth0
    ip -n "$space" link set eth0 up
    device=1
    while [ $# -gt 0 ]; do
        ip -n "$prefix-$1" link add name "$name" type veth peer name "eth$device" netns "$space"
        ip -n "$prefix-$1" link set "$name" master bridge up
        ip -n "$space" address add "$2" dev "eth$device"
        ip -n "$space" link set "eth$device" up
        device=$((device + 1))
        shift 2
    done
    log_in "$name" "$number"
}

log_in() {
    ssh-keygen -q -t ed25519 -N '' -C "$1" -f "$folder/host_$1"
    printf '%s %s\n' "$management.$2" "$(cut -d ' ' -f 1,2 "$folder/host_$1.pub")" >>"$folder/known_hosts"
    cat >"$folder/sshd_$1" <<END
ListenAddress $management.$2
HostKey $folder/host_$1
PidFile $folder/sshd_$1.pid
AuthorizedKeysFile $folder/key.pub
StrictModes no
PermitRootLogin prohibit-password
PasswordAuthentication no
KbdInteractiveAuthentication no
UsePAM no
UseDNS no
MaxStartups 100
END
    # From OpenSSH 9.8 on, an address whose connections end badly, as those of tests do, is refused for a while.
    echo "PerSourcePenalties no" >>"$folder/sshd_$1"
    "$daemon" -t -f "$folder/sshd_$1" 2>/dev/null || sed -i '$d' "$folder/sshd_$1"
    ip netns exec "$prefix-$1" $first "$daemon" -f "$folder/sshd_$1" -E "$folder/sshd_$1.log"
}

up() {
    down
    taken=$(ip -brief address show to "$management.0/24" | cut -d ' ' -f 1)
    [ -z "$taken" ] || {
        echo "testbed-lab.sh: $management.0/24 is in use by $taken: give another PREFIX; if $taken is a lab that was" \
            "left behind, take it away: testbed-lab.sh down DIR ${taken%m}" >&2
        exit 1
    }
    rm -f "$folder"/host_* "$folder"/key "$folder"/key.pub "$folder"/known_hosts "$folder"/sshd_*
    mkdir -p /run/sshd
    ssh-keygen -q -t ed25519 -N '' -C lab -f "$folder/key"
    ip link add name "$bridge" type bridge
    ip address add "$management.254/24" dev "$bridge"
    ip link set "$bridge" up
    for lan in lan1 lan2; do
        ip netns add "$prefix-$lan"
        ip -n "$prefix-$lan" link add name bridge type bridge
        ip -n "$prefix-$lan" link set bridge up
    done
    for number in 1 2 3; do host "h$number" "$number" lan1 "10.1.1.1$number/24"; done
    for number in 4 5 6; do host "h$number" "$number" lan2 "10.1.2.1$number/24"; done
    host router 9 lan1 10.1.1.1/24 lan2 10.1.2.1/24
    wait_for_hosts
    testbed >"$folder/testbed.yaml"
    echo "$folder/testbed.yaml"
}

# An sshd goes into the background before it listens, and writes its number after that. The state of a device follows
# its link a little later.
wait_for_hosts() {
    looks=0
    for host in $hosts; do
        until [ -s "$folder/sshd_$host.pid" ] && are_up "$prefix-$host"; do
            looks=$((looks + 1))
            [ $looks -lt 9000 ] || { echo "testbed-lab.sh: $host does not start:" && cat "$folder/sshd_$host.log"; } >&2
            [ $looks -lt 9000 ] || exit 1
            sleep 0.1
        done
    done
}

are_up() { ! ip -n "$1" -brief link show type veth | grep -qv ' UP '; }

testbed() {
    cat <<END
title: six hosts and a router, namespaces of one machine
ssh: {user: root, key: $folder/key, known_hosts: $folder/known_hosts}
silence: 60s                                    # one machine is all of them, and may be busy
hosts:
END
    for number in 1 2 3; do echo "  h$number: {address: $management.$number, interfaces: {lan1: eth1}}"; done
    for number in 4 5 6; do echo "  h$number: {address: $management.$number, interfaces: {lan2: eth1}}"; done
    cat <<END
  router: {address: $management.9, interfaces: {lan1: eth1, lan2: eth2}}
  lan1: switch
  lan2: switch
END
}

case $what in
    up | down) "$what" ;;
    *) usage ;;
esac
