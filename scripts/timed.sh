#!/usr/bin/env bash
# timed.sh PART COMMAND...: runs the command; then says how long that part took by the clock, and on processors.
part=$1
shift
# A make gives its jobserver to other makes only; cargo would look for it and warn.
case $1 in
    make | */make) ;;
    *) unset MAKEFLAGS MFLAGS ;;
esac
TIMEFORMAT="$part: %0R s, of processors %0U s and %0S s in the kernel"
time "$@"
