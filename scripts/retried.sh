#!/bin/sh
# retried.sh PART COMMAND...: runs the command, which downloads something, up to six times. A network that fails for a few
# minutes then does not fail the whole. Says each time what failed; the status is that of the last time.

part=$1
shift
for pause in 5 10 20 40 80 end; do
    "$@" && exit 0
    status=$?
    [ $pause = end ] && break
    echo "$part failed with status $status; again in $pause s" >&2
    sleep "$pause"
done
echo "$part failed six times" >&2
exit $status
