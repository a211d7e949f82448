"""What each warning means, and which kinds of traffic it is about."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from msgspec import Struct

Concerns = Literal["all", "bulk", "over tcp", "sending", "filling", "data", "echoes", "ending"]
"""The traffic that a warning is about."""

KINDS: Mapping[Concerns, tuple[str, ...]] = {
    "all": ("tcp", "udp", "ping", "call", "game", "request", "page", "video", "endpoint"),
    # Lasting TCP flows, whose window fills a queue or is in slow start.
    "bulk": ("tcp",),
    "over tcp": ("tcp", "request", "page", "video"),
    # Those that send as much as their socket accepts.
    "sending": ("tcp", "udp", "request", "page", "video", "endpoint"),
    # Those that may fill a path for long.
    "filling": ("tcp", "udp"),
    "data": ("tcp", "udp", "call", "game", "request", "page", "video", "endpoint"),
    "echoes": ("ping",),
    # Those of which it is a result how long they take.
    "ending": ("tcp", "page"),
}
"""The kinds of traffic, by their keys in the file."""


class Meaning(Struct, frozen=True):
    """A warning: what it means, for `tailback explain`, and the traffic that it is about."""

    text: str
    concerns: Concerns = "all"


MEANINGS: Mapping[str, Meaning] = {
    "bytes-per-second": Meaning(
        "A rate ends in `bps`, which tc reads as bytes per second: 100mbps is 800mbit. Most people mean megabits "
        "and write mbit.",
    ),
    "bare-number": Meaning(
        "A time or a rate of a discipline or a driver has no unit. tc reads a rate in bit/s, and a time in "
        "microseconds or, in netem, in nanoseconds: `codel target 5` is 5us. Write the unit.",
    ),
    "queue-below-bdp": Meaning(
        "A FIFO at the bottleneck is more than 5 % shorter than one bandwidth-delay product: rate times round-trip "
        "time. After each loss, a sender like Reno or CUBIC then leaves the link idle for a while. Give the queue "
        "more packets, unless you study short buffers.",
        "bulk",
    ),
    "nothing-passes": Meaning(
        "A link or `netem` loses every packet, the bucket or `mtu` of a policer is less than one, a FIFO has no room "
        "for one of full size, or a link is down during the whole measurement window, or so slow that fewer than ten "
        "full-sized frames pass in it: no data arrives, or hardly any. To study an outage, give the link a `schedule`.",
    ),
    "out-of-reach": Meaning(
        "A Wi-Fi station loses 80 % or more of its full-sized MPDUs, by its `loss`, or because its SNR is too low for "
        "the mode of its `mcs`, or with rate control for the slowest mode. It gets 0 Mbit/s or little more. Bring it "
        "nearer, or give it a lower `mcs` or rate control.",
    ),
    "no-marks": Meaning(
        "The congestion control answers ECN marks, and no queue discipline on the path of its data marks packets, "
        "so it behaves as after losses, like Reno. Let the bottleneck mark: `fq_codel`, `codel ecn`, `codel "
        "ce_threshold 1ms`, `red ... ecn`, `cake`.",
        "over tcp",
    ),
    "ecn-not-requested": Meaning(
        "A discipline has `ecn`, and no host requests ECN, so it drops packets and marks none. Linux accepts ECN by "
        "default but does not request it: give the hosts that connect `sysctl: {net.ipv4.tcp_ecn: 1}`. `dctcp` "
        "and `prague` request it by themselves.",
        "over tcp",
    ),
    "scalable-in-classic-queue": Meaning(
        "`prague` answers marks as an L4S queue makes them, early and often: it cuts by a small part. An AQM with one "
        "queue for all marks as rarely as it would drop, so `prague` keeps nearly all of the rate, and classic "
        "flows beside it starve. Use a dual queue (`tailback explain l4s`), or a discipline with a queue per flow, "
        "such as `fq_codel`.",
        "over tcp",
    ),
    "scalable-unpaced": Meaning(
        "`prague` needs pacing: bursts fill the short queue of an L4S bottleneck, which marks them. `fq nopacing` "
        "ignores the departure times that the socket sets. Remove `nopacing`.",
        "over tcp",
    ),
    "accecn-at-one-end": Meaning(
        "AccECN is used if both ends have it. A host that asks for it, `net.ipv4.tcp_ecn: 3`, gets classic ECN from "
        "one that has no more, and a host with 4 or 5 waits for one that asks. Give both ends `stack: linux-7.3` and "
        "`sysctl: {net.ipv4.tcp_ecn: 3}`.",
        "over tcp",
    ),
    "queue-bounded-by-tsq": Meaning(
        "The path has one link, so the only queue is that of the sender, and TCP Small Queues lets each flow keep "
        "no more than a few packets or milliseconds there. The queue stays short however large it is, as on Linux: "
        "no bufferbloat. Put the bottleneck behind another host to see a queue that fills, or set `tsq: off`.",
        "bulk",
    ),
    "burst-above-queue": Meaning(
        "A shaper's burst is larger than the queue below it. The queue never fills while the shaper has tokens, and "
        "one burst overruns it. Give a smaller burst.",
    ),
    "netem-at-sender": Meaning(
        "netem delays packets at the host that sends them. Linux takes such packets off the socket's account, so "
        "TCP Small Queues and the feedback of the qdisc stop working. Give the delay to the link instead.",
        "sending",
    ),
    "netem-limit": Meaning(
        "netem holds at most `limit` packets, and the delay needs more of them at this rate. The excess is dropped, "
        "which looks like congestion. Raise the limit.",
        "filling",
    ),
    "netem-reorders": Meaning(
        "netem gives each packet a random delay of its own, so that a jitter longer than the gap between packets "
        "reorders them, and TCP takes overtaken packets for lost ones. Real paths rarely do that. The `jitter` of a "
        "link keeps packets in order.",
        "filling",
    ),
    "bottleneck-elsewhere": Meaning(
        "The title says where the bottleneck is, and the slowest device on the path is another one. Correct either.",
        "data",
    ),
    "bbr-internal-pacing": Meaning(
        "BBR needs pacing. Without the discipline fq, TCP paces by its own timer since Linux 4.13. Nothing to do.",
        "over tcp",
    ),
    "skbs-lost-whole": Meaning(
        "With offloads on, a packet of the simulator and of Linux is an skb of up to 64 KB. A random loss drops the "
        "whole skb: many segments at once. Turn offloads off to lose single packets.",
        "over tcp",
    ),
    "jitter-above-delay": Meaning(
        "No packet can arrive before it was sent, so jitter is limited by the delay, and the distribution is cut off.",
    ),
    "trace-repeats": Meaning(
        "The trace of a link is shorter than the run and starts again from its beginning.",
    ),
    "change-unmeasured": Meaning(
        "A link or a Wi-Fi cell changes after the end of the measurement window, so no metric sees the change.",
    ),
    "completion-unmeasured": Meaning(
        "A flow with `bytes`, or a page that is loaded once, begins outside of the measurement window. Completion and "
        "load times are those of what begins in it, so there is none. Begin the window with the flow: a `warmup` is "
        "for flows that last.",
        "ending",
    ),
    "without-effect": Meaning(
        "A variable of `let` is used nowhere, or `cc` or `tsq` stands in a file without a flow over TCP: whatever "
        "value it has, the runs are the same. Often it is a name that was written in another way elsewhere.",
    ),
    "no-shell": Meaning(
        "The `run` of a program is split into words as a shell does, but no shell reads them: `>`, `|`, `;`, `&&`, "
        "`$VAR` and `*` reach the program as words. Name a shell: `run: \"sh -c 'iperf3 -c {server} > out.txt'\"`.",
    ),
    "few-pings": Meaning(
        "With fewer than 100 pings in the measurement window, a 99th percentile is only the largest value. Ping "
        "more often or measure for longer.",
        "echoes",
    ),
    "slow-start-measured": Meaning(
        "The measurement window begins when slow start may not be over. Means then include both the start of the "
        "flows and their steady state. Set `measure.warmup`, unless you study the start.",
        "bulk",
    ),
    "silence-measured": Meaning(
        "A flow that lasts stops well before the end of the measurement window, which other traffic without a `stop` "
        "puts at the end of the run. Its goodput counts the time in which it is silent. Stop all traffic at one time, "
        "or give `measure.window`.",
        "filling",
    ),
    "repetitions-alike": Meaning(
        "All flows start at the same times in every repetition, so repetitions hardly differ, and intervals "
        "computed from them are too narrow. Spread the starts with `jitter`.",
    ),
    "large-skbs": Meaning(
        "At a low rate, an skb of 64 KB occupies the link for many milliseconds, and every other packet waits for "
        "it. Testbeds turn offloads off at such rates.",
        "over tcp",
    ),
    "adaptive-without-effect": Meaning(
        "Since Linux 5.7 `red adaptive` does not adapt: `tc` passes the flags in a new attribute, and the kernel "
        "looks for this one where flags were before. The probability stays as given, on kernels and in the "
        "simulator. Give the host of the queue an older stack to simulate adaptive RED.",
    ),
    "htb-unshaped": Meaning(
        "Packets that no filter of an `htb` matches go to its class `default`; without one, or without any class, "
        "they take the direct queue, which is not shaped: all such flows pass at the rate of the link. Name the "
        "class: `htb default 10`, or add `filter all flowid 10`.",
    ),
    "unclassified": Meaning(
        "`drr` drops packets that no filter matches, so the flow does not get through. End the filters with one for "
        "the rest: `filter all flowid 1`.",
    ),
    "htb-quantum": Meaning(
        "Classes of an `htb` borrow in proportion to their quantum, the rate in bytes divided by `r2q`, which is "
        "clamped to 1000 … 200,000 bytes; the kernel logs `quantum of class … is big` (or `small`). Classes that "
        "are clamped do not borrow in proportion to their rates. Give an `r2q` that leaves all of them in the "
        "range, or a `quantum` to each.",
    ),
}
